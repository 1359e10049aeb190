"""One door to all formats."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from formalimg.errors import FormalimgError
from formalimg.reporting.comparison import Comparison
from formalimg.reporting.data import json_text
from formalimg.reporting.formats import Format
from formalimg.reporting.html import html_page
from formalimg.reporting.latex import latex
from formalimg.reporting.latex_tables import latex_tables
from formalimg.reporting.markdown import markdown
from formalimg.reporting.people import figures_of_people, tables_of_people
from formalimg.reporting.terminal import terminal_text
from formalimg.reporting.tidy import COLUMNS, tidy_csv

if TYPE_CHECKING:
    from formalimg.analysis import StudyOfPeople


def render(
    comparison: Comparison,
    format: Format,  # noqa: A002  # what users call it
    *,
    details: bool = False,
    studied: Sequence[StudyOfPeople] = (),
) -> str:
    """The comparison as text in a format.

    Args:
        comparison: what `compare` gave back.
        format: `terminal` (as wide as the terminal), `md`, `latex` (booktabs), `csv` (one line per run and figure),
            `json` (everything), or `html` (one page, without images; `write_html` adds them).
        details: whether a terminal shows the tables besides the main one too; the other formats always have them.
        studied: what people say about the images, as `formalimg.analysis.study_people` gave it back.
    """
    match format:
        case "terminal":
            return "\n".join([terminal_text(comparison, details=details), *_in_terminal(studied)])
        case "md":
            return "\n".join([markdown(comparison), *_in_markdown(studied)])
        case "latex":
            tables = (piece for study in studied for table in tables_of_people(study) for piece in latex_tables(table))
            return "\n".join([latex(comparison), *tables])
        case "csv":
            return tidy_csv(comparison) + _lines(studied)
        case "json":
            return _with_people(json_text(comparison), studied)
        case "html":
            return html_page(comparison, studied=studied)
    raise FormalimgError(f"unknown format {format!r}: use one of {', '.join(get_args(Format))}")


def _in_terminal(studied: Sequence[StudyOfPeople]) -> list[str]:
    return ["Compared with people\n", _people(studied, "terminal")] if studied else []


def _in_markdown(studied: Sequence[StudyOfPeople]) -> list[str]:
    """The tables of people under a heading of their own, and their own headings one step below it."""
    if not studied:
        return []
    return ["## Compared with people\n", re.sub("^## ", "### ", _people(studied, "md"), flags=re.MULTILINE)]


def _lines(studied: Sequence[StudyOfPeople]) -> str:
    page = io.StringIO()
    table = csv.DictWriter(page, COLUMNS, lineterminator="\n")
    table.writerows(line for study in studied for line in figures_of_people(study))
    return page.getvalue()


def _with_people(data: str, studied: Sequence[StudyOfPeople]) -> str:
    if not studied:
        return data
    whole = {**json.loads(data), "compared_with_people": json.loads(_people(studied, "json"))}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _people(studied: Sequence[StudyOfPeople], as_: Literal["terminal", "md", "json"]) -> str:
    from formalimg.analysis import people_text  # here, so that other reports are made faster

    return people_text(studied, as_)
