"""Studies of people as texts, whatever they were asked: Markdown, CSV, JSON, or tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from formalimg.analysis.agreement_figures import plain
from formalimg.analysis.agreement_tables import AgreementTable
from formalimg.analysis.boxes_in_words import figures_of_boxes, tables_of_boxes
from formalimg.analysis.boxes_studied import BoxesStudied
from formalimg.analysis.consistency_in_words import tables_of_scores
from formalimg.analysis.consistency_study import ScoresStudied
from formalimg.analysis.figure_rows import COLUMNS
from formalimg.analysis.human_ratings import StudyOfPeople
from formalimg.analysis.people import PeopleStudied
from formalimg.analysis.people_figures import figures_of_people
from formalimg.analysis.scores_of_people_in_words import figures_of_scores_of_people
from formalimg.analysis.tables_in_words import AgreementFormat, rows_as_csv, study_as, tables_shown
from formalimg.analysis.vote_tables import tables_of_people

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


def people_text(studies: Sequence[StudyOfPeople], format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """What people say about each other and about judges, as a text.

    Args:
        studies: what `study_people` gave back, one for each judge.
        format: terminal and md: tables; csv: one line for each figure; json: everything.
    """
    return study_as(
        format,
        lambda: [table for study in studies for table in people_tables(study)],
        lambda: rows_as_csv(COLUMNS, (row for study in studies for row in _figures(study))),
        lambda: _data(studies),
    )


def people_table(studies: Sequence[StudyOfPeople]) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    return tables_shown(table for study in studies for table in people_tables(study))


def people_tables(study: StudyOfPeople) -> list[AgreementTable]:
    """A study of people as tables of words."""
    match study:
        case PeopleStudied():
            return list(tables_of_people(study))
        case ScoresStudied():
            return list(tables_of_scores(study))
        case BoxesStudied():
            return list(tables_of_boxes(study))


def _figures(study: StudyOfPeople) -> Iterator[dict[str, object]]:
    match study:
        case PeopleStudied():
            return figures_of_people(study)
        case ScoresStudied():
            return figures_of_scores_of_people(study)
        case BoxesStudied():
            return figures_of_boxes(study)


def _data(studies: Sequence[StudyOfPeople]) -> object:
    return {
        "people": [plain(study) for study in studies if isinstance(study, PeopleStudied)],
        "scores": [plain(study) for study in studies if isinstance(study, ScoresStudied)],
        "boxes": [plain(study) for study in studies if isinstance(study, BoxesStudied)],
    }
