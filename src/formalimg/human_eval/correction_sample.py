"""The random sample of a correction study: which images were drawn for labels, and with which probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

CellKey: TypeAlias = tuple[int, bool]
"""The images of a level that the judge passed, or that it failed."""


class SampleCell(NamedTuple):
    """Images of one level with the same answer of the judge, and how many of them were drawn at random."""

    level: int
    judge: bool
    images: int
    drawn: int


class DrawnImage(NamedTuple):
    """An image that was drawn: its cell, the probability by now, and with which batch it came, from 1."""

    item: str
    sample: int
    level: int
    judge: bool
    probability: float
    batch: int


@dataclass(frozen=True)
class CorrectionSample:
    """The images of a correction study.

    Attributes:
        judge: the judge whose answers decided how many images of each cell were drawn.
        labels: how many images were asked for when the study was created.
        cells: all cells with a judged image.
        images: the drawn images.
    """

    judge: str
    labels: int
    cells: tuple[SampleCell, ...]
    images: tuple[DrawnImage, ...]

    @property
    def batches(self) -> int:
        """How often images were drawn."""
        return max(image.batch for image in self.images)

    def grown(self, images: Mapping[CellKey, int], more: Sequence[tuple[str, int, CellKey]]) -> CorrectionSample:
        """Return the sample with a further batch of images, and the probabilities that follow.

        Args:
            images: how many judged images each cell has.
            more: item, sample and cell of each further image.
        """
        batch = self.batches + 1 if self.images else 1
        drawn = [(it.item, it.sample, (it.level, it.judge), it.batch) for it in self.images]
        drawn += [(item, sample, cell, batch) for item, sample, cell in more]
        counts = Counter(cell for _, _, cell, _ in drawn)
        return CorrectionSample(
            self.judge,
            self.labels,
            tuple(SampleCell(*cell, images[cell], counts[cell]) for cell in sorted(images)),
            tuple(
                DrawnImage(item, sample, *cell, round(counts[cell] / images[cell], 9), number)
                for item, sample, cell, number in drawn
            ),
        )


def sample_table(sample: CorrectionSample) -> dict[str, Any]:
    """Return the sample as plain data for `study.toml`: its own settings, then cells and images."""
    return {
        "judge": sample.judge,
        "labels": sample.labels,
        "cells": [cell._asdict() for cell in sample.cells],
        "images": [image._asdict() for image in sample.images],
    }


def parse_sample(table: object) -> CorrectionSample:
    """Read the sample from plain data.

    Raises:
        KeyError: if it is not what we store.
    """
    if not isinstance(table, dict) or {*table} != {field.name for field in fields(CorrectionSample)}:
        raise KeyError("correction")
    cells, images = table["cells"], table["images"]
    if type(table["judge"]) is not str or type(table["labels"]) is not int:
        raise KeyError("correction")
    found = CorrectionSample(
        table["judge"],
        table["labels"],
        tuple(SampleCell(**_typed(SampleCell, cell)) for cell in _listed(cells)),
        tuple(DrawnImage(**_typed(DrawnImage, image)) for image in _listed(images)),
    )
    if not found.images or len({(it.item, it.sample) for it in found.images}) < len(found.images):
        raise KeyError("correction")
    return found


def _listed(found: object) -> list[object]:
    if not isinstance(found, list):
        raise KeyError("correction")
    return found


_FIELDS: Mapping[type[SampleCell] | type[DrawnImage], Mapping[str, type]] = {
    SampleCell: {"level": int, "judge": bool, "images": int, "drawn": int},
    DrawnImage: {"item": str, "sample": int, "level": int, "judge": bool, "probability": float, "batch": int},
}


def _typed(kind: type[SampleCell] | type[DrawnImage], found: object) -> dict[str, Any]:
    if not isinstance(found, dict) or {name: type(value) for name, value in found.items()} != _FIELDS[kind]:
        raise KeyError("correction")
    return found
