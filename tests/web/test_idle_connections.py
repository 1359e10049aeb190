"""Very many clients that say nothing: `view`, `annotate`, `review` and `serve` go on answering, and log little."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.sizes import tries
from tests.web.rated_studies import studied
from tests.web.review_queues import OURS, queue_of
from tests.web.sites import concept_run

resource = pytest.importorskip("resource", reason="there is no limit of open files to be reached")

IDLE = 1500

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
from formalimg.cli import main
sys.argv[:2] = ["formalimg"]
main()
"""
"""The command line in a process that may not open more files than this."""


def run_folder(home: Path) -> list[str]:
    concept_run(home / "run", 2)
    return ["view", str(home)]


def study_folder(home: Path) -> list[str]:
    return ["annotate", str(studied(home, "likert").folder)]


def queue_file(home: Path) -> list[str]:
    return ["items", "review", "open", str(queue_of(OURS[:1], home))]


def rewards(_home: Path) -> list[str]:
    return ["serve", "--processes", "0"]


@contextmanager
def served(words: list[str], files: int, home: Path) -> Iterator[tuple[str, Path]]:
    """A command as a process with a limit of open files; gives its address with the token, and its log."""
    browser = [] if words[0] == "serve" else ["--no-browser"]
    command = [sys.executable, "-c", LIMITED, str(files), *words, *browser, "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "FORMALIMG_CACHE": str(home / "cache")}
    log = home / "log"
    with log.open("wb") as file:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True, env=environment)
    with server:
        try:
            assert server.stdout is not None
            found = (word for line in server.stdout for word in line.split() if word.startswith("http://"))
            yield next(found), log
        finally:
            server.kill()


@contextmanager
def idle_connections(port: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = IDLE + 200
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            pytest.skip(f"this process may open no more than {hard} files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    try:
        with ExitStack() as held:
            for _ in range(IDLE):
                held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def status(address: str) -> int:
    """The status of a page over a new connection; a server that says nothing fails the test."""
    place = urlsplit(address)
    target = f"{place.path or '/'}?{place.query}"
    with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\n\r\n".encode())
        return int(connection.recv(12).split()[1])


@pytest.mark.parametrize("words", [run_folder, study_folder, queue_file, rewards][:: tries(3, 1)])
def test_clients_that_say_nothing_keep_nobody_out(words: Callable[[Path], list[str]], tmp_path: Path) -> None:
    with served(words(tmp_path), 1024, tmp_path) as (address, log):
        expected = {run_folder: 200, study_folder: 303, queue_file: 200, rewards: 404}[words]
        with idle_connections(urlsplit(address).port or 0):
            began = time.monotonic()
            assert [status(address) for _ in range(20)] == [expected] * 20
            assert time.monotonic() - began < 20
        assert log.stat().st_size < 10_000
