"""From what a chat model says to a scene: what is kept, dropped, renamed and merged, by rule and on record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

from formalimg.judges.certification.matching import overlap
from formalimg.judges.vlm_grounder.answers import SeenThing, SeenThings
from formalimg.judges.vlm_grounder.boxes import BoxConvention
from formalimg.scenes import Box, Thing

Plain: TypeAlias = dict[str, object]
"""An entry as the model wrote it, or a thing, as plain data."""

NO_COLOR = "other"
SAME_THING = 0.7
"""Boxes that overlap by so much (intersection over union) are one thing."""

_SPELLINGS = {"grey": "gray"}


class Sent(NamedTuple):
    """How boxes were asked for: in which convention, in a picture of which size."""

    convention: BoxConvention
    width: int
    height: int

    def box(self, seen: SeenThing) -> Box | str:
        """The box of a thing on the canvas, or what is wrong with it."""
        return self.convention.on_canvas(seen.box_2d, self.width, self.height)


@dataclass(frozen=True)
class Sifted:
    """Things by rule, and what became of the rest; all but the things is plain data.

    Attributes:
        things: what is there.
        dropped: entries under other labels than those asked for.
        recolored: entries whose colour is not in the vocabulary.
        merged: entries that repeat a thing that was told before.
        two_labels: things that share a box with one of another class; both are kept.
    """

    things: tuple[Thing, ...]
    dropped: list[Plain]
    recolored: list[Plain]
    merged: list[Plain]
    two_labels: list[list[Plain]]

    def evidence(self) -> dict[str, object]:
        """What became of the rest, where anything did."""
        found = {name: getattr(self, name) for name in ("dropped", "recolored", "merged", "two_labels")}
        return {name: entries for name, entries in found.items() if entries}


def problem_with(answer: SeenThings, sent: Sent) -> str | None:
    """What cannot be right about an answer: the first boxes that are none; None if all can be."""
    wrong = [box for box in map(sent.box, answer.objects) if isinstance(box, str)]
    if not wrong:
        return None
    return "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more boxes are wrong" if len(wrong) > 3 else "")


class Told(NamedTuple):
    """An answer, and the classes it was asked for."""

    classes: Sequence[str]
    answer: SeenThings


def sift(told: Iterable[Told], sent: Sent, colors: Sequence[str]) -> Sifted:
    """The things that were told, by these rules.

    1. An entry counts if its label is one of the classes it was asked for, whatever its case and with blanks,
       hyphens or underscores. Others are dropped.
    2. A colour that is not in the vocabulary is "other".
    3. Entries of one class whose boxes overlap by 0.7 are one thing: the one told first stays.
    4. Things of different classes are never merged, even if their boxes are the same.

    Boxes must have been found right before; see `problem_with`.
    """
    things: list[Thing] = []
    dropped: list[Plain] = []
    recolored: list[Plain] = []
    merged: list[Plain] = []
    for classes, answer in told:
        words = {_folded(word): word for word in classes}
        for seen in answer.objects:
            label, color = words.get(_folded(seen.label)), _color(seen.color, colors)
            if label is None:
                dropped.append({**seen.model_dump(), "asked_for": list(classes)})
                continue
            if color is None:
                recolored.append(seen.model_dump())
            box = sent.box(seen)
            assert isinstance(box, Box), box
            thing = Thing(label, box, color or NO_COLOR)
            if any(same_thing(thing, other) for other in things):
                merged.append(seen.model_dump())
            else:
                things.append(thing)
    two_labels = [
        [_plain(one), _plain(other)]
        for one, other in combinations(things, 2)
        if one.label != other.label and overlap(one.box, other.box) >= SAME_THING
    ]
    return Sifted(tuple(things), dropped, recolored, merged, two_labels)


def same_thing(one: Thing, other: Thing) -> bool:
    """Are these two reports of one thing?"""
    return one.label == other.label and overlap(one.box, other.box) >= SAME_THING


def _color(word: str, colors: Sequence[str]) -> str | None:
    """The word of the vocabulary that is meant, "other" if that was said; None for any other word."""
    folded = _folded(word)
    known = {_folded(color): color for color in (*colors, NO_COLOR)}
    return known.get(_SPELLINGS.get(folded, folded))


def _folded(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())


def _plain(thing: Thing) -> Plain:
    return {"label": thing.label, "color": thing.color, "box_2d": list(thing.box)}
