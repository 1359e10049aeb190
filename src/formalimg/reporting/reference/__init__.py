"""Published figures, to be shown beside one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

Published: TypeAlias = Literal["rate", "concept fraction", "controlled"]
"""What was published: pass rates (for CF-World, mean scores), the share of concepts that they show, or the rates of
short levels with as many objects as the longest (FormalImg, Table 4)."""


@dataclass(frozen=True)
class ReferenceRow:
    """What was published about a model.

    Attributes:
        model: the model, as it was called there.
        source: where it was published.
        rates: the rate of each level, 0 to 1; empty where only means were printed.
        margins: the ± that was printed behind each rate; empty if there was none.
        judge: who graded the images; empty where all rows of a table have the same judge.
        printed: means and ratios of the same row as they were printed, 0 to 1, by the name of their band.
        held: G as it was printed, for the suite's own epsilon; None if it was not.
        task, condition: what the model was asked for, and how, as in the manifest of a run.
        digits: the decimals that the printed percents have, where it is not one.
    """

    model: str
    source: str
    rates: Mapping[int, float]
    margins: Mapping[int, float] = field(default_factory=dict)
    judge: str = ""
    printed: Mapping[str, float] = field(default_factory=dict)
    held: int | None = None
    task: str = "image"
    condition: str = ""
    digits: int | None = None

    @property
    def name(self) -> str:
        """The model and, where it matters, the judge: `DALL-E 3, by GPT-4o`."""
        return f"{self.model}, by {self.judge}" if self.judge else self.model


def reference_rows(
    suite: str, figure: Published = "rate", *, task: str = "image", condition: str = ""
) -> tuple[ReferenceRow, ...]:
    """The published figures that belong to runs of a suite, in the order of their tables; empty if there are none.

    Args:
        suite: the suite.
        figure: which figures.
        task: the task of the run.
        condition: the condition of the run. Where nothing was published for both, it is the suite's main table.
    """
    rows = [row for about, kind, row in _rows() if (about, kind) == (suite, figure)]
    fitting = tuple(row for row in rows if (row.task, row.condition) == (task, condition))
    return fitting or tuple(row for row in rows if (row.task, row.condition) == ("image", ""))


@cache
def _rows() -> tuple[tuple[str, str, ReferenceRow], ...]:
    return (
        *_formalimg_table_1(_packaged("formalimg_table1.toml")),
        *_formalimg(_packaged("formalimg_tables2to5.toml")),
        *_conceptmix(_packaged("conceptmix.toml")),
        *_cfworld(_packaged("cfworld.toml")),
        *_geneval(_packaged("geneval.toml")),
    )


def _formalimg_table_1(data: Mapping[str, Any]) -> Iterator[tuple[str, str, ReferenceRow]]:
    for row in data["rows"]:
        yield row["suite"], "rate", _percents(row, data["source"])


def _formalimg(data: Mapping[str, Any]) -> Iterator[tuple[str, str, ReferenceRow]]:
    for table in data["tables"]:
        about = {name: table[name] for name in ("judge", "task", "condition", "digits") if name in table}
        for row in table["rows"]:
            yield table["suite"], table.get("figure", "rate"), _percents(row, table["source"], **about)


def _percents(row: Mapping[str, Any], source: str, **about: Any) -> ReferenceRow:
    """Return a row of FormalImg; its figures are percents, but for G."""
    rates = _by_level([percent / 100 for percent in row.get("rates", ())])
    means = {band: percent / 100 for band, percent in row["printed"].items() if band != "G"}
    return ReferenceRow(row["model"], source, rates, printed=means, held=row["printed"].get("G"), **about)


def _conceptmix(data: Mapping[str, Any]) -> Iterator[tuple[str, str, ReferenceRow]]:
    for table in data["tables"]:
        for row in table["rows"]:
            rates, margins = _by_level(row["rates"]), _by_level(row["margins"])
            published = ReferenceRow(row["model"], table["source"], rates, margins, table["judge"])
            yield data["suite"], table["figure"], published


def _cfworld(data: Mapping[str, Any]) -> Iterator[tuple[str, str, ReferenceRow]]:
    for table in data["tables"]:
        for row in table["rows"]:
            means = dict(zip(table["levels"], row["scores"], strict=True))
            ratios = row.get("ratios", {})
            published = ReferenceRow(row["model"], table["source"], means, judge=table["judge"], printed=ratios)
            yield table["suite"], "rate", published


def _geneval(data: Mapping[str, Any]) -> Iterator[tuple[str, str, ReferenceRow]]:
    for row in data["rows"]:
        printed = {"Overall": row["overall"]}
        yield (
            data["suite"],
            "rate",
            ReferenceRow(row["model"], data["source"], _by_level(row["rates"]), printed=printed),
        )


def _by_level(values: Sequence[float]) -> dict[int, float]:
    return dict(enumerate(values, start=1))


def _packaged(name: str) -> dict[str, Any]:
    return tomllib.loads((files("formalimg.reporting.reference") / name).read_text(encoding="utf-8"))


__all__ = ["Published", "ReferenceRow", "reference_rows"]
