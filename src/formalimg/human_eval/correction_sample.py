"""The random sample of a correction study: which images, or items of several runs, were drawn, and how likely."""

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
    """The images of a correction study."""

    judge: str  # the judge whose answers decided how many images of each cell were drawn
    labels: int  # how many images were asked for when the study was created
    cells: tuple[SampleCell, ...]  # all cells with a judged image
    images: tuple[DrawnImage, ...]  # the drawn images

    @property
    def batches(self) -> int:
        """How often images were drawn."""
        return max(image.batch for image in self.images)

    def images_of(self, run: int) -> set[tuple[str, int]]:
        """Return item and sample of each drawn image of a run, by its place in the study."""
        return set() if run else {(image.item, image.sample) for image in self.images}

    def grown(self, images: Mapping[CellKey, int], more: Sequence[tuple[str, int, CellKey]]) -> CorrectionSample:
        """Return the sample with a further batch of images, and the probabilities that follow."""
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


class SampledLevel(NamedTuple):
    """Items of one level, and how many of them were drawn at random."""

    level: int
    items: int
    drawn: int


class SampledItem(NamedTuple):
    """An item that was drawn for all runs of a study."""

    item: str  # identify it
    sample: int  # which of its images is labelled, of every run the same
    level: int
    probability: float  # how likely the item was drawn, by now
    batch: int  # with which batch it came, from 1
    runs: tuple[int, ...]  # the runs that have this image, by their place in the study


@dataclass(frozen=True)
class ItemSample:
    """The items of a study that corrects several runs and the differences between them."""

    labels: int  # how many items were asked for when the study was created
    levels: tuple[SampledLevel, ...]  # all levels with an item that can be labelled
    items: tuple[SampledItem, ...]  # the drawn items

    @property
    def batches(self) -> int:
        """How often items were drawn."""
        return max(item.batch for item in self.items)

    @property
    def drawn(self) -> dict[int, int]:
        """How many items of each level were drawn."""
        return {level.level: level.drawn for level in self.levels}

    def images_of(self, run: int) -> set[tuple[str, int]]:
        """Return item and sample of each drawn image of a run, by its place in the study."""
        return {(item.item, item.sample) for item in self.items if run in item.runs}

    def grown(self, sizes: Mapping[int, int], more: Sequence[tuple[str, int, int, tuple[int, ...]]]) -> ItemSample:
        """Return the sample with a further batch of items, and the probabilities that follow."""
        batch = self.batches + 1 if self.items else 1
        drawn = [(each.item, each.sample, each.level, each.batch, each.runs) for each in self.items]
        drawn += [(item, sample, level, batch, runs) for item, sample, level, runs in more]
        counts = Counter(level for _, _, level, _, _ in drawn)
        return ItemSample(
            self.labels,
            tuple(SampledLevel(level, sizes[level], counts[level]) for level in sorted(sizes)),
            tuple(
                SampledItem(item, sample, level, round(counts[level] / sizes[level], 9), number, runs)
                for item, sample, level, number, runs in drawn
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
_LEVEL: Mapping[str, type] = {"level": int, "items": int, "drawn": int}
_ITEM: Mapping[str, type] = {
    "item": str,
    "sample": int,
    "level": int,
    "probability": float,
    "batch": int,
    "runs": list,
}
"""The columns of stored cells and images, levels and items."""


def sample_lines(sample: CorrectionSample | ItemSample) -> list[str]:
    """Return the sample as lines of TOML: its settings, then one line for each cell and image, or level and item."""
    tables: list[tuple[str, Mapping[str, type], Sequence[tuple[object, ...]]]]
    if isinstance(sample, ItemSample):
        judge = []
        tables = [("levels", _LEVEL, sample.levels), ("items", _ITEM, sample.items)]
    else:
        judge = [f"judge = {_written(sample.judge)}"]
        tables = [("cells", _CELL, sample.cells), ("images", _IMAGE, sample.images)]
    lines = ["[correction]", *judge, f"labels = {sample.labels}"]
    for name, columns, rows in tables:
        lines += [f"# {', '.join(columns)}", f"{name} = [", *(f"  {_written(row)}," for row in rows), "]"]
    return lines


def parse_sample(table: object) -> CorrectionSample | ItemSample:
    """Read the sample from the table of a manifest."""
    if not isinstance(table, dict) or type(table.get("labels")) is not int:
        raise KeyError("correction")
    names = {*table}
    sample: CorrectionSample | ItemSample
    if names == {field.name for field in fields(ItemSample)}:
        levels = tuple(SampledLevel(*row) for row in _rows(table["levels"], _LEVEL))
        items = tuple(SampledItem._make((*row[:-1], tuple(row[-1]))) for row in _rows(table["items"], _ITEM))
        if any(type(run) is not int for item in items for run in item.runs):
            raise KeyError("correction")
        sample, drawn = ItemSample(table["labels"], levels, items), [item.item for item in items]
    elif names == {field.name for field in fields(CorrectionSample)} and type(table["judge"]) is str:
        cells = tuple(SampleCell(*row) for row in _rows(table["cells"], _CELL))
        images = tuple(DrawnImage(*row) for row in _rows(table["images"], _IMAGE))
        sample = CorrectionSample(table["judge"], table["labels"], cells, images)
        drawn = [f"{image.sample} {image.item}" for image in images]
    else:
        raise KeyError("correction")
    if not drawn or len({*drawn}) < len(drawn):
        raise KeyError("correction")
    return sample


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
