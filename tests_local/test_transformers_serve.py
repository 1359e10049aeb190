"""A real server with a tiny LLaVA: `transformers serve` as a judge, through the openai library."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.models import small_items
from tests.support.run_contents import judged, order

from formalimg.judges.grounders.vlm import VlmGrounder
from formalimg.judges.scene_judge import SceneJudge
from formalimg.models.builtin.baselines import open_baseline
from formalimg.models.providers.openai import open_openai_chat
from formalimg.runs.execution import execute
from formalimg.types import Unscored
from tests_local.tiny.chats import save_tiny_llava

for library in ("transformers", "fastapi", "uvicorn", "openai"):
    pytest.importorskip(library, reason="needs pip install 'formalimg[local,openai]' 'transformers[serving]'")


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def server(llava: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cache = tmp_path_factory.mktemp("hub")
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(llava), "--device", "cpu"]
    log = tmp_path_factory.mktemp("log") / "serve.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=out,
            stderr=out,
            env={**os.environ, "HF_HUB_CACHE": str(cache)},
            start_new_session=True,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_noise_from_a_real_server_is_never_a_verdict(
    server: str, llava: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options = {"base_url": server, "cache": "off", "max_tokens": "8", "concurrency": "2", "reads": "1", "tries": "2"}
    judge = SceneJudge(VlmGrounder(open_openai_chat(str(llava), options)))
    progress = execute(order(open_baseline("oracle", {}), small_items(4), size=128), tmp_path, judge)
    assert (progress.made, progress.unscored, progress.passed, progress.not_passed) == (4, 4, 0, 0)
    for entry in judged(tmp_path):
        assert isinstance(entry.verdict, Unscored)
        assert entry.verdict.reason == "not understood", entry.verdict.detail
        assert "cannot be read" in entry.verdict.detail


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(log.read_text(errors="replace")[-2000:])
