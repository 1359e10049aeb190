"""What people say beside what the judge says: figures and tables of a study."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from formalimg.reporting.comparison import Section
from formalimg.reporting.html.markup import Markup, element, join
from formalimg.reporting.html.more_table import more_table
from formalimg.reporting.people import tables_of_people
from formalimg.reporting.tables import Table

if TYPE_CHECKING:
    from formalimg.analysis import StudyOfPeople
    from formalimg.reporting.drawings import Drawing


def people(study: StudyOfPeople, section: Section) -> Markup:
    """The results of a study, its figures side by side, then its other tables."""
    from formalimg.reporting.drawings import drawings_of_study  # here, so that other pages are made faster

    drawings = element("div", map(_drawing, drawings_of_study(study)), class_="drawings")
    tables = tables_of_people(study)
    results = [table for table in tables if table.folded is False]
    others = [table for table in tables if table.folded is not False]
    return join(_tables(results, section), drawings, _tables(others, section))


def _tables(tables: Sequence[Table], section: Section) -> Markup:
    return element("div", map(more_table, tables, repeat(section)), class_="studied")


def _drawing(drawing: Drawing) -> Markup:
    """A figure as an image of its own: it is drawn on white, for papers, and stays so in dark colours."""
    data = b64encode(drawing.svg("").encode()).decode("ascii")
    return element(
        "figure",
        element("img", src=f"data:image/svg+xml;base64,{data}", alt=drawing.title),
        element("figcaption", element("b", f"{drawing.title}. "), drawing.note),
        class_="drawing",
    )
