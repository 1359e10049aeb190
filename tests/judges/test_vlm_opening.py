"""From a name to a judge: each suite uses a chat model in its own way, and takes its own options."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.clause_judge import ClauseJudge
from formalimg.judges.factory import open_grounder, open_judge
from formalimg.judges.grounders.vlm import VlmGrounder
from formalimg.judges.scene_judge import SceneJudge


@pytest.fixture(autouse=True)
def _provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider of chat models, installed as anybody would install one."""
    facts = tmp_path / "site" / "scripted-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[formalimg.chat_models]\nscripted = tests.support.scripted_chat:open_scripted_chat\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(facts.parent)])


def test_knolling_asks_a_chat_model_for_boxes() -> None:
    judge = open_judge("knolling", "scripted/qwen2.5-vl", {"requests": "all-at-once", "temperature": "0"})
    assert isinstance(judge, SceneJudge)
    assert isinstance(judge.grounder, VlmGrounder)
    assert judge.name == "scripted/qwen2.5-vl"
    assert judge.settings["requests"] == "all at once"
    assert judge.settings["boxes"] == "pixels"
    assert judge.settings["temperature"] == "0"
    assert open_judge("knolling", "scripted/qwen2.5-vl", {"boxes": "unit"}).settings["boxes"] == "unit"


def test_natural_asks_a_chat_model_for_clauses(tmp_path: Path) -> None:
    (tmp_path / "clause-judge-published.txt").write_text("{words} {formula}")
    options = {"decide": "clauses", "answers": "published", "prompts": str(tmp_path), "temperature": "0"}
    judge = open_judge("natural", "scripted/any", options)
    assert isinstance(judge, ClauseJudge)
    assert judge.settings["decide"] == "clauses"
    assert judge.settings["answers"] == "published"
    assert judge.settings["temperature"] == "0"
    assert "the user's own" in str(judge.settings["prompt"])
    assert str(tmp_path) not in str(judge.settings)
    assert open_judge("natural", "scripted/any", {"answers": "each-clause"}).settings["answers"] == "each clause"


def test_without_a_name_knolling_is_judged_offline_and_natural_not_at_all() -> None:
    assert open_judge("knolling").name == "builtin/icons"
    with pytest.raises(FormalimgError, match="no judge for natural that works offline: name a chat model"):
        open_judge("natural")


@pytest.mark.parametrize(
    ("suite", "name", "options", "message"),
    [
        ("knolling", "scripted/any", {"decide": "clauses"}, "no option 'decide': it knows requests, boxes, prompts"),
        ("natural", "scripted/any", {"boxes": "unit"}, "no option 'boxes': it knows decide, answers, prompts"),
        ("knolling", "scripted/any", {"boxes": "round"}, "unknown boxes 'round': known are auto, xyxy-1000"),
        ("knolling", "scripted/any", {"requests": "never"}, "unknown requests 'never': known are per-class"),
        ("natural", "scripted/any", {"prompts": "nowhere"}, "there is no folder nowhere"),
        ("natural", "builtin/icons", {}, "name a chat model"),
        ("natural", "detector/any", {}, "name a chat model"),
        ("knolling", "builtin/icon", {}, "there is no grounder builtin/icon"),
        ("knolling", "builtin/icons", {"boxes": "unit"}, "has no options"),
        ("knolling", "script/any", {}, "scripted"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(suite: str, name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message) as raised:
        open_judge(suite, name, options)
    assert "\n" not in str(raised.value)


def test_a_grounder_opens_by_name_too() -> None:
    assert isinstance(open_grounder("scripted/any"), VlmGrounder)
