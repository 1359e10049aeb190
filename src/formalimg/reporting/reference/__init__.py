"""Published figures, to be shown beside one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

Published: TypeAlias = Literal["rate", "concept fraction"]
"""What was published: pass rates (for CF-World, mean scores), or the share of
concepts that they show."""


@dataclass(frozen=True)
class ReferenceRow:
    """What was published about a model.

    Attributes:
        model: the model, as it was called there.
        source: where it was published.
        rates: the rate of each level, 0 to 1.
        margins: the ± that was printed behind each rate; empty if there was none.
        judge: who graded the images; empty where all rows of a suite have the same judge.
        ratios: PRR and RRR as they were printed; empty for suites without.
    """

    model: str
    source: str
    rates: Mapping[int, float]
    margins: Mapping[int, float] = field(default_factory=dict)
    judge: str = ""
    ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The model and, where it matters, the judge: `DALL-E 3, by GPT-4o`."""
        return f"{self.model}, by {self.judge}" if self.judge else self.model


def reference_rows(suite: str, figure: Published = "rate") -> tuple[ReferenceRow, ...]:
    """The published figures for a suite, in the order of their tables; empty if there are none."""
    return tuple(row for about, kind, row in _rows() if (about, kind) == (suite, figure))


@cache
def _rows() -> tuple[tuple[str, str, ReferenceRow], ...]:
    return (
        *_formalimg(_packaged("formalimg_table1.toml")),
        *_conceptmix(_packaged("conceptmix.toml")),
        *_cfworld(_packaged("cfworld.toml")),
    )


def _formalimg(data: Mapping[str, Any]) -> Iterator[tuple[str, str, ReferenceRow]]:
    for row in data["rows"]:
        rates = _by_level([percent / 100 for percent in row["rates"]])
        yield row["suite"], "rate", ReferenceRow(row["model"], data["source"], rates)


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
            published = ReferenceRow(row["model"], table["source"], means, judge=table["judge"], ratios=ratios)
            yield table["suite"], "rate", published


def _by_level(values: Sequence[float]) -> dict[int, float]:
    return dict(enumerate(values, start=1))


def _packaged(name: str) -> dict[str, Any]:
    return tomllib.loads((files("formalimg.reporting.reference") / name).read_text(encoding="utf-8"))


__all__ = ["Published", "ReferenceRow", "reference_rows"]
