"""What is available here: servers of this machine, by real ones; keys by their names; libraries."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from formalimg.runs.defaults import available_judges
from formalimg.runs.defaults.available_judges import AvailableJudge, find_available_judges, find_local_servers

HOSTILE = {"data": [{"id": "\x1b[2Jfake"}, {"id": "x" * 10_000}, {"id": 3}, "text", {"id": "tiny"}, {"id": "Qwen2-VL"}]}


INSTALLED = available_judges._list_installed


@contextlib.contextmanager
def serving(body: bytes, status: int = 200) -> Iterator[int]:
    """A server that answers every request so; yields its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(available_judges, "PORTS", {})
    monkeypatch.setattr(available_judges, "_list_installed", lambda *_, **__: ())  # whatever is installed here
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)


def test_servers_that_list_models_and_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = json.dumps({"data": [{"id": "Qwen/Qwen3-VL-8B-Instruct"}]}).encode()
    with (
        serving(listing) as good,
        serving(json.dumps(HOSTILE).encode()) as odd,
        serving(b"<html>") as page,
        serving(b"[" * 100_000) as deep,
        serving(listing, 401) as closed,
        silent() as quiet,
    ):
        ports = {port: f"port {port}" for port in (closed, quiet, page, deep, odd, good, 1)}
        monkeypatch.setattr(available_judges, "PORTS", ports)
        began = time.monotonic()
        found = find_local_servers()
        assert time.monotonic() - began < 5, "each of them is asked at the same time as the others"
    assert found == [
        (f"http://127.0.0.1:{closed}/v1", f"port {closed}", ("MODEL",)),
        (f"http://127.0.0.1:{odd}/v1", f"port {odd}", ("Qwen2-VL", "tiny")),
        (f"http://127.0.0.1:{good}/v1", f"port {good}", ("Qwen/Qwen3-VL-8B-Instruct",)),
    ]


def test_a_server_is_named_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(b'{"data": [{"id": "my model"}]}') as port:
        monkeypatch.setattr(available_judges, "PORTS", {port: "vLLM"})
        (found,) = find_available_judges(boxes=False)
    assert found.line("command") == f"--judge 'openai/my model' -J base_url=http://127.0.0.1:{port}/v1"
    url = f"http://127.0.0.1:{port}/v1"
    assert found.line("python") == f"judge='openai/my model', judge_options={{'base_url': '{url}'}}"


def test_a_detector_for_photographs_is_named_where_opencv_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available_judges, "_list_installed", INSTALLED)
    monkeypatch.setattr(available_judges, "chat_requirements", dict)
    monkeypatch.setattr(available_judges, "find_spec", lambda name: object() if name == "cv2" else None)
    assert [judge.name for judge in find_available_judges(boxes=True)] == ["detector/coco"]
    assert find_available_judges(boxes=False) == []


def test_keys_are_named_and_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh12345678")
    (tmp_path / ".env").write_text("GOOGLE_API_KEY=AIzaabcdefgh12345678\n")
    found = find_available_judges(boxes=True)
    assert found == [
        AvailableJudge("gemini/gemini-3-pro-preview", "GOOGLE_API_KEY is set"),
        AvailableJudge("openai/gpt-5", "OPENAI_API_KEY is set"),
    ]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:password@somewhere/v1")
    names = {judge.name: judge.reason for judge in find_available_judges(boxes=True)}
    assert names["openai/MODEL"] == "OPENAI_BASE_URL is set: name a model of that server"
    assert "openai/gpt-5" not in names


def test_installed_libraries_are_found_and_detectors_only_where_boxes_help(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(available_judges, "_list_installed", INSTALLED)
    monkeypatch.setattr(available_judges, "find_spec", lambda name: None)
    for name in ("torch", "transformers"):
        (tmp_path / f"{name}.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [judge.name.partition("/")[0] for judge in find_available_judges(boxes=True)] == ["transformers", "detector"]
    assert [judge.name.partition("/")[0] for judge in find_available_judges(boxes=False)] == ["transformers"]
