"""What the ontology knows of one class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Extent(NamedTuple):
    """From the smallest to the largest usual specimen."""

    low: float
    high: float


class Grip(NamedTuple):
    """What a class holds things with, which classes it holds, and how long (cm) and heavy (kg) they are at most."""

    limb: str
    admits: frozenset[str]
    length: float
    weight: float


class Inside(NamedTuple):
    """The inside of a class: which classes go in, and the widest opening and longest room (cm) of a large specimen.

    `shallow`: what is in it is also on it, as in a boat or on a plate.
    """

    admits: frozenset[str]
    across: float
    length: float
    shallow: bool


class Top(NamedTuple):
    """What can rest on a class: which classes, how long (cm) and how heavy (kg) at most."""

    admits: frozenset[str]
    length: float
    weight: float


class Worn(NamedTuple):
    """Who wears a class, and whether the wearer is then in it ("a woman in a jacket")."""

    by: frozenset[str]
    within: bool


@dataclass(frozen=True)
class Entry:
    """One class: what it is like, and what it can do.

    Lengths are in cm, weights in kg. `size` is the longest side, `across` the second longest side of the smallest
    specimen (what must pass an opening). `broader` names the classes that it also is: every man is a person.
    """

    name: str
    category: str
    broader: tuple[str, ...]
    size: Extent
    across: float
    weight: Extent
    holds: Grip | None
    inside: Inside | None
    top: Top | None
    worn: Worn | None
    words: Mapping[str, tuple[str, ...]]
