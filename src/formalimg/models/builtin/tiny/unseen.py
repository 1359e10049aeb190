"""Combinations that the tiny baseline never saw in training, to measure what it makes of them.

Each is chosen by a hash of its words, so that training and evaluation agree without a list. Mirror images of training
scenes are training scenes too; the choices are therefore the same for left and right, and for above and below.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Literal, TypeAlias

from formalimg.logic.syntax import Atom, Formula, Value, atoms

Unseen: TypeAlias = Literal["color", "pair", "side", "level"]
"""A class in a new colour; two classes never related before; a class never beside another; more objects than ever."""

MAX_TRAINED_LEVEL = 6  # instructions of higher levels are never seen
_SIDES = frozenset({"LeftOf", "RightOf"})


def is_unseen_color(label: str, color: str) -> bool:
    """Return whether no training image has a thing of this class in this colour: one pair in ten."""
    return _hash_share("color", label, color) < 0.1


def is_unseen_pair(first: str, second: str) -> bool:
    """Return whether no training prompt relates these two classes: one pair in ten."""
    return _hash_share("pair", *sorted((first, second))) < 0.1


def is_unseen_side(label: str) -> bool:
    """Return whether no training prompt puts this class to the left or right of another: one class in twelve."""
    return _hash_share("side", label) < 1 / 12


def unseen_in(formula: Formula, level: int) -> frozenset[Unseen]:
    """Return what of a formula was never seen in training; the classes of its variables are told by `Is`."""
    parts = list(atoms(formula))
    classes = {atom.variables[0]: _value_of(atom) for atom in parts if atom.predicate == "Is"}
    kinds: set[Unseen] = {"level"} if level > MAX_TRAINED_LEVEL else set()
    for atom in parts:
        labels = [classes.get(name, "") for name in atom.variables]
        kinds.update(_find_unseen(atom, labels))
    return frozenset(kinds)


def _find_unseen(atom: Atom, labels: list[str]) -> Iterable[Unseen]:
    if atom.predicate == "Has" and is_unseen_color(labels[0], _value_of(atom)):
        yield "color"
    if len(labels) == 2:
        if is_unseen_pair(labels[0], labels[1]):
            yield "pair"
        if atom.predicate in _SIDES and any(map(is_unseen_side, labels)):
            yield "side"


def _value_of(atom: Atom) -> str:
    return next((argument.text for argument in atom.arguments if isinstance(argument, Value)), "")


def _hash_share(*words: str) -> float:
    """Return a number from 0 to 1 that is as good as random, and always the same for the same words."""
    return zlib.crc32(" ".join(words).encode()) / 2**32
