"""`formalimg view`: where it listens, and what it says when it cannot."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from formalimg.web.security import is_loopback
from formalimg.web.server import ServerLocation
from tests.support.command import formalimg


def _started(*words: str, cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "formalimg", "view", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "FORMALIMG_CACHE": str(cache)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_the_site_is_served_on_this_machine_until_it_is_interrupted(runs: Path, tmp_path: Path) -> None:
    with _started(str(runs), "--no-browser", "--port", "0", cache=tmp_path) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert b"test/painter" in urllib.request.urlopen(address).read()
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0


def test_other_hosts_get_a_token_that_is_needed(runs: Path, tmp_path: Path) -> None:
    with _started(str(runs), "--no-browser", "--port", "0", "--host", "0.0.0.0", cache=tmp_path) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            found = re.fullmatch(r"http://[^/]+:(\d+)/\?token=([\w-]{32})", address)
            assert found
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/")
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert b"test/painter" in opener.open(f"http://127.0.0.1:{found[1]}/?token={found[2]}").read()
        finally:
            server.terminate()


def test_mistakes_are_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        cases = [
            ([str(tmp_path / "nowhere")], "there is no folder"),
            ([str(tmp_path), "--port", port], "choose another --port"),
            ([str(tmp_path), "--human", str(tmp_path)], "is not a study: name the folder of a study"),
            ([str(tmp_path), "--host", "no such host"], "is not an address of this machine: choose another --host"),
        ]
        for words, expected in cases:
            done = formalimg("view", *words, "--no-browser")
            assert done.code == 2
            assert done.err.startswith("error: ")
            assert expected in done.err
            assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.4", False),
        ("evil.localhost.example", False),
    ],
)
def test_only_addresses_of_this_machine_need_no_token(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_addresses_with_colons_can_be_opened() -> None:
    assert ServerLocation("::1", 80, None).url() == "http://[::1]:80/"
