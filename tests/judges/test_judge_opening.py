"""From a name to a judge: each suite uses a chat model in its own way, and takes its own options alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.benchmarks.cfworld.judge import ScoreJudge
from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.judges.clause_judge import ClauseJudge
from formalimg.judges.factory import open_grounder, open_judge
from formalimg.judges.grounders.vlm import VlmGrounder
from formalimg.judges.scene_judge import SceneJudge
from formalimg.types import Judge

pytestmark = pytest.mark.usefixtures("stand_alone")

CHAT = "openai/gpt-4o"
QWEN = "openai/Qwen/Qwen3-VL-8B-Instruct"
SCORED = [name for name in suite_names() if suite(name).has_scores]


def settings(judge: Judge, *names: str) -> list[object]:
    return [judge.settings[name] for name in names]


def test_knolling_asks_a_chat_model_for_boxes() -> None:
    name = "openai/qwen2.5-vl"
    judge = open_judge("knolling", name, {"requests": "all-at-once", "temperature": "0"})
    assert isinstance(judge, SceneJudge)
    assert isinstance(judge.grounder, VlmGrounder)
    assert judge.name == name
    assert settings(judge, "requests", "boxes", "temperature") == ["all at once", "pixels", 0]
    assert settings(open_judge("knolling", name, {"boxes": "unit"}), "boxes") == ["unit"]
    assert isinstance(open_grounder(CHAT), VlmGrounder)
    assert open_judge("knolling").name == "builtin/icons"


def test_natural_asks_a_chat_model_for_clauses(tmp_path: Path) -> None:
    (tmp_path / "clause-judge-published.txt").write_text("{words} {formula}")
    options = {"decide": "clauses", "answers": "published", "prompts": str(tmp_path), "temperature": "0"}
    judge = open_judge("natural", CHAT, options)
    assert isinstance(judge, ClauseJudge)
    assert settings(judge, "decide", "answers", "temperature") == ["clauses", "published", 0]
    assert "the user's own" in str(judge.settings["prompt"])
    assert str(tmp_path) not in str(judge.settings)
    assert settings(open_judge("natural", CHAT, {"answers": "each-clause"}), "answers") == ["each clause"]


def test_conceptmix_asks_a_chat_model_questions(tmp_path: Path) -> None:
    judge = open_judge("conceptmix", CHAT)
    assert isinstance(judge, QuestionJudge)
    assert (judge.name, judge.settings["requests"]) == (CHAT, "each question")
    assert open_judge("conceptmix", CHAT, {"requests": "each-question"}).settings == judge.settings
    (tmp_path / "question-judge-all.txt").write_text("{questions}")
    options = {"requests": "all-at-once", "prompts": str(tmp_path), "temperature": "0.5"}
    judge = open_judge("conceptmix", CHAT, options)
    assert settings(judge, "requests", "temperature") == ["all at once", 0.5]
    assert "the user's own" in str(judge.settings["prompt"])


@pytest.mark.parametrize("name", SCORED)
def test_cf_world_asks_a_chat_model_for_scores(name: str, tmp_path: Path) -> None:
    judge = open_judge(name, CHAT)
    assert isinstance(judge, ScoreJudge)
    assert (judge.name, *settings(judge, "persona", "answers")) == (CHAT, "standard", "numbered")
    assert open_judge(name, QWEN).settings["persona"] == "strict"
    assert open_judge(name, QWEN, {"persona": "standard"}).settings["persona"] == "standard"
    (tmp_path / "score-judge-again.txt").write_text("{problem}")
    options = {"persona": "strict", "answers": "published", "prompts": str(tmp_path), "temperature": "0.5"}
    judge = open_judge(name, CHAT, options)
    assert settings(judge, "persona", "answers", "temperature") == ["strict", "published", 0.5]
    assert "the user's own" in str(judge.settings["prompt_again"])


@pytest.mark.parametrize("name", ["natural", "conceptmix", *SCORED])
def test_without_a_name_the_ways_out_are_told(name: str) -> None:
    with pytest.raises(FormalimgError) as raised:
        open_judge(name)
    message = str(raised.value)
    assert f"no judge for {name} that works offline: name a chat model that can see, as in --judge" in message
    assert "`formalimg run --no-judge`" in message
    assert "\n" not in message
    assert name != "conceptmix" or "`formalimg agree` reads their votes from a CSV file" in message


@pytest.mark.parametrize(
    ("suite", "name", "options", "message"),
    [
        ("knolling", CHAT, {"decide": "clauses"}, "no option 'decide': it knows requests, boxes, prompts"),
        ("knolling", CHAT, {"boxes": "round"}, "unknown boxes 'round': choose from auto, xyxy-1000"),
        ("knolling", CHAT, {"requests": "never"}, "unknown requests 'never': choose from per-class"),
        ("knolling", CHAT, {"requests": "each-question"}, "unknown requests 'each-question': choose from per-class"),
        ("knolling", CHAT, {"persona": "strict"}, "a grounder has no option 'persona'"),
        ("knolling", "builtin/icon", {}, "there is no grounder builtin/icon"),
        ("knolling", "builtin/icons", {"boxes": "unit"}, "has no options"),
        ("knolling", "opena/any", {}, "openai"),
        ("natural", CHAT, {"boxes": "unit"}, "no option 'boxes': it knows decide, answers, prompts"),
        ("natural", CHAT, {"prompts": "nowhere"}, "there is no folder nowhere"),
        ("natural", CHAT, {"requests": "each-question"}, "natural has no option 'requests'"),
        ("natural", CHAT, {"persona": "strict"}, "natural has no option 'persona'"),
        ("natural", "builtin/icons", {}, "name a chat model"),
        ("natural", "detector/any", {}, "name a chat model"),
        ("conceptmix", "builtin/icons", {}, "builtin/icons sees boxes and colours only, and cannot answer questions"),
        ("conceptmix", "detector/owlv2", {}, "detector/owlv2 sees boxes .* questions: name a chat model"),
        ("conceptmix", CHAT, {"boxes": "unit"}, "conceptmix has no option 'boxes': it knows requests, prompts, and"),
        ("conceptmix", CHAT, {"decide": "clauses"}, "conceptmix has no option 'decide'"),
        ("conceptmix", CHAT, {"persona": "strict"}, "conceptmix has no option 'persona'"),
        ("conceptmix", CHAT, {"requests": "per-class"}, "unknown requests 'per-class': choose from each-question, all"),
        ("conceptmixx", CHAT, {}, "unknown suite 'conceptmixx': did you mean conceptmix"),
        ("cf-world", "builtin/icons", {}, "builtin/icons sees boxes and colours only, and cannot give scores: name"),
        ("cf-world-rules", "detector/owlv2", {}, "detector/owlv2 sees boxes .* name a chat model"),
        ("cf-world", CHAT, {"requests": "all-at-once"}, "cf-world has no option 'requests': it knows persona, answers"),
        ("cf-world", CHAT, {"persona": "mild"}, "unknown persona 'mild': choose from auto, standard, strict"),
        (
            "cf-world",
            CHAT,
            {"answers": "each-clause"},
            "unknown answers 'each-clause': choose from numbered, published",
        ),
    ],
)
def test_what_cannot_be_is_told_in_one_line(suite: str, name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message) as raised:
        open_judge(suite, name, options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("suite", "option", "values"),
    [
        ("conceptmix", "requests", "each-question, all-at-once"),
        ("knolling", "requests", "per-class, all-at-once"),
        ("natural", "answers", "each-clause, published"),
        ("cf-world", "answers", "numbered, published"),
    ],
)
def test_values_of_several_words_have_hyphens(suite: str, option: str, values: str) -> None:
    for wrong in ("foo", "foo-bar"):
        with pytest.raises(FormalimgError, match=f"^unknown {option} '{wrong}': choose from {values}$"):
            open_judge(suite, CHAT, {option: wrong})
    for value in values.split(", "):
        for way in (value, value.replace("-", " ")):
            assert open_judge(suite, CHAT, {option: way}).settings[option] == value.replace("-", " ")
