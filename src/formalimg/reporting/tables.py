"""Tables besides the main one: what each suite has to tell besides its rates."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from formalimg.stats import Interval, Rate

Form: TypeAlias = Literal["percent", "score", "difference", "share", "decimal", "dollars", "count"]
"""How a figure is written: 51.7 or 0.52 or +0.07 (with its interval behind), .52 ± .06, 12.3, $0.0038, or 1,234."""


class Figure(NamedTuple):
    """A number in a table, with all that is known of it.

    Attributes:
        value: the number; None where there is none. Percents, scores and shares are 0 to 1.
        form: how it is written.
        interval: where it probably lies.
        plus_minus: what is written behind the ±, where that is not the larger side of the interval.
        passed, scored, expected: the counts behind it, where it was counted.
    """

    value: float | None
    form: Form
    interval: Interval | None = None
    plus_minus: float | None = None
    passed: int | None = None
    scored: int | None = None
    expected: int | None = None

    @classmethod
    def of_rate(cls, rate: Rate, form: Form = "percent") -> Figure:
        """A rate as a figure."""
        return cls(rate.value, form, rate.interval, passed=rate.passed, scored=rate.scored, expected=rate.expected)

    @property
    def margin(self) -> float | None:
        """What is written behind the ±."""
        if self.plus_minus is not None or self.interval is None or self.value is None:
            return self.plus_minus
        return max(self.value - self.interval.low, self.interval.high - self.value)

    @property
    def is_incomplete(self) -> bool:
        """Were some of the images behind it not scored?"""
        counts = self.value is not None and self.scored is not None and self.expected is not None
        return counts and (self.scored or 0) < (self.expected or 0)


Cell: TypeAlias = str | Figure


class TableRow(NamedTuple):
    """One row of a table.

    Attributes:
        run: the run or the published model that it is about; empty if it is about the items alone.
        cells: as many as the table has heads.
        model, judge: the model and the judge of published figures; empty for runs.
    """

    run: str
    cells: tuple[Cell, ...]
    model: str = ""
    judge: str = ""

    @property
    def published(self) -> bool:
        """Are these the figures of somebody else?"""
        return bool(self.model)


class Table(NamedTuple):
    """A table with its title.

    Attributes:
        name: the title in short, for files and lists.
        title: what the table tells.
        note: how its figures were made.
        heads: what its columns are; those of words come before those of figures.
        rows: the rows, in order.
        folded: whether pages show it only when it is asked for; None if that depends on its length.
    """

    name: str
    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]
    folded: bool | None = None


def exported_label(text: str) -> str:
    """Return a label as CSV and JSON files have it: they keep the word of earlier versions, so that scripts go on."""
    return text.replace("image", "picture")
