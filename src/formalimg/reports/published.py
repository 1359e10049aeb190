"""Published data of benchmarks: numbers to show next to runs, and the layouts that their scripts read."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.errors import FormalimgError
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Unscored

Published: TypeAlias = Literal["rate", "concept fraction", "controlled"]
"""What was published: pass rates or mean scores, the share of concepts that images show, or the rates of short levels
with as many objects as the longest."""


@dataclass(frozen=True)
class ReferenceRow:
    """A row of published numbers for a model."""

    model: str  # the model, as it was called there
    source: str  # where it was published
    rates: Mapping[int, float]  # the rate of each level, 0 to 1; empty where only means were printed
    # the ± that was printed behind each rate; empty if there was none
    margins: Mapping[int, float] = field(default_factory=dict)
    judge: str = ""  # who graded the images; empty where all rows of a table have the same judge
    # means and ratios of the same row as they were printed, 0 to 1, by the name of their band
    printed: Mapping[str, float] = field(default_factory=dict)
    held: int | None = None  # G as it was printed, for the suite's own epsilon; None if it was not
    task: str = "image"  # what the model was asked for, and how, as in the manifest of a run
    condition: str = ""
    digits: int | None = None  # the decimals that the printed percents have, where it is not one

    @property
    def name(self) -> str:
        """The model, and the judge where it matters: `DALL-E 3, by GPT-4o`."""
        return f"{self.model}, by {self.judge}" if self.judge else self.model


def reference_rows(
    suite: str, figure: Published = "rate", *, task: str = "image", condition: str = ""
) -> tuple[ReferenceRow, ...]:
    """Return the published numbers that belong to runs of a suite, in the order of their tables.

    Args:
        suite: the suite.
        figure: which figures.
        task: the task of the run.
        condition: the condition of the run. Where nothing was published for both, it is the suite's main table.
    """
    published = suite_of(suite).reference_rows() if suite in suite_names() else None
    rows = [row for kind, row in published or () if kind == figure]
    fitting = tuple(row for row in rows if (row.task, row.condition) == (task, condition))
    return fitting or tuple(row for row in rows if (row.task, row.condition) == ("image", ""))


@cache
def read_reference_rows(
    suite: str, package: str, *names: str, percent: bool = False
) -> tuple[tuple[Published, ReferenceRow], ...]:
    """Read the published numbers of a suite from files in the folder of its benchmark.

    A file has tables with rows, or rows alone. Fields that are the same for all rows precede them: suite, source,
    figure, judge, task, condition, digits, and the levels of the numbers, which are from 1 on if there are none. A row
    has a model, rates or scores, optionally their margins, and other printed values: means, ratios and G by name, or
    the overall rate.
    """
    found: list[tuple[Published, ReferenceRow]] = []
    for name in names:
        data = tomllib.loads((files(package) / name).read_text(encoding="utf-8"))
        for table in data.get("tables", [data]):
            rows = [{**data, **table, **row} for row in table["rows"]]
            found += [
                (row.get("figure", "rate"), _build_row(row, 100 if percent else 1))
                for row in rows
                if row["suite"] == suite
            ]
    return tuple(found)


def _build_row(row: Mapping[str, Any], unit: float) -> ReferenceRow:
    values = row.get("rates", row.get("scores", ()))
    levels = row.get("levels", range(1, len(values) + 1))
    rates = {level: value / unit for level, value in zip(levels, values, strict=True)}
    margins = dict(zip(levels, row.get("margins", ()), strict=False))
    besides = dict(row.get("printed", row.get("ratios", {})))
    if "overall" in row:
        besides["Overall"] = row["overall"]
    general = besides.pop("G", None)
    means = {name: value / unit for name, value in besides.items()}
    details = {name: row[name] for name in ("judge", "task", "condition", "digits") if name in row}
    return ReferenceRow(row["model"], row["source"], rates, margins, printed=means, held=general, **details)


# --- export of a run in the layout of its benchmark's published scripts


class ExportedRun(NamedTuple):
    """The result of an export."""

    folder: Path  # the folder
    images: int  # the number of images
    scored: int  # the number of images with scores or verdicts
    without: Mapping[str, int]  # the number of images that are missing or have no scores, by reason


def export_run(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write the images and the verdicts or scores of a run in the layout of its benchmark's published scripts."""
    exported = suite(run.manifest.suite).export_run(run, folder, name)
    if exported is None:
        raise FormalimgError(
            f"{run.manifest.suite} has no published layout: `formalimg report --format json` writes its numbers, and "
            "the images are in the run folder"
        )
    return exported


def require_model_name(name: str, *reserved: str) -> None:
    """Raise an error if a model name cannot be used as a folder name."""
    if not re.fullmatch(r"[\w.-]{1,100}", name) or name in (".", "..", *reserved):
        raise FormalimgError(f"{name!r} cannot be a folder: name the model with letters, digits, . _ -")


def copy_image(image: ImageLocation, path: Path) -> None:
    """Copy an image of a run byte by byte, creating the target folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        data = image.read_bytes()
    except OSError as error:
        raise FormalimgError(f"cannot copy {image}: {error.strerror}") from error
    path.write_bytes(data)


def unscored_text(images: Sequence[Judged], items: Mapping[str, Item[object]]) -> str:
    """Return a JSON list of the unscored images with reasons, as published layouts have no field for them."""
    records = [{**image.outcome._asdict(), "prompt": items[image.outcome.item].prompt} for image in images]
    return json.dumps(records, indent=4, ensure_ascii=False) + "\n"


def count_unscored(images: Sequence[Judged]) -> Mapping[str, int]:
    """Return the number of images without a verdict, by reason."""
    return Counter(image.verdict.reason for image in images if isinstance(image.verdict, Unscored))
