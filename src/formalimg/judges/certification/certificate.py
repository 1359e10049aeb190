"""What certification found: how much of what is there a grounder sees, and how much of what it sees is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Reading:
    """How images were read under one condition.

    Attributes:
        condition: what happened to the images.
        images: how many were shown.
        refused: how many of them the grounder said nothing about. What is on them counts as not found.
        objects: how many objects are on the images.
        found: how many objects the grounder reported.
        matched: how many of these are right: same class, and a box that overlaps by 0.9 (intersection over union).
        colored: how many of the matched have the right colour.
    """

    condition: str
    images: int
    refused: int
    objects: int
    found: int
    matched: int
    colored: int

    @property
    def precision(self) -> float:
        """The share of what was found that is there; 0 if nothing was found."""
        return _share(self.matched, self.found)

    @property
    def recall(self) -> float:
        """The share of what is there that was found."""
        return _share(self.matched, self.objects)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _share(2 * self.matched, self.found + self.objects)

    @property
    def color_accuracy(self) -> float:
        """The share of the matched objects whose colour is right."""
        return _share(self.colored, self.matched)

    def to_json(self) -> dict[str, object]:
        """Counts and shares as plain data."""
        return {
            # The exported names of two counts are those of earlier certificates.
            **{{"images": "pictures", "objects": "things"}.get(name, name): n for name, n in self.__dict__.items()},
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "color_accuracy": self.color_accuracy,
        }


class Published(NamedTuple):
    """Shares that somebody printed."""

    precision: float
    recall: float
    f1: float
    color_accuracy: float


PUBLISHED_PARSER = Published(0.967, 0.978, 0.972, 0.954)
"""What the authors of FormalImg report of their parser, on 100 images with labels refined by hand: another task."""


@dataclass(frozen=True)
class Certificate:
    """How a grounder did.

    Attributes:
        grounder: its name.
        scenes: how many scenes were drawn.
        seed: from which they were made.
        readings: how it read them, under one condition after the other.
        impostors: how many images that are no drawings it was shown.
        impostors_refused: how many of them it refused, as it should.
    """

    grounder: str
    scenes: int
    seed: int
    readings: tuple[Reading, ...]
    impostors: int
    impostors_refused: int

    def reaches(self, least: float) -> bool:
        """Are precision, recall and F1 of the first condition so high, and was every impostor refused?"""
        first = self.readings[0]
        return min(first.precision, first.recall, first.f1) >= least and self.impostors == self.impostors_refused

    def to_json(self) -> dict[str, object]:
        """The certificate as plain data."""
        return {
            "grounder": self.grounder,
            "scenes": self.scenes,
            "seed": self.seed,
            "readings": [reading.to_json() for reading in self.readings],
            "impostors": self.impostors,
            "impostors_refused": self.impostors_refused,
            "published_parser": PUBLISHED_PARSER._asdict(),
        }

    def __str__(self) -> str:
        """A table for people."""
        heads = ("condition", "precision", "recall", "F1", "colour", "refused")
        rows = [
            (
                reading.condition,
                *(f"{share:.4f}" for share in (reading.precision, reading.recall, reading.f1, reading.color_accuracy)),
                f"{reading.refused} of {reading.images}",
            )
            for reading in self.readings
        ]
        rows.append(("published parser", *(f"{share:.3f} " for share in PUBLISHED_PARSER), "–"))
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in (heads, *rows)
        ]
        objects = self.readings[0].objects
        shown = f"{self.scenes} scene{'s' * (self.scenes != 1)} of {objects} object{'s' * (objects != 1)}"
        return "\n".join(
            [
                f"{self.grounder}: {shown}, seed {self.seed}, boxes at IoU 0.9",
                *lines,
                f"images that are no drawings: {self.impostors_refused} of {self.impostors} refused",
            ]
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
