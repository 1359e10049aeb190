"""What a reader would not sign is not drawn: instructions that readers refused, and some like them that they took."""

from __future__ import annotations

import pytest

from formalimg import load
from formalimg.benchmarks.formal.synthesis.oddity import ReadScene, speaks_of_one_after_every
from formalimg.logic.parser import parse


def scene(relations: str, *, every: str = "", inner: str = "") -> ReadScene:
    """Return the scene of relations between variables that are named like their classes."""
    names = list(dict.fromkeys(name for name in relations.replace(")", " ").split() if name.startswith("?")))
    about = {name: f"(Is {name} '{name[1:].replace('_', ' ')}')" for name in names}
    outer = [name for name in names if name not in (every, inner)]
    text = f"(and {relations} {' '.join(about[name] for name in [*outer, *filter(None, [inner])])})"
    if inner:
        text = f"(exists {inner} {text})"
    if every:
        text = f"(forall {every} (implies {about[every]} {text}))"
    for name in outer:
        text = f"(exists {name} {text})"
    return ReadScene(parse(text))


@pytest.mark.parametrize(
    ("relations", "oddity"),
    [
        ("(On ?book ?refrigerator) (On ?ball ?book) (NextTo ?screwdriver ?ball) (On ?screwdriver ?sofa)", "apart"),
        ("(On ?bird ?lamp) (NextTo ?flower ?bird)", "apart"),
        ("(Holding ?elephant ?bottle) (NextTo ?cup ?bottle)", "apart"),
        ("(On ?cup ?table) (On ?fork ?table) (NextTo ?fork ?cup)", None),
        ("(On ?cup ?table) (NextTo ?fork ?cup)", None),
        ("(NextTo ?chair ?table) (In ?chair ?house)", None),
        ("(On ?laptop ?child)", "odd bearer"),
        ("(On ?glasses ?bird)", "odd bearer"),
        ("(On ?glasses ?man)", None),  # he wears them
        ("(On ?butterfly ?bird)", None),
        ("(On ?mirror ?tree)", "odd bearer"),
        ("(On ?fruit ?knife)", "odd bearer"),
        ("(In ?desk ?boat)", "odd bearer"),
        ("(In ?desk ?bus)", None),
        ("(Holding ?bird ?apple)", "odd bearer"),
        ("(Holding ?bird ?key)", None),
        ("(Holding ?man ?cat) (Holding ?cat ?toy_car)", "held chain"),
        ("(Holding ?man ?child) (Holding ?child ?keyboard)", None),
        ("(Holding ?man ?laptop) (On ?book ?laptop)", "held chain"),
        ("(HasState ?fish 'swimming')", "odd state"),
        ("(HasState ?sandwich 'melting')", "odd state"),
        ("(HasState ?clock 'melting')", None),
    ],
)
def test_what_is_imagined_as_one_picture(relations: str, oddity: str | None) -> None:
    assert scene(relations).find_oddity() == oddity


@pytest.mark.parametrize(
    ("relations", "every", "inner", "is_odd"),
    [
        ("(NextTo ?orange ?pan)", "?pan", "?orange", False),
        ("(NextTo ?orange ?pan) (LeftOf ?child ?orange)", "?pan", "?orange", True),
        ("(Holding ?elephant ?fruit)", "?fruit", "?elephant", True),
        ("(Holding ?elephant ?fruit)", "?elephant", "?fruit", False),
        ("(Holding ?elephant ?fruit)", "?elephant", "", True),  # all hold one and the same
        ("(Holding ?teddy_bear ?key)", "?key", "", True),
        ("(On ?headphones ?dog)", "?headphones", "", True),
        ("(On ?cake ?table)", "?cake", "", False),
        ("(On ?pizza ?plate)", "?pizza", "", True),  # there is room for one
        ("(On ?pizza ?plate)", "?pizza", "?plate", False),  # each is on its own
        ("(In ?key ?hat)", "?key", "", True),
    ],
)
def test_what_is_said_of_every_object(relations: str, every: str, inner: str, is_odd: bool) -> None:
    assert scene(relations, every=every, inner=inner).find_oddity() == ("odd every" if is_odd else None)


def test_nothing_speaks_of_every_object_as_of_one() -> None:
    assert speaks_of_one_after_every("Every pan is next to an orange. A child is holding the orange.")
    assert not speaks_of_one_after_every("There is a ball. Every pan is next to the ball.")
    assert not speaks_of_one_after_every("A photo in which every pan is red. All forks are wet.")


def test_no_default_item_is_odd() -> None:
    for item in load("natural"):
        assert ReadScene(item.spec.formula).find_oddity() is None, item.prompt
        assert not speaks_of_one_after_every(item.prompt), item.prompt
