"""ConceptMix opens a judge of questions from a chat model's name, and says what else there is where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge

pytestmark = pytest.mark.usefixtures("stand_alone")

CHAT = "openai/gpt-4o"


def test_conceptmix_asks_a_chat_model_questions(tmp_path: Path) -> None:
    judge = open_judge("conceptmix", CHAT)
    assert isinstance(judge, QuestionJudge)
    assert (judge.name, judge.settings["requests"]) == (CHAT, "each question")
    assert open_judge("conceptmix", CHAT, {"requests": "each-question"}).settings == judge.settings
    (tmp_path / "question-judge-all.txt").write_text("{questions}")
    options = {"requests": "all-at-once", "prompts": str(tmp_path), "temperature": "0.5"}
    judge = open_judge("conceptmix", CHAT, options)
    assert (judge.settings["requests"], judge.settings["temperature"]) == ("all at once", 0.5)
    assert "the user's own" in str(judge.settings["prompt"])


def test_without_a_name_the_three_ways_out_are_told() -> None:
    with pytest.raises(FormalimgError) as raised:
        open_judge("conceptmix")
    message = str(raised.value)
    assert "no judge for conceptmix that works offline: name a chat model that can see, as in --judge" in message
    assert "`formalimg run --no-judge`" in message
    assert "`formalimg agree` reads their votes from a CSV file" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("suite", "name", "options", "message"),
    [
        ("conceptmix", "builtin/icons", {}, "builtin/icons sees boxes and colours only, and cannot answer questions"),
        ("conceptmix", "detector/owlv2", {}, "detector/owlv2 sees boxes .* questions: name a chat model"),
        ("conceptmix", CHAT, {"boxes": "unit"}, "conceptmix has no option 'boxes': it knows requests, prompts, and"),
        ("conceptmix", CHAT, {"decide": "clauses"}, "conceptmix has no option 'decide'"),
        ("conceptmix", CHAT, {"requests": "per-class"}, "unknown requests 'per-class': known are each-question, all"),
        ("knolling", CHAT, {"requests": "each-question"}, "unknown requests 'each-question': known are per-class"),
        ("natural", CHAT, {"requests": "each-question"}, "natural has no option 'requests'"),
        ("conceptmixx", CHAT, {}, "unknown suite 'conceptmixx': did you mean conceptmix"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(suite: str, name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message) as raised:
        open_judge(suite, name, options)
    assert "\n" not in str(raised.value)
