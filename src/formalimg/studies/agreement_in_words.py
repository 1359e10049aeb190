"""Studies of agreement as texts: Markdown, CSV, JSON, or tables for the terminal."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from formalimg.studies.agreement_figures import agreement_csv, plain
from formalimg.studies.agreement_tables import AgreementTable, tables_of_judges, tables_of_people
from formalimg.studies.judges_compared import JudgesCompared
from formalimg.studies.people import PeopleStudied

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

Studies: TypeAlias = Sequence[JudgesCompared | PeopleStudied]
AgreementFormat: TypeAlias = Literal["terminal", "md", "csv", "json"]


def agreement_text(studies: Studies, format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """What judges and people say about each other, as a text.

    Args:
        studies: what `compare_judges` and `study_votes` gave back.
        format: terminal and md: tables; csv: one line for each figure; json: everything.
    """
    match format:
        case "md":
            return "\n".join(map(_markdown, _tables(studies)))
        case "csv":
            return agreement_csv(studies)
        case "json":
            found = {
                "judges": [plain(study) for study in studies if isinstance(study, JudgesCompared)],
                "people": [plain(study) for study in studies if isinstance(study, PeopleStudied)],
            }
            return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
        case "terminal":
            return _plain_text(studies)


def agreement_table(studies: Studies) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown: list[Table | Text] = []
    for found in _tables(studies):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for number, head in enumerate(found.heads):
            words = any(re.search(r"[^\W\d]{2}", row[number]) for row in found.rows)
            table.add_column(Text(head), justify="left" if words or not number else "right")
        for row in found.rows:
            table.add_row(*map(Text, row))
        shown += [Text(found.title, style="bold"), table, Text(f"{found.note}\n", style="dim")]
    return Group(*shown)


def _tables(studies: Studies) -> Iterator[AgreementTable]:
    for study in studies:
        yield from tables_of_judges(study) if isinstance(study, JudgesCompared) else tables_of_people(study)


def _plain_text(studies: Studies) -> str:
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=100, color_system=None, force_terminal=False).print(agreement_table(studies))
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines()) + "\n"


def _markdown(table: AgreementTable) -> str:
    lines = [table.heads, ("---", *["---:"] * (len(table.heads) - 1)), *table.rows]
    rows = [f"| {' | '.join(_escaped(cell) if cell[:3] != '---' else cell for cell in line)} |" for line in lines]
    return "\n".join([f"## {_escaped(table.title)}", "", *rows, "", _escaped(table.note), ""])


def _escaped(text: str) -> str:
    """Names may hold anything; what would be markup is written so that it is not."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", text)
