"""Objects are found in a text under all their names, with their colours, numbers and marks."""

from __future__ import annotations

import pytest

from formalimg.baselines.known_words import Cue
from formalimg.baselines.noticing import Mention, notice
from formalimg.logic import parse, vocabulary
from formalimg.suites.formula.wording import realize


def _mentions(text: str) -> list[Mention]:
    return [seen for sentence in notice(text) for seen in sentence if isinstance(seen, Mention)]


@pytest.mark.parametrize(
    ("words", "mention"),
    [
        ("a cup", Mention("cup")),
        ("A pair of glasses", Mention("glasses")),
        ("a bunch of blue keys", Mention("keys", "blue")),
        ("a set of keys", Mention("keys")),
        ("the computer mouse", Mention("mouse")),
        ("a mouse", Mention("mouse")),
        ("a black remote control", Mention("remote", "black")),
        ("a black remote", Mention("remote", "black")),
        ("the cutting board", Mention("cutting_board")),
        ("two cups", Mention("cup", number=2)),
        ("3 red wrenches", Mention("wrench", "red", number=3)),
        ("every fork", Mention("fork", several=True)),
        ("all wrenches", Mention("wrench", several=True)),
        ("the second shoe", Mention("shoe", mark="second")),
        ("that particular fork", Mention("fork", mark="particular")),
        ("a red or blue cup", Mention("cup", "red")),
        ("headphones", Mention("headphones")),
    ],
)
def test_an_object_is_noticed(words: str, mention: Mention) -> None:
    assert _mentions(words) == [mention]


@pytest.mark.parametrize("label", vocabulary("knolling").words["class"])
@pytest.mark.parametrize("color", [None, "pink"])
def test_every_class_is_noticed_as_the_suite_words_it(label: str, color: str | None) -> None:
    has = f" (Has ?a '{color}')" if color else " (InCenter ?a)"
    assert _mentions(realize(parse(f"(exists ?a (and (Is ?a '{label}'){has}))"), "knolling")) == [Mention(label, color)]
    [said] = _mentions(realize(parse(f"(forall ?a (implies (Is ?a '{label}') (InCenter ?a)))"), "knolling"))
    assert said == Mention(label, several=True)


def test_other_words_are_passed_over() -> None:
    assert list(notice("Nothing here, but 12345678901234567890 cats and a sofa")) == [[Cue("comma"), Cue("joint")]]


def test_a_text_of_any_length_is_read_up_to_its_window() -> None:
    assert len(_mentions("a cup and " * 50_000)) < 2_000
