"""Figures, counts and names as they are written in the tables of studies."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from formalimg.analysis.judge_agreement import Fraction
from formalimg.stats import Consistency, Correlation, Estimate, Interval, MeanConsistency, Rate, Reliability, Share

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


NOTHING = "–"
"""Stands where there is no figure."""


def percent(value: float | None) -> str:
    """A share in percent, such as 86.5."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def percent_with_interval(figure: Rate | Fraction | Consistency | Share | Estimate) -> str:
    """A share in percent with its interval, such as 86.5 (81.0–90.6)."""
    bounds: Interval | None = figure.interval
    text = percent(figure.value)
    return text if bounds is None else f"{text} ({percent(bounds.low)}–{percent(bounds.high)})"


def number_with_interval(figure: Reliability | Correlation | None, digits: int = 2) -> str:
    """A number with its interval, such as 0.87 (0.81 to 0.91)."""
    if figure is None or figure.value is None:
        return NOTHING
    bounds = figure.interval
    text = f"{figure.value:.{digits}f}"
    return text if bounds is None else f"{text} ({bounds.low:.{digits}f} to {bounds.high:.{digits}f})"


def counted(count: int, word: str) -> str:
    """A number with its noun: `1 vote`, `2,000 votes`."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def alike_told(raters: Sequence[str]) -> str:
    """A warning, with a blank in front, if names of raters differ only in case; empty if none do."""
    by_letters: dict[str, list[str]] = {}
    for rater in sorted(raters):
        by_letters.setdefault(rater.casefold(), []).append(rater)
    alike = [" and ".join(names) for names in by_letters.values() if len(names) > 1]
    return f" Names that differ only in case are taken for different people: {', '.join(alike)}." if alike else ""


_Figure = TypeVar("_Figure")


Place: TypeAlias = Literal["result", "more", "detail"]
"""Where a table belongs: among what a study was made for, besides, or where it is looked up."""


class AgreementTable(NamedTuple):
    """A table.

    Attributes:
        title: what it tells.
        note: what has to be known to read it.
        heads: the heads of its columns.
        rows: as many cells as there are heads, each.
        place: where it belongs. Results come first; pages fold details away.
    """

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    place: Place = "more"


Agreements: TypeAlias = Iterable[tuple[str, Consistency]]
"""Figures with their names."""


def agreements(title: str, note: str, figures: Agreements) -> AgreementTable:
    """A table of agreements, with kappa and with how many cases went in and how many did not."""
    rows = []
    for name, it in figures:
        kappa = NOTHING if it.kappa is None else f"{it.kappa:.2f}"
        rows.append((name, percent_with_interval(it), kappa, str(it.n), str(it.left_out)))
    return AgreementTable(title, note, ("", "agree", "kappa", "n", "left out"), tuple(rows))


def intervals_told(confidence: float) -> str:
    """What stands behind figures."""
    return f"with {100 * confidence:g} % intervals"


def by_level(figures: Mapping[int, _Figure], level: str) -> list[tuple[str, _Figure]]:
    """Figures with the names of their levels."""
    return [(f"{level} {at}", figure) for at, figure in figures.items()]


AgreementFormat: TypeAlias = Literal["terminal", "md", "csv", "json"]
"""The formats of studies."""

_WIDTH = 100


def tables_shown(tables: Iterable[AgreementTable]) -> ConsoleRenderable:
    """Tables as something that `rich` can print."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown: list[Table | Text] = []
    for found in tables:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for number, head in enumerate(found.heads):
            words = any(re.search(r"[^\W\d]{2}", row[number]) for row in found.rows)
            # Names that are cut off look all the same, so they go on in the next line.
            table.add_column(
                Text(head),
                justify="left" if words or not number else "right",
                overflow="fold",
                min_width=max(map(len, head.split()), default=None),
            )
        for row in found.rows:
            table.add_row(*map(Text, row))
        shown += [Text(found.title, style="bold"), table, Text(f"{found.note}\n", style="dim")]
    return Group(*shown)


