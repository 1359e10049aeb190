"""The text judge with the real reader, on drawings of text."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec, text_questions, whole_question
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.judges.preflight import check_judge, needs_preflight
from formalimg.judges.prompt_judge import PromptJudge
from formalimg.judges.text_judge import TextJudge
from formalimg.types import Item, Unscored, Verdict
from tests.support.drawn_text import FixedReader, draw_text

NEEDED = "rapidocr is not installed: pip install 'formalimg[ocr]'"


def item(*questions: GraphQuestion, prompt: str = "") -> Item[object]:
    return Item("questions", "1", 1, prompt, QuestionSpec(questions))


def judged(judge: TextJudge, what: Item[object]) -> Verdict:
    found = asyncio.run(judge.judge(what, draw_text()))
    assert isinstance(found, Verdict)
    return found


def test_each_string_is_a_part_with_a_dense_score_and_a_reason() -> None:
    judge = TextJudge(FixedReader("OPEN", "FOUNN", "SDEMD", "since 1952"))
    verdict = judged(judge, item(*text_questions(["Open", "FOUND SEED", "Diffusion"]), prompt="Signs 'Open' and so on"))
    assert [part.score for part in verdict.parts] == pytest.approx([1, 0.7, 1 / 3])
    assert verdict.parts[0].reason == "reads OPEN, asked Open"
    assert verdict.parts[1].reason == "reads FOUNN SDEMD, asked FOUND SEED"
    assert verdict.parts[2].reason == "reads since 1952, asked Diffusion"
    assert not verdict.passed
    assert verdict.evidence["extra"] == ["since 1952"]
    assert verdict.evidence["not_checked"] == "Signs … and so on"
    assert verdict.evidence["reader"] == "ocr/fixed"


def test_no_text_is_said_so() -> None:
    verdict = judged(TextJudge(FixedReader()), item(*text_questions(["Open"]), prompt="'Open'"))
    assert [(part.score, part.reason) for part in verdict.parts] == [(0, "no text found, asked Open")]
    assert "not_checked" not in verdict.evidence


def test_the_tolerance_decides_from_which_distance_on_a_string_is_shown() -> None:
    what = item(*text_questions(["FOUND SEED"]))
    reader = FixedReader("FOUNN SDEMD")
    assert not judged(TextJudge(reader, tolerance=0.29), what).passed
    verdict = judged(TextJudge(reader, tolerance=0.3), what)
    assert (verdict.passed, verdict.score) == (True, 1)
    assert not judged(TextJudge(FixedReader("OPEN"), compare="strict"), item(*text_questions(["Open"]))).passed
    with pytest.raises(FormalimgError, match="unknown compare 'fuzzy': known are loose, strict"):
        TextJudge(reader, compare="fuzzy")  # type: ignore[arg-type]


def test_questions_below_a_failed_one_count_as_failed_and_no_may_be_expected() -> None:
    sale, now = text_questions(["SALE", "NOW"])
    what = item(sale, replace(now, parents=("1",)))
    verdict = judged(TextJudge(FixedReader("NOW")), what)
    assert [part.score for part in verdict.parts] == pytest.approx([0, 0], abs=0.3)
    assert verdict.parts[1].reason.startswith("counts as failed, because this failed: ")
    without = replace(sale, expected="no")
    assert judged(TextJudge(FixedReader("NOW")), item(without)).passed
    assert judged(TextJudge(FixedReader("SALE")), item(without)).score == 0


def test_what_asks_for_more_than_text_is_unscored_with_a_reason() -> None:
    judge = TextJudge(FixedReader("OPEN"))
    red = GraphQuestion("2", "Is the text 'OPEN' red?")
    for what, reason in {
        item(*text_questions(["OPEN"]), red): "1 of 2 questions ask for more, such as \"Is the text 'OPEN' red?\"",
        item(*whole_question("A cat.")): "the prompt has no text in quotes",
        Item("questions", "1", 1, "", "no questions"): "the item asks for none",
    }.items():
        found = asyncio.run(judge.judge(what, draw_text()))
        assert isinstance(found, Unscored)
        assert found.reason == "not understood"
        assert reason in found.detail
    failing = TextJudge(FixedReader(unscored=Unscored("judge failed", "no memory")))
    assert asyncio.run(failing.judge(item(*text_questions(["OPEN"])), draw_text())) == Unscored(
        "judge failed", "no memory"
    )


def test_the_real_reader_reads_drawings() -> None:
    pytest.importorskip("rapidocr", reason=NEEDED)
    judge = open_judge("free-prompts", "ocr/rapidocr")
    right = asyncio.run(judge.judge(item(*text_questions(["Hello World"])), draw_text("HELLO", "World")))
    wrong = asyncio.run(judge.judge(item(*text_questions(["FOUND SEED"])), draw_text("FOUNN", "SDEMD")))
    none = asyncio.run(judge.judge(item(*text_questions(["FOUND SEED"])), draw_text()))
    assert isinstance(right, Verdict)
    assert isinstance(wrong, Verdict)
    assert isinstance(none, Verdict)
    assert (right.passed, right.score) == (True, 1)
    assert not wrong.passed
    assert wrong.score == pytest.approx(0.7)
    assert wrong.parts[0].reason == "reads FOUNN SDEMD, asked FOUND SEED"
    assert none.parts[0].reason == "no text found, asked FOUND SEED"


def test_the_pre_flight_is_certain_that_text_is_read() -> None:
    pytest.importorskip("rapidocr", reason=NEEDED)
    judge = open_judge("free-prompts", "ocr/rapidocr")
    assert needs_preflight(judge, "free-prompts")
    found = asyncio.run(check_judge(judge, "free-prompts"))
    assert (found.problem, found.warning, found.drawings) == ("", "", 1)
    blind = TextJudge(FixedReader("Cate Z4"))
    assert "reads Cate Z4, asked Cafe 24" in asyncio.run(check_judge(PromptJudge(blind, blind), "free-prompts")).problem


def test_other_suites_and_wrong_options_are_refused() -> None:
    pytest.importorskip("rapidocr", reason=NEEDED)
    with pytest.raises(FormalimgError, match="ocr/rapidocr reads text only"):
        open_judge("knolling", "ocr/rapidocr")
    with pytest.raises(FormalimgError, match="there is no text reader ocr/tesseract: known is ocr/rapidocr"):
        open_judge("free-prompts", "ocr/tesseract")
    with pytest.raises(FormalimgError, match="no option 'colour'"):
        open_judge("free-prompts", "ocr/rapidocr", {"colour": "red"})
    with pytest.raises(FormalimgError, match="tolerance"):
        open_judge("free-prompts", "ocr/rapidocr", {"tolerance": "2"})
