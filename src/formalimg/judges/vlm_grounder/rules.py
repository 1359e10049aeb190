"""From what a chat model says to a scene: what is kept, dropped, renamed and merged, by rule and on record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

from formalimg.judges.certification.matching import overlap
from formalimg.judges.vlm_grounder.answers import SeenThing, SeenThings
from formalimg.judges.vlm_grounder.boxes import BoxConvention
from formalimg.scenes import Box, SceneObject

Plain: TypeAlias = dict[str, object]
"""An entry as the model wrote it, or an object, as plain data."""

NO_COLOR = "other"
SAME_OBJECT = 0.7
"""Boxes that overlap by so much (intersection over union) are one object."""

_SPELLINGS = {"grey": "gray"}


class Sent(NamedTuple):
    """How boxes were asked for: in which convention, in an image of which size."""

    convention: BoxConvention
    width: int
    height: int

    def box(self, seen: SeenThing) -> Box | str:
        """The box of an object on the canvas, or what is wrong with it."""
        return self.convention.on_canvas(seen.box_2d, self.width, self.height)


@dataclass(frozen=True)
class Sifted:
    """Objects by rule, and what became of the rest; all but the objects is plain data.

    Attributes:
        objects: what is there.
        dropped: entries under other labels than those asked for.
        recolored: entries whose colour is not in the vocabulary.
        merged: entries that repeat an object that was told before.
        two_labels: objects that share a box with one of another class; both are kept.
    """

    objects: tuple[SceneObject, ...]
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
    """The objects that were told, by these rules.

    1. An entry counts if its label is one of the classes it was asked for, whatever its case and with blanks,
       hyphens or underscores. Others are dropped.
    2. A colour that is not in the vocabulary is "other".
    3. Entries of one class whose boxes overlap by 0.7 are one object: the one told first stays.
    4. Objects of different classes are never merged, even if their boxes are the same.

    Boxes must have been found right before; see `problem_with`.
    """
    objects: list[SceneObject] = []
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
            obj = SceneObject(label, box, color or NO_COLOR)
            if any(same_object(obj, other) for other in objects):
                merged.append(seen.model_dump())
            else:
                objects.append(obj)
    two_labels = [
        [_plain(one), _plain(other)]
        for one, other in combinations(objects, 2)
        if one.label != other.label and overlap(one.box, other.box) >= SAME_OBJECT
    ]
    return Sifted(tuple(objects), dropped, recolored, merged, two_labels)


def same_object(one: SceneObject, other: SceneObject) -> bool:
    """Are these two reports of one object?"""
    return one.label == other.label and overlap(one.box, other.box) >= SAME_OBJECT


def _color(word: str, colors: Sequence[str]) -> str | None:
    """The word of the vocabulary that is meant, "other" if that was said; None for any other word."""
    folded = _folded(word)
    known = {_folded(color): color for color in (*colors, NO_COLOR)}
    return known.get(_SPELLINGS.get(folded, folded))


def _folded(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())


def _plain(obj: SceneObject) -> Plain:
    return {"label": obj.label, "color": obj.color, "box_2d": list(obj.box)}