def tables_text(tables: Iterable[AgreementTable]) -> str:
    """Tables as plain text."""
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=_WIDTH, color_system=None, force_terminal=False).print(tables_shown(tables))
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines()) + "\n"


def tables_markdown(tables: Iterable[AgreementTable]) -> str:
    """Tables as Markdown."""
    return "\n".join(map(_markdown, tables))


def study_as(
    format: AgreementFormat,  # noqa: A002  # what users call it
    tables: Callable[[], Iterable[AgreementTable]],
    as_csv: Callable[[], str],
    data: Callable[[], object],
) -> str:
    """A study as a text; only what the format needs is made.

    Args:
        format: terminal and md take the tables, csv the figures, json the data.
        tables: makes the tables.
        as_csv: makes the figures, one on each line.
        data: makes everything, as plain data.
    """
    match format:
        case "md":
            return tables_markdown(tables())
        case "csv":
            return as_csv()
        case "json":
            return json.dumps(data(), indent=2, ensure_ascii=False) + "\n"
        case "terminal":
            return tables_text(tables())


def rows_as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """One line for each row; what a row does not have is empty."""
    page = io.StringIO()
    table = csv.DictWriter(page, columns, lineterminator="\n")
    table.writeheader()
    # Exported files keep the word of earlier versions in the column `of`, so that scripts that read them go on.
    table.writerows({**row, "of": str(row["of"]).replace("image", "picture")} if "of" in row else row for row in rows)
    return page.getvalue()


def named(names: Sequence[str], shown: int = 5) -> str:
    """How many there are, and the first of them by name; empty if there are none."""
    if not names:
        return "none"
    more = f" … ({len(names)})" if len(names) > shown else ""
    return f"{', '.join(names[:shown])}{more}"


def _markdown(table: AgreementTable) -> str:
    lines = [table.heads, ("---", *["---:"] * (len(table.heads) - 1)), *table.rows]
    rows = [f"| {' | '.join(_escaped(cell) if cell[:3] != '---' else cell for cell in line)} |" for line in lines]
    return "\n".join([f"## {_escaped(table.title)}", "", *rows, "", _escaped(table.note), ""])


def _escaped(text: str) -> str:
    """Names may hold anything; what would be markup is written so that it is not."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", text)


COLUMNS = (
    "figure",
    "of",
    "run",
    "first",
    "second",
    "level",
    "kind",
    "value",
    "low",
    "high",
    "n",
    "left_out",
    "kappa",
)
"""What each line tells: which figure, of what (images or questions), for whom, for which part; shares are 0 to 1."""


def numbers(
    figure: Rate | Fraction | Consistency | MeanConsistency | Correlation | Reliability | Share | Estimate,
) -> dict[str, object]:
    """A figure's value, interval and counts, by column."""
    found: dict[str, object] = {"value": figure.value}
    match figure:
        case Rate():
            found |= {"n": figure.scored, "left_out": figure.expected - figure.scored}
        case MeanConsistency():
            return found | {"n": figure.pairs, "left_out": figure.left_out}
        case Share():
            found |= {"n": figure.n}
        case Estimate():
            pass
        case _:
            found |= {"n": figure.n, "left_out": figure.left_out}
    if isinstance(figure, Consistency):
        found["kappa"] = figure.kappa
    if figure.interval is not None:
        found |= {"low": figure.interval.low, "high": figure.interval.high}
    return found


def _exported(field: str) -> str:
    """Return the key of a field in exported JSON, which keeps the names of earlier exports."""
    return {"images": "pictures", "without_image": "without_picture", "objects": "things"}.get(field, field)


def plain(value: object) -> object:
    """Any result of a study as plain data, for JSON: named fields become keys, and so do levels."""
    if is_dataclass(value) and not isinstance(value, type):
        return {_exported(field.name): plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {_exported(name): plain(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {"all" if key is None else str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value
