"""What comes of comparing judges and people, figure by figure: for spreadsheets, and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from formalimg.analysis.box_tables import figures_of_boxes, tables_of_boxes
from formalimg.analysis.boxes import BoxesStudied
from formalimg.analysis.consistency import ScoresStudied
from formalimg.analysis.consistency_tables import figures_of_scores_of_people, tables_of_scores
from formalimg.analysis.human_study import StudyOfPeople
from formalimg.analysis.judge_agreement import JudgesCompared
from formalimg.analysis.judge_agreement_tables import (
    figures_of_judges,
    figures_of_scores,
    tables_of_judges,
    tables_of_two_scores,
)
from formalimg.analysis.score_agreement import ScoresCompared
from formalimg.analysis.study_tables import (
    COLUMNS,
    AgreementFormat,
    AgreementTable,
    plain,
    rows_as_csv,
    study_as,
    tables_shown,
)
from formalimg.analysis.vote_study import PeopleStudied
from formalimg.analysis.vote_tables import figures_of_people, tables_of_people

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


def agreement_csv(studies: Iterable[JudgesCompared | ScoresCompared | PeopleStudied]) -> str:
    """One line for each figure; what is not known or does not apply is empty."""
    return rows_as_csv(COLUMNS, (row for study in studies for row in _rows(study)))


def _rows(study: JudgesCompared | ScoresCompared | PeopleStudied) -> Iterator[dict[str, object]]:
    match study:
        case JudgesCompared():
            return figures_of_judges(study)
        case ScoresCompared():
            return figures_of_scores(study)
        case PeopleStudied():
            return figures_of_people(study)


Studies: TypeAlias = Sequence[JudgesCompared | ScoresCompared | PeopleStudied]


def agreement_text(studies: Studies, format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """What judges and people say about each other, as a text.

    Args:
        studies: what `compare_judges`, `compare_scores` and `study_votes` gave back.
        format: terminal and md: tables; csv: one line for each figure; json: everything.
    """
    return study_as(format, lambda: _tables(studies), lambda: agreement_csv(studies), lambda: _agreement_data(studies))


def agreement_table(studies: Studies) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    return tables_shown(_tables(studies))


def _agreement_data(studies: Studies) -> object:
    return {
        "judges": [plain(study) for study in studies if isinstance(study, JudgesCompared)],
        "scores_of_judges": [plain(study) for study in studies if isinstance(study, ScoresCompared)],
        "people": [plain(study) for study in studies if isinstance(study, PeopleStudied)],
    }


def _tables(studies: Studies) -> Iterator[AgreementTable]:
    for study in studies:
        match study:
            case JudgesCompared():
                yield from tables_of_judges(study)
            case ScoresCompared():
                yield from tables_of_two_scores(study)
            case PeopleStudied():
                yield from tables_of_people(study)


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
        lambda: _study_data(studies),
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


def _study_data(studies: Sequence[StudyOfPeople]) -> object:
    return {
        "people": [plain(study) for study in studies if isinstance(study, PeopleStudied)],
        "scores": [plain(study) for study in studies if isinstance(study, ScoresStudied)],
        "boxes": [plain(study) for study in studies if isinstance(study, BoxesStudied)],
    }
