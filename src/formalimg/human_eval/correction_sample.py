"""The random sample of a correction study: which images were drawn for labels, and with which probability."""

from __future__ import annotations

import json
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


_CELL: Mapping[str, type] = {"level": int, "judge": bool, "images": int, "drawn": int}
_IMAGE: Mapping[str, type] = {
    "item": str,
    "sample": int,
    "level": int,
    "judge": bool,
    "probability": float,
    "batch": int,
}
"""The columns of stored cells and images."""


def sample_lines(sample: CorrectionSample) -> list[str]:
    """Return the sample as lines of TOML: its settings, then one line for each cell and each image."""
    lines = ["[correction]", f"judge = {_written(sample.judge)}", f"labels = {sample.labels}"]
    for name, columns, rows in (("cells", _CELL, sample.cells), ("images", _IMAGE, sample.images)):
        lines += [f"# {', '.join(columns)}", f"{name} = [", *(f"  {_written(row)}," for row in rows), "]"]
    return lines


def parse_sample(table: object) -> CorrectionSample:
    """Read the sample from the table of a manifest.

    Raises:
        KeyError: if it is not what we store.
    """
    if not isinstance(table, dict) or {*table} != {field.name for field in fields(CorrectionSample)}:
        raise KeyError("correction")
    if type(table["judge"]) is not str or type(table["labels"]) is not int:
        raise KeyError("correction")
    found = CorrectionSample(
        table["judge"],
        table["labels"],
        tuple(SampleCell(*row) for row in _rows(table["cells"], _CELL)),
        tuple(DrawnImage(*row) for row in _rows(table["images"], _IMAGE)),
    )
    if not found.images or len({(it.item, it.sample) for it in found.images}) < len(found.images):
        raise KeyError("correction")
    return found


def _written(value: object) -> str:
    # JSON's strings, numbers and lists are TOML's as well, but for one character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _rows(found: object, columns: Mapping[str, type]) -> list[list[Any]]:
    wanted = list(columns.values())
    if not isinstance(found, list) or any(
        not isinstance(row, list) or [type(value) for value in row] != wanted for row in found
    ):
        raise KeyError("correction")
    return found
