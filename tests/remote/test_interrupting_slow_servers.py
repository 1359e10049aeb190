"""The real command at a server that answers a byte at a time: Ctrl-C and SIGTERM end it, and the run can be resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from formalimg.benchmarks.items_file import write_items
from tests.remote.knowing_server import knolling
from tests.support.command import formalimg
from tests.support.loopback.hostile import HostileServer, drip, whole
from tests.support.remote_calls import plant_keys
from tests.support.remote_models import IMAGE, stand_alone
from tests.support.run_contents import outcomes, rows, until
from tests.support.sizes import only_in_full


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)


class _Painter(HostileServer):
    """Gives addresses of images as OpenAI does, or images themselves as endpoints of Hugging Face do."""

    def __init__(self) -> None:
        self.is_slow = True
        super().__init__(self._answer)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        if handler.path.startswith("/v1/"):
            whole(json.dumps({"data": [{"url": f"{self.url}/image.png"}]}).encode())(handler)
        elif self.is_slow:
            drip(head=IMAGE[:8])(handler)
        else:
            whole(IMAGE, content_type="image/png")(handler)

    def __enter__(self) -> _Painter:
        super().__enter__()
        return self

    def begun(self) -> int:
        return sum(not path.startswith("/v1/") for _, path, _ in self.came)


_SHORT_GRACE = """
import sys
from formalimg.runs import execution
execution._GRACE_SECONDS = 1.0
from formalimg.cli import main
main()
"""


def _start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def _arguments(server: HostileServer, model: str, timeout: str, items: Path) -> list[str]:
    path, extra = ("/v1", ["-M", "response_format=url"]) if model.startswith("openai") else ("", [])
    options = [f"base_url={server.url}{path}", f"timeout={timeout}", "max_attempts=1", "concurrency=2"]
    words = ["run", "--no-judge", "knolling", "-m", model, "--items", str(items), "--size", "64", "--out", "run"]
    return [*words, *(word for option in options for word in ("-M", option)), *extra]


@only_in_full
@pytest.mark.parametrize(
    ("model", "timeout", "presses"),
    [("openai/painter", "3", 1), ("hf/painter", "600", 2), ("openai/painter", "600", 2)],
)
def test_ctrl_c_ends_a_run_at_a_dripping_server(model: str, timeout: str, presses: int, tmp_path: Path) -> None:
    items = write_items(knolling(4, levels=[1]), tmp_path / "items")  # a whole suite takes long to read
    with _Painter() as server:
        process = _start("-m", "formalimg", *_arguments(server, model, timeout, items))
        until(lambda: server.begun() >= 2, seconds=60)
        process.send_signal(signal.SIGINT)
        if presses == 2:  # the first one waits for what is under way, which takes its ten minutes here
            assert process.stdout is not None
            until(lambda: "Ctrl-C" in process.stdout.readline())  # type: ignore[union-attr]
            process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
        assert "Traceback" not in said
        assert server.hung_up.wait(10), "the connections are still open"
        assert server.begun() == 2, "nothing new was begun"
        made = dict(rows(tmp_path / "run", "SELECT status, count(*) FROM pictures GROUP BY status"))
        assert made == ({"failed": 2, "planned": 2} if presses == 1 else {"planned": 4})
        server.is_slow = False
        again = formalimg(*_arguments(server, model, "30", items))
    assert again.code == 0, again.err
    assert len(outcomes(tmp_path / "run")) == 4
    assert rows(tmp_path / "run", "SELECT DISTINCT status FROM pictures") == [("made",)]


def _start_with_short_grace(server: HostileServer, folder: Path) -> subprocess.Popen[str]:
    """Start a run that waits for a second when it is ended, and return it with two calls under way."""
    items = write_items(knolling(4, levels=[1]), folder / "items")
    arguments = _arguments(server, "openai/painter", "600", items)
    process = _start("-c", _SHORT_GRACE, *arguments, "--no-preflight")
    until(lambda: len(server.came) >= 2, seconds=60)
    return process


def test_the_first_ctrl_c_says_for_how_many_calls_it_waits(tmp_path: Path) -> None:
    with HostileServer(drip(0.2)) as server:
        process = _start_with_short_grace(server, tmp_path)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        line = next(line for line in lines if "stopping" in line)
        assert line.endswith("stopping: waiting for 2 calls under way; Ctrl-C again ends now and loses them\n")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in said) == (130, False)


def test_sigterm_waits_for_calls_under_way_for_a_while_only(tmp_path: Path) -> None:
    with HostileServer(drip(0.2)) as server:
        process = _start_with_short_grace(server, tmp_path)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert 1 <= time.monotonic() - began < 15
    assert process.returncode == 128 + signal.SIGTERM
    assert dict(rows(tmp_path / "run", "SELECT status, count(*) FROM pictures GROUP BY status")) == {"planned": 4}
