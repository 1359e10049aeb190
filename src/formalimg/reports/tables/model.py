"""The table model: typed columns, rows of cells, notes, and the placement of the table in a document."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple, Protocol, TypeAlias

from formalimg.stats.observations import Interval
from formalimg.types import Table

ColumnType: TypeAlias = Literal[
    "text",  # as it is
    "percent",  # 51.7 (48.0–55.4), of a value 0 to 1
    "score",  # 0.52 (0.48–0.55)
    "number",  # 0.52 (0.48 to 0.55), such as kappa, which may be negative
    "difference",  # +0.07 (−0.01 to +0.12)
    "p",  # 0.031, < 0.001: a p-value
    "points",  # +3.5 (−1.2 to +8.0): a difference of percents, of values 0 to 1
    "steps",  # +3: a difference of levels
    "share",  # .52 ± .06
    "decimal",  # 12.3
    "dollars",  # $0.0038
    "count",  # 1,234
    "level",  # 4 (3–5)
    "rank",  # 2, or 1–3 where the number is tied: the ends of its interval
    "scored",  # 198/200: the counts of the number, not its value
]
# Where a table belongs: among the results, below them, where it is looked up, or in files for programs alone
Placement: TypeAlias = Literal["result", "more", "detail", "data"]


class _Estimate(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def interval(self) -> Interval | None: ...


class Number(NamedTuple):
    """A number in a table, with its interval and counts."""

    value: float | None  # None if unknown. Percents, scores and shares are 0 to 1
    interval: Interval | None = None  # its confidence interval
    margin: float | None = None  # what follows the ±, where it is not the larger side of the interval
    passed: int | None = None  # the counts behind it
    scored: int | None = None
    expected: int | None = None
    coverage: float | None = None  # the share of images that were scored, where it does not follow from the counts
    digits: int | None = None  # the decimals of a percent that was printed with others than one
    # the lowest and the highest that it can be, whatever the missing verdicts are, where the counts do not say it
    bounds: Interval | None = None

    @classmethod
    def of(cls, estimate: _Estimate | None) -> Number:
        """Return a statistic (`Rate`, `Band`, `MeanScore`, `Share`, …) as a number, with its interval and counts."""
        if estimate is None:
            return cls(None)
        passed, scored, expected = (getattr(estimate, name, None) for name in ("passed", "scored", "expected"))
        coverage = getattr(estimate, "coverage", None) if scored is None else None
        bounds = getattr(estimate, "bounds", None)
        return cls(estimate.value, estimate.interval, None, passed, scored, expected, coverage, bounds=bounds)

    @property
    def plus_minus(self) -> float | None:
        """The half-width shown after ±."""
        if self.margin is not None or self.interval is None or self.value is None:
            return self.margin
        return max(self.value - self.interval.low, self.interval.high - self.value)

    @property
    def is_incomplete(self) -> bool:
        """Whether some of the images behind the number were not scored."""
        if self.value is None:
            return False
        if self.coverage is not None:
            return self.coverage < 1
        return self.scored is not None and self.expected is not None and self.scored < self.expected

    def missing_bounds(self, column: Column) -> Interval | None:
        """Return the value if all missing verdicts failed and if all passed, or None if none is missing."""
        if self.value is None or not self.is_incomplete or column.type == "count":
            return None
        if self.bounds is not None or column.type not in ("percent", "share"):
            return self.bounds
        if self.passed is None or self.scored is None or not self.expected or self.coverage is not None:
            return None
        return Interval(self.passed / self.expected, (self.passed + self.expected - self.scored) / self.expected)


Cell: TypeAlias = str | float | Number | None  # A text, or a number with or without its interval; None is unknown


class Column(NamedTuple):
    """A column of a table."""

    head: str  # the heading
    type: ColumnType = "text"  # how its cells are written
    unit: str = ""  # the unit of its numbers, where the type does not say it; it follows the heading in brackets
    align: Literal["left", "right"] | None = None  # by default texts are left and numbers right
    # whether intervals follow the numbers, or only where there is room, rounded outwards (`compact`), or never
    interval: Literal["full", "compact", "none"] = "full"
    short: str = ""  # the heading under that of its group, such as `3` for `K 3`
    group: str = ""  # the heading over this column and its neighbours of the same group
    subscript: str = ""  # what follows the heading as a subscript
    starts: bool = False  # whether some space separates it from the column before
    # what its numbers are called in CSV files; by default the table's name, and the row's texts with the heading
    figure: str = ""
    name: str = ""

    @property
    def is_text(self) -> bool:
        """Whether the cells are text."""
        return self.type == "text"

    @property
    def is_left(self) -> bool:
        """Whether the column is left-aligned."""
        return (self.align or ("left" if self.is_text else "right")) == "left"

    @property
    def title(self) -> str:
        """The heading as plain text, with subscript and unit."""
        return f"{self.head}{self.subscript}" + (f" ({self.unit})" if self.unit else "")

    @property
    def needs_group(self) -> bool:
        """Whether the short heading is only clear below the heading of its group."""
        return bool(self.group and self.short and self.short != self.head)


class TableRow(NamedTuple):
    """One row of a table."""

    cells: tuple[Cell, ...]  # one for each column
    run: str = ""  # the run or published model it is about; empty if it is about none
    model: str = ""  # the model and the judge of published numbers; empty for runs
    judge: str = ""
    title: str = ""  # an explanation that HTML pages show with the first cell
    is_baseline: bool = False  # whether the run marks the ceiling or the floor of the others

    @property
    def is_published(self) -> bool:
        """Whether the numbers come from a publication."""
        return bool(self.model)


def as_number(cell: Cell, column: Column) -> Number | None:
    """Return a cell as a number, or None for text."""
    if isinstance(cell, Number):
        return cell
    return None if isinstance(cell, str) or column.is_text else Number(cell)


def count_front_columns(table: Table) -> int:
    """Return the number of leading text columns, which identify a row."""
    return next((n for n, column in enumerate(table.columns) if not column.is_left), len(table.columns))


def number_in(table: Table, row: TableRow, column: int) -> Number | None:
    """Return a cell of a table as a number, or None for text."""
    return as_number(row.cells[column], table.columns[column])


def is_incomplete(table: Table) -> bool:
    """Return whether any number is marked as incomplete because some of its images were not scored."""
    return any(
        number.is_incomplete
        for row in table.rows
        for n, column in enumerate(table.columns)
        if column.type != "scored" and (number := number_in(table, row, n)) is not None
    )


def starts_published(table: Table, row: int) -> bool:
    """Return whether `row` is the first published row below others."""
    return row > 0 and table.rows[row].is_published and not table.rows[row - 1].is_published


def starts_part(table: Table, row: int) -> bool:
    """Return whether `row` is the first baseline or the first published row below others."""
    parts = [(neighbour.is_published, neighbour.is_baseline) for neighbour in table.rows[max(0, row - 1) : row + 1]]
    return len(set(parts)) > 1


def baselines_last(table: Table) -> Table:
    """Return the table with baselines moved below the other runs, but above published rows."""
    return replace(table, rows=tuple(sorted(table.rows, key=lambda row: (row.is_published, row.is_baseline))))
