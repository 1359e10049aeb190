"""Published numbers to show next to the runs of a comparison."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.benchmarks.registry import suite_names

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

    A file has tables with rows, or rows alone. What is the same for all rows stands before them: suite, source, figure,
    judge, task, condition, digits, and the levels of the numbers, which are from 1 on if there are none. A row has a
    model, rates or scores, perhaps their margins, and what was printed besides: means, ratios and G by name, or the
    overall rate.
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
