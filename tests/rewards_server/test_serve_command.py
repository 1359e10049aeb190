"""`formalimg serve` as a process: its start, its images, and its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from formalimg import FormalimgError
from formalimg.cli.serve import serve_command
from formalimg.drawing.icon_scene import draw
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.client import RewardClient
from tests.rewards_server.servers import knolling, until_closed

START = "import typer; from formalimg.cli.serve import serve_command; typer.run(serve_command)"
TOKEN = "a-token-that-is-long-enough"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to end it with")
def test_it_finishes_what_has_begun_and_ends(tmp_path: Path) -> None:
    item = knolling()[500]
    drawing = draw(item.spec.witness, 256)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    command = [sys.executable, "-c", START, "--port", "0", "--processes", "1", "--token-file", str(tmp_path / "token")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            url = server.stdout.readline().split()[0]
            client = RewardClient(url, token=TOKEN, retries=0)
            # By a process of its own that looks, and with the same numbers.
            assert client.score([drawing], [item]) == Scorer().score_all([(drawing, item)])
            place = urlsplit(url)
            with socket.create_connection((place.hostname, place.port), timeout=10) as begun:
                body = (
                    b'{"items": [{"formula": "(exists ?x (Is ?x \'cup\'))"}], "images": [{"scene": {"objects": []}}]}'
                )
                head = f"Host: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
                begun.sendall(f"POST /v1/score HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode())
                begun.sendall(body[:10])
                client.about()  # so that the beginning has arrived
                server.send_signal(signal.SIGTERM)
                for _ in range(100):
                    try:
                        socket.create_connection((place.hostname, place.port), timeout=10).close()
                    except ConnectionRefusedError:
                        break
                    time.sleep(0.05)
                else:
                    pytest.fail("it still takes new connections")
                begun.sendall(body[10:])
                answer = until_closed(begun)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b'"score":0.0' in answer
            assert server.wait(10) == 0
            assert server.stderr.read() == ""
        finally:
            server.kill()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "FORMALIMG_TOKEN"),
        ({"host": "127.0.0.1", "root": Path("/nowhere/at/all")}, "--root"),
        ({"grounder": "builtin/none"}, "no grounder"),
        ({"grounder": "openai/gpt-4o", "processes": 2}, "--processes"),
        ({"judge": "openai/gpt-4o", "processes": 2}, "--processes"),  # which finds objects too
        ({"judge": "detector/coco", "grounder": "builtin/icons"}, "name it as the grounder"),
        ({"judge_option": ["base_url=http://127.0.0.1:9"]}, "judge options need a judge"),
        ({"weight": ["relation=much"]}, "a weight is a number"),
        ({"surplus": 2.0}, "surplus must be a number from 0"),
        ({"suite": ["kitchen"]}, "unknown suite 'kitchen'"),
        ({"suite": ["knolling=/nowhere/at/all"]}, "there is nothing at /nowhere"),
        ({"token_file": Path("/nowhere/at/all")}, "cannot read the token"),
    ],
)
def test_what_cannot_be_served_is_told_at_once(
    options: dict[str, object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORMALIMG_TOKEN", raising=False)
    plain = {"host": "0.0.0.0", "port": 0, "processes": 0, **options}
    with pytest.raises(FormalimgError, match=words):
        serve_command(**plain)  # type: ignore[arg-type]
