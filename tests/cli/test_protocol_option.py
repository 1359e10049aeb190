"""`--protocol` of `run --no-judge` and `judge`, as a user types it, against a server on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg.runs.reader import open_run
from tests.support.command import formalimg
from tests.support.loopback import Asked, Loopback

pytestmark = pytest.mark.usefixtures("stand_alone", "no_preflight")

LAYOUT = ("knolling", "--task", "layout", "--levels", "1", "--per-level", "4", "--model", "openai/planner")


@pytest.fixture
def server() -> Loopback:
    """Every second plan cannot be read."""
    replies: list[str] = []

    def reply(question: Asked) -> str:
        replies.append(question.model)
        return "Let me think." if len(replies) % 2 else '[{"label": "cup", "color": "red", "box_2d": [0, 0, 2000, 9]}]'

    return Loopback(reply=reply)


def test_layouts_are_planned_and_judged_as_published(server: Loopback, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with server:
        options = ("-M", f"base_url={server.url}/v1", "-M", "concurrency=1", "--protocol", "published")
        code, _, err = formalimg("run", "--no-judge", *LAYOUT, *options, "--out", str(folder))
        assert code == 0, err
        bodies = [request.json for request in server.requests]
    assert [(body["temperature"], "max_tokens" in body, "response_format" in body) for body in bodies] == [
        (1.0, False, False)
    ] * 4
    code, _, err = formalimg("judge", str(folder), "--protocol", "published")
    assert code == 0, err
    outcomes = open_run(folder).outcomes()
    assert {outcome.passed for outcome in outcomes} == {False}, "what cannot be read fails, and is not missing"
    run = open_run(folder)
    assert run.manifest.model.settings["protocol"] == "published"
    assert run.manifest.judge is not None
    assert run.manifest.judge.settings["protocol"] == "published"
    said = {json.dumps(judged.verdict.evidence.get("objects")) for judged in run.judged()}
    assert said == {"null", '[{"label": "cup", "color": "red", "box_2d": [0, 0, 2000, 9]}]'}


def test_unknown_protocols_are_refused() -> None:
    code, _, err = formalimg("run", "natural", "--model", "builtin/reader", "--protocol", "official")
    assert code == 2
    assert "official-code" in err
