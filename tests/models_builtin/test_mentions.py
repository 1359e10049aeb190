"""Objects are found in a text under all their names, with their colours, numbers and marks."""

from __future__ import annotations

import pytest

from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.mentions import ObjectMention, TextCue, find_tokens


def _mentions(text: str) -> list[ObjectMention]:
    return [seen for sentence in find_tokens(text) for seen in sentence if isinstance(seen, ObjectMention)]


@pytest.mark.parametrize(
    ("words", "mention"),
    [
        ("a cup", ObjectMention("cup")),
        ("A pair of glasses", ObjectMention("glasses")),
        ("a bunch of blue keys", ObjectMention("keys", "blue")),
        ("a set of keys", ObjectMention("keys")),
        ("the computer mouse", ObjectMention("mouse")),
        ("a mouse", ObjectMention("mouse")),
        ("a black remote control", ObjectMention("remote", "black")),
        ("a black remote", ObjectMention("remote", "black")),
        ("the cutting board", ObjectMention("cutting_board")),
        ("two cups", ObjectMention("cup", number=2)),
        ("3 red wrenches", ObjectMention("wrench", "red", number=3)),
        ("every fork", ObjectMention("fork", several=True)),
        ("all wrenches", ObjectMention("wrench", several=True)),
        ("the second shoe", ObjectMention("shoe", mark="second")),
        ("that particular fork", ObjectMention("fork", mark="particular")),
        ("a red or blue cup", ObjectMention("cup", "red")),
        ("headphones", ObjectMention("headphones")),
    ],
)
def test_an_object_is_noticed(words: str, mention: ObjectMention) -> None:
    assert _mentions(words) == [mention]


@pytest.mark.parametrize("label", vocabulary("knolling").words["class"])
@pytest.mark.parametrize("color", [None, "pink"])
def test_every_class_is_noticed_as_the_suite_words_it(label: str, color: str | None) -> None:
    has = f" (Has ?a '{color}')" if color else " (InCenter ?a)"
    assert _mentions(realize(parse(f"(exists ?a (and (Is ?a '{label}'){has}))"), "knolling")) == [
        ObjectMention(label, color)
    ]
    [said] = _mentions(realize(parse(f"(forall ?a (implies (Is ?a '{label}') (InCenter ?a)))"), "knolling"))
    assert said == ObjectMention(label, several=True)


def test_other_words_are_passed_over() -> None:
    assert list(find_tokens("Nothing here, but 12345678901234567890 cats and a sofa")) == [
        [TextCue("comma"), TextCue("joint")]
    ]


def test_a_text_of_any_length_is_read_up_to_its_window() -> None:
    assert len(_mentions("a cup and " * 50_000)) < 2_000
