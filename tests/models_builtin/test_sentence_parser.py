"""Objects are found in a text under all their names, and the reader gets the facts of simple sentences right."""

from __future__ import annotations

import pytest

from formalimg import load
from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Atom, Formula, Variable, atoms
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.mentions import EntityTracker, ObjectMention, TextCue, find_tokens
from formalimg.models.builtin.reader import parse_sentence
from tests.support.sizes import tries


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


Said = set[tuple[str, ...]]


def _read(text: str) -> Said:
    entities = EntityTracker()
    facts = [fact for sentence in find_tokens(text) for fact in parse_sentence(sentence, entities)]
    labels = {obj: name.label for obj, name in entities}
    said: Said = {(fact.predicate, *(labels[obj] for obj in fact.objects)) for fact in facts}
    return said | {("Has", name.label, name.color) for name in entities.entities if name.color}


def _meant(formula: Formula) -> Said:
    labels = {_named(atom)[0]: _named(atom)[1] for atom in atoms(formula) if atom.predicate == "Is"}
    return {
        (atom.predicate, *(labels.get(word, word) for word in _named(atom)))
        for atom in atoms(formula)
        if atom.predicate != "Is"
    }


def _named(atom: Atom) -> list[str]:
    return [f"?{word.name}" if isinstance(word, Variable) else word.text for word in atom.arguments]


@pytest.mark.parametrize("version", [None, "@1"], ids=["newest", "first"])
def test_nearly_all_instructions_of_the_default_suite_are_read_rightly(version: str | None) -> None:
    items = load("knolling", version)[:: tries(5, 1)]
    right = sum(_read(item.prompt) == _meant(item.spec.formula) for item in items)
    assert right >= 0.99 * len(items)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("The cup is red and above the plate.", {("Has", "cup", "red"), ("Above", "cup", "plate")}),
        ("Every fork has a cup to its left.", {("LeftOf", "cup", "fork")}),
        (
            "For every fork, a cup is above a pen and below the fork.",
            {("Above", "cup", "pen"), ("Below", "cup", "fork")},
        ),
        ("A cup is above a pen. It is also below a tie.", {("Above", "cup", "pen"), ("Below", "cup", "tie")}),
        ("A cup has a pen to its left. It lies also above a tie.", {("LeftOf", "pen", "cup"), ("Above", "cup", "tie")}),
        (
            "A cup, a pen and a tie form a row from right to left.",
            {("RightOf", "cup", "pen"), ("RightOf", "pen", "tie")},
        ),
        (
            "A cup is below a pen and a tie, while a fork is in the center.",
            {("Below", "cup", "pen"), ("Below", "cup", "tie"), ("InCenter", "fork")},
        ),
        ("For every fork there is a cup below it.", {("Below", "cup", "fork")}),
        ("To the right of the hat is the pizza.", {("RightOf", "pizza", "hat")}),
        (
            "A pen is above a fork, and to the right of the fork is a cup.",
            {("Above", "pen", "fork"), ("RightOf", "cup", "fork")},
        ),
        ("In the top half are a pen and a tie.", {("OnTopSide", "pen"), ("OnTopSide", "tie")}),
        ("The cup is above the pen, which is above the tie.", {("Above", "cup", "pen"), ("Above", "pen", "tie")}),
        (
            "A cup, a pen and a tie are arranged in this order, each below the one before.",
            {("Below", "pen", "cup"), ("Below", "tie", "pen")},
        ),
        ("From left to right: a cup", set()),
        ("From left to right there are a cup, a pen and a tie.", {("LeftOf", "cup", "pen"), ("LeftOf", "pen", "tie")}),
        ("The jeans and apple are aligned horizontally.", {("AlignedHorizontally", "jeans", "apple")}),
        ("Above and to the left of the cup is a pen.", {("Above", "pen", "cup"), ("LeftOf", "pen", "cup")}),
        ("An image seen from above of a cup.", set()),
        ("It is above it, to its left, in one row with it, and below the next.", set()),
    ],
)
def test_a_sentence_gives_its_facts(text: str, facts: Said) -> None:
    assert _read(text) == facts


def test_what_is_said_of_every_object_is_said_of_each_that_is_imagined() -> None:
    entities = EntityTracker(several=2)
    facts = [
        fact for sentence in find_tokens("Every fork is above a cup.") for fact in parse_sentence(sentence, entities)
    ]
    assert [fact.objects for fact in facts] == [(0, 2), (1, 2)]


def test_objects_of_one_class_are_told_apart_by_colour_and_number() -> None:
    entities = EntityTracker()
    text = "A red cup and a blue cup. The first shoe is above the second shoe. The red cup is above the first shoe."
    facts = [fact for sentence in find_tokens(text) for fact in parse_sentence(sentence, entities)]
    assert [fact.objects for fact in facts] == [(2, 3), (0, 2)]
