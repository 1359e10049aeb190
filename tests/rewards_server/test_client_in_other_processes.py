"""A client goes along to other processes, forked or sent; each has connections of its own."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from formalimg.rewards.reward_functions import reward_function
from formalimg.rewards.server.client import RewardClient
from tests.rewards_server.servers import CUP, RED_CUP, on_a_port

_FORKS = """
import os, sys
from formalimg.rewards.server import RewardClient

client = RewardClient(sys.argv[1])
seen = [client.about()["port"]]
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, str(client.about()["port"]).encode())
    os._exit(0)
os.wait()
print(*seen, os.read(read, 9).decode(), client.about()["port"])
"""


@contextmanager
def telling_ports() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps({"port": self.client_address[1]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_never_uses_the_connections_of_the_one_it_came_from() -> None:
    with telling_ports() as url:
        found = subprocess.run([sys.executable, "-c", _FORKS, url], capture_output=True, text=True, timeout=60)
    before, child, after = found.stdout.split()
    assert before == after, "a connection is kept"
    assert child != before


def test_a_client_and_a_reward_function_with_one_can_be_sent() -> None:
    with on_a_port() as port, RewardClient(f"http://127.0.0.1:{port}/", token="a-token-that-goes-along") as client:
        [found] = client.score([CUP], [RED_CUP])
        other = pickle.loads(pickle.dumps(client))
        assert other.score([CUP], [RED_CUP]) == [found]
        rewards = pickle.loads(pickle.dumps(reward_function(other, missing="nan")))
        assert rewards([CUP, None], ["", ""], [RED_CUP] * 2).scores.tolist()[0] == found.score == 0.5
        other.close()
