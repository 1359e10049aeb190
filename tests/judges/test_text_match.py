from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg._util.edit_distance import edit_distance
from formalimg.judges.base import TextLine
from formalimg.judges.text_judge import match_texts, normalize_text
from formalimg.scenes.objects import Box


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
