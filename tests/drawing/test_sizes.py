"""Tiny and huge against the other classes of an image."""

from __future__ import annotations

import pytest

from formalimg.drawing.sizes import HUGE, TINY, size_words
from formalimg.scenes.objects import Box


def square(side: float) -> Box:
    return Box(100, 100, 100 + side, 100 + side)


@pytest.mark.parametrize(
    ("side", "word"),
    [(300 * TINY**0.5 - 0.1, "tiny"), (300 * TINY**0.5 + 0.1, None), (300 * HUGE**0.5 - 0.1, None), (600.0, "huge")],
)
def test_a_sixth_of_the_typical_area_is_tiny_and_four_times_is_huge(side: float, word: str | None) -> None:
    others = [("cup", square(300)), ("dog", square(300)), ("car", square(300))]
    assert size_words([("bee", square(side)), *others]) == [word, None, None, None]


def test_several_of_a_class_do_not_make_each_other_ordinary() -> None:
    bees = [("bee", square(100))] * 3
    assert size_words([*bees, ("cup", square(300)), ("dog", square(310))])[:3] == ["tiny"] * 3


def test_one_tiny_thing_makes_no_others_huge_where_there_are_more() -> None:
    assert size_words([("bee", square(60)), ("cup", square(300)), ("dog", square(300))]) == ["tiny", None, None]


def test_a_thing_alone_is_neither() -> None:
    assert size_words([("cup", square(900))]) == [None]
    assert size_words([]) == []


def test_two_huge_things_do_not_make_each_other_normal_and_a_tiny_one_makes_nothing_huge() -> None:
    assert size_words([("bee", square(220)), ("cup", square(230)), ("dog", square(100))]) == ["huge", "huge", None]
    assert size_words([("bee", square(200)), ("cup", square(210)), ("dog", square(50))]) == [None, None, "tiny"]
