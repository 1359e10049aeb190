"""Studies of agreement as texts: Markdown, CSV, JSON, or tables for the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from formalimg.studies.agreement_figures import agreement_csv, plain
from formalimg.studies.agreement_tables import AgreementTable, tables_of_judges, tables_of_people
from formalimg.studies.judges_compared import JudgesCompared
from formalimg.studies.people import PeopleStudied
from formalimg.studies.tables_in_words import tables_markdown, tables_shown, tables_text

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
            return tables_markdown(_tables(studies))
        case "csv":
            return agreement_csv(studies)
        case "json":
            found = {
                "judges": [plain(study) for study in studies if isinstance(study, JudgesCompared)],
                "people": [plain(study) for study in studies if isinstance(study, PeopleStudied)],
            }
            return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
        case "terminal":
            return tables_text(_tables(studies))


def agreement_table(studies: Studies) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    return tables_shown(_tables(studies))


def _tables(studies: Studies) -> Iterator[AgreementTable]:
    for study in studies:
        yield from tables_of_judges(study) if isinstance(study, JudgesCompared) else tables_of_people(study)
