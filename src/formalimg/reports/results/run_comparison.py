"""`RunComparison`: runs side by side in Python, with the claim of a report and the paired differences behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from formalimg._util.installing import import_pandas
from formalimg._util.text import visible
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.findings import claims

if TYPE_CHECKING:
    from pandas import DataFrame

    from formalimg.reports.paired_runs import RunPair

_COLUMNS = (
    "suite",
    "first",
    "second",
    "number",
    "by",
    "difference",
    "low",
    "high",
    "p",
    "adjusted_p",
    "is_certain",
    "items",
    "judge_difference",
)


@dataclass(frozen=True, repr=False)
class RunComparison:
    """Runs side by side; `Evaluation.compare` makes it. `print` shows who is ahead, by whom, and the table."""

    comparison: Comparison  # the numbers of the report

    @property
    def claims(self) -> list[str]:
        """Who is ahead, by whom and by how much, for each suite, followed by the differences that this rests on."""
        return [claim for section in self.comparison.sections for claim in claims(section, self.comparison)]

    def to_pandas(self) -> DataFrame:
        """Return one row for each pair of runs: `difference` is the first minus the second, from -1 to 1.

        `by` says who decides: people where both runs have labels, otherwise the judge.
        """
        rows = [
            {"suite": section.suite.name, **_row(pair)}
            for section in self.comparison.sections
            for pair in section.pairs
        ]
        frame: DataFrame = import_pandas().DataFrame(rows, columns=[*_COLUMNS])
        return frame

    def __str__(self) -> str:
        from formalimg.reports.report import render

        return render(self.comparison, "terminal")

    def __repr__(self) -> str:
        return visible(f"<RunComparison: {' '.join(self.claims[:1])}>", one_line=True)

    def _repr_html_(self) -> str:
        from formalimg.reports.results.notebook_html import comparison_html

        return comparison_html(self.comparison)


def _row(pair: RunPair) -> dict[str, object]:
    decided, judge = pair.found, pair.judge or pair.found
    low, high = decided.interval or (None, None)
    return {
        "first": pair.first,
        "second": pair.second,
        "number": pair.number,
        "by": pair.by,
        "difference": decided.estimate,
        "low": low,
        "high": high,
        "p": decided.p,
        "adjusted_p": decided.adjusted_p,
        "is_certain": pair.is_certain,
        "items": decided.items,
        "judge_difference": judge.estimate,
    }
