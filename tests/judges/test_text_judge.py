"""Text in images: how strings are matched, and how questions for text are judged."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec, text_questions, whole_question
from formalimg.errors import FormalimgError
from formalimg.judges.base import TextLine
from formalimg.judges.factory import open_judge
from formalimg.judges.preflight import check_judge, needs_preflight
from formalimg.judges.prompt_judge import PromptJudge
from formalimg.judges.text_judge import TextJudge, edit_distance, match_texts, normalize_text
from formalimg.scenes.objects import Box
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
    with pytest.raises(FormalimgError, match="unknown compare 'fuzzy': choose from loose, strict"):
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
    with pytest.raises(FormalimgError, match="there is no text reader ocr/tesseract: use ocr/rapidocr"):
        open_judge("free-prompts", "ocr/tesseract")
    with pytest.raises(FormalimgError, match="no option 'colour'"):
        open_judge("free-prompts", "ocr/rapidocr", {"colour": "red"})
    with pytest.raises(FormalimgError, match="tolerance"):
        open_judge("free-prompts", "ocr/rapidocr", {"tolerance": "2"})


# --- matching


def lines(*texts: str) -> list[TextLine]:
    """Lines below each other."""
    return [TextLine(text, Box(100, 100 * row, 500, 100 * row + 60)) for row, text in enumerate(texts)]


def distance(wanted: str, *texts: str, strict: bool = False) -> float:
    return match_texts([wanted], lines(*texts), "strict" if strict else "loose").matches[0].distance


def slow_distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for number, one in enumerate(first, 1):
        following = [number]
        for at, other in enumerate(second, 1):
            following.append(min(row[at] + 1, following[-1] + 1, row[at - 1] + (one != other)))
        row = following
    return row[-1]


@given(st.text("abc'é", max_size=12), st.text("abc'é", max_size=12))
def test_the_edit_distance_is_levenshteins(first: str, second: str) -> None:
    assert edit_distance(first, second) == slow_distance(first, second)


@pytest.mark.parametrize(
    ("wanted", "texts"),
    [
        ("Hello World", ["Hello World"]),
        ("Hello World", ["HELLO", "WORLD"]),  # in capitals, on two lines
        ("OPEN 24 HOURS", ["OPEN", "24HOURS"]),  # blanks are not seen reliably
        ("Aurora Café", ["AURORA CAFE"]),
        ("Welcome.", ["“Welcome”"]),
        ("It’s 5–7 pm", ["It's 5-7 PM"]),
        ("SALE", ["SUMMER SALE now", "only"]),  # among other words
        ("开门大吉", ["欢迎开门", "大吉"]),  # no blanks between words
        ("ＡＢＣ", ["abc"]),  # full width
    ],
)
def test_a_string_is_found_loosely(wanted: str, texts: list[str]) -> None:
    assert distance(wanted, *texts) == 0


@pytest.mark.parametrize(
    ("wanted", "texts", "expected"),
    [
        ("FOUND SEED", ["FOUNN", "SDEMD"], 3 / 10),
        ("NeurIPS", ["NeurIPSS"], 1 / 8),  # part of a word is not the word
        ("SALE", ["SALES"], 1 / 5),
        ("$9.99", ["9.99"], 1 / 5),
        ("100%", ["100"], 1 / 4),
        ("Diffusion", [], 1.0),
        ("Hello World", ["xyz"], 1.0),
    ],
)
def test_the_distance_is_a_share_of_the_longer_string(wanted: str, texts: list[str], expected: float) -> None:
    assert distance(wanted, *texts) == pytest.approx(expected)


def test_strict_counts_case_accents_and_punctuation_but_no_blanks() -> None:
    assert distance("Café!", "Cafe", "!", strict=True) == pytest.approx(1 / 5)
    assert distance("Hello World", "HelloWorld", strict=True) == 0
    assert distance("Hello", "HELLO", strict=True) == pytest.approx(4 / 5)
    assert distance("Open.", "Open", strict=True) == pytest.approx(1 / 5)


def test_a_sign_beside_another_one_is_read_by_itself() -> None:
    left = [
        TextLine(text, Box(100, 100 + 100 * row, 400, 180 + 100 * row))
        for row, text in enumerate(["OPEN", "24", "HOURS"])
    ]
    right = [
        TextLine(text, Box(600, 130 + 100 * row, 900, 190 + 100 * row)) for row, text in enumerate(["EAT", "HERE"])
    ]
    found = match_texts(["Open 24 hours", "Eat here"], left + right)
    assert [match.distance for match in found.matches] == [0, 0]
    assert found.extra == ()


def test_extra_text_is_what_no_wanted_string_covers() -> None:
    found = match_texts(["Hello World"], lines("HELO WORLD", "Est. 1952"))
    assert found.extra == ("Est. 1952",)
    assert found.matches[0].text == "HELO WORLD"
    assert found.text == "HELO WORLD Est. 1952"
    assert match_texts(["Diffusion"], lines("Est. 1952")).extra == ("Est. 1952",)


def test_scripts_without_blanks_are_shown_without_them() -> None:
    found = match_texts(["机器学习"], lines("欢迎机器", "学 2026"))
    assert found.matches[0].text == "机器学"
    assert found.extra == ("欢迎", "2026")


def test_the_same_text_may_match_two_strings() -> None:
    found = match_texts(["Summer Reading", "Reading"], lines("SUMMER READING"))
    assert [match.distance for match in found.matches] == [0, 0]


@given(st.lists(st.text(max_size=12), max_size=8), st.text(min_size=1, max_size=20))
def test_any_text_has_a_distance_from_0_to_1(texts: list[str], wanted: str) -> None:
    match = match_texts([wanted], lines(*texts)).matches[0]
    assert 0 <= match.distance <= 1
    assert match.distance < 1 or match.score < 0.5


@given(st.text(min_size=1, max_size=30))
def test_a_text_matches_itself(text: str) -> None:
    if normalize_text(text, "strict"):
        assert distance(text, text) == 0
        assert distance(text, text, strict=True) == 0


def test_a_page_full_of_text_is_matched_at_once() -> None:
    texts = [f"{number} lorem ipsum dolor sit amet {number}" for number in range(150)]
    assert distance("149 lorem ipsum dolor sit amet 149", *texts) == 0
    assert 0 < distance("Google Research Pizza Cafe in the middle of nowhere", *["a b c d e f g"] * 150) < 1
