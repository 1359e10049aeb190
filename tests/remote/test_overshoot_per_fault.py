"""A paid server with one fault in every answer: what is spent beyond the budget is at most what was in flight."""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.progress import Progress
from tests.remote.knowing_server import knolling, order
from tests.support.loopback.hostile import Answer, HostileServer, redirect, whole
from tests.support.models import Speckles
from tests.support.remote_models import stand_alone
from tests.support.sizes import only_in_full

AT_ONCE = 4
TIMEOUT = 0.25
IMAGE_PRICE = 0.25
CHAT_PRICE = 0.012
"""Of an answer with 100 tokens sent and 20 received, as the server bills it."""

PRICES = """
[prices]
"openai/painter" = { image = 0.25 }
"openai/looker" = { input = 100, output = 100 }
"""
ITEMS = knolling(24, levels=[1])

_PNG = io.BytesIO()
Image.new("RGB", (8, 8), "red").save(_PNG, "PNG")
_ENCODED = base64.b64encode(_PNG.getvalue()).decode()


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    (tmp_path / "list.toml").write_text(PRICES)
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "list.toml"))


def _send(body: object) -> Answer:
    return whole(body if isinstance(body, bytes) else json.dumps(body).encode())


def _late(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(4 * TIMEOUT)
    handler.close_connection = True


def _cut_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.wfile.flush()
    handler.close_connection = True


def _stalled(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    handler.wfile.write(b"{")
    handler.wfile.flush()
    _late(handler)


def _slow_download(handler: BaseHTTPRequestHandler) -> None:
    if handler.command == "GET":
        _late(handler)
    else:
        _send({"data": [{"url": f"http://{handler.headers['host']}/image.png"}]})(handler)


def _status(status: int, **fields: object) -> Answer:
    return whole(json.dumps({"error": {"message": "it went wrong", **fields}}).encode(), status)


HUGE = int("1" + "0" * 400)
FAULTS: Mapping[str, tuple[Answer, bool]] = {
    "timeout before the answer": (_late, True),
    "timeout within the answer": (_stalled, True),
    "truncated body": (_cut_off, True),
    "invalid JSON": (_send(b'{"data": [}'), True),
    "empty body": (_send(b""), True),
    "no such field": (_send({"object": "nothing"}), True),
    "500": (_status(500), False),
    "503 and busy": (_status(503), False),
    "refusal": (_status(400, code="content_policy_violation"), False),
    "redirect to itself": (redirect(307, "/v1/loop"), False),
}
"""What the server answers, and whether it bills that."""

USAGES: Mapping[str, object] = {
    "missing": None,
    "absurd": {"sent": HUGE, "received": HUGE},
    "absurd answer": {"sent": 100, "received": HUGE},
    "negative": {"sent": 100, "received": -(10**9)},
    "as text": {"sent": "100", "received": "20"},
    "a list": [100, 20],
}


def _image_answer(usage: object) -> Answer:
    if isinstance(usage, Mapping):
        usage = {"input_tokens": usage["sent"], "output_tokens": usage["received"]}
    return _send({"data": [{"b64_json": "no base64!"}], "usage": usage})


def _chat_answer(usage: object) -> Answer:
    if isinstance(usage, Mapping):
        usage = {"prompt_tokens": usage["sent"], "completion_tokens": usage["received"]}
    return _send({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}], "usage": usage})


IMAGE_FAULTS = {
    **FAULTS,
    "timeout of the download": (_slow_download, True),
    **{f"usage {name}": (_image_answer(usage), True) for name, usage in USAGES.items()},
}
CHAT_FAULTS = {
    **{name: fault for name, fault in FAULTS.items() if "timeout" not in name},
    "timeout before the answer": FAULTS["timeout before the answer"],
    **{f"usage {name}": (_chat_answer(usage), True) for name, usage in USAGES.items()},
}


def _options(server: HostileServer, **more: str) -> dict[str, str]:
    usual = {"concurrency": str(AT_ONCE), "initial_backoff": "0.001", "timeout": str(TIMEOUT)}
    return {"base_url": f"{server.url}/v1", **usual, **more}


def _retries(billed: bool) -> dict[str, str]:
    return {} if billed else {"max_attempts": "2", "timeout": "10"}  # or a slow machine would make it a timeout


def _spent(run: Callable[[], Progress]) -> Progress | None:
    try:
        return run()
    except FormalimgError:
        return None


def _check(server: HostileServer, done: Progress | None, budget: float, price: float, billed: bool, note: Any) -> None:
    calls = sum(method == "POST" for method, _, _ in server.came) if billed else 0
    note("overshoot in calls", round(calls - budget / price, 1))
    assert calls * price <= budget + AT_ONCE * price + 1e-9
    assert done is not None
    if billed:
        assert done.over_budget
        assert done.cost >= calls * price - 1e-9, "no paid call is forgotten"
    else:
        assert done.cost == 0


@pytest.mark.parametrize("name", IMAGE_FAULTS)
def test_images_of_a_faulty_server(name: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    answer, billed = IMAGE_FAULTS[name]
    budget = 1.0
    with HostileServer(answer) as server:
        model = open_image_model("openai/painter", _options(server, **_retries(billed)))
        done = _spent(lambda: execute(order(ITEMS, model, budget=budget), tmp_path / "run"))
        _check(server, done, budget, IMAGE_PRICE, billed, record_property)


@only_in_full
@pytest.mark.parametrize("name", CHAT_FAULTS)
def test_verdicts_of_a_faulty_server(name: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    answer, billed = CHAT_FAULTS[name]
    execute(order(ITEMS, Speckles()), tmp_path / "run")
    budget = 5.0
    with HostileServer(answer) as server:
        given = _options(server, max_tokens="16384", cache="off", **_retries(billed))
        judge = open_judge("knolling", "openai/looker", given)
        done = _spent(lambda: judge_run(tmp_path / "run", judge, budget=budget))
        _check(server, done, budget, CHAT_PRICE, billed, record_property)
        if done is not None and billed:
            calls = len(server.came)
            assert done.cost <= calls * 100 * CHAT_PRICE, "an estimate, not the longest answer that the model can give"
