"""Studies as texts: tables in Markdown or as wide as a terminal, CSV, or JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from formalimg.analysis.agreement_tables import AgreementTable

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

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
