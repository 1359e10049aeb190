"""Render studies of agreement and human studies as text: terminal, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from formalimg.analysis.box_tables import box_study_rows, box_study_tables
from formalimg.analysis.boxes import BoxesStudied
from formalimg.analysis.consistency import ScoresStudied
from formalimg.analysis.consistency_tables import score_study_rows, score_study_tables
from formalimg.analysis.human_study import StudyOfPeople
from formalimg.analysis.judge_agreement import JudgesCompared
from formalimg.analysis.judge_agreement_tables import (
    judge_agreement_rows,
    judge_agreement_tables,
    score_agreement_rows,
    score_agreement_tables,
)
from formalimg.analysis.score_agreement import ScoresCompared
from formalimg.analysis.study_tables import CSV_COLUMNS, AgreementFormat, export_json, render_study, study_csv_text
from formalimg.analysis.vote_study import PeopleStudied
from formalimg.analysis.vote_tables import vote_study_rows, vote_study_tables
from formalimg.tables import Table, render_terminal

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

AgreementStudy: TypeAlias = JudgesCompared | ScoresCompared | PeopleStudied


def agreement_text(studies: Sequence[AgreementStudy], format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """Return studies of the agreement of judges and raters as text.

    Args:
        studies: results of `compare_judges`, `compare_scores` and `study_votes`.
        format: terminal and md: tables; csv: one line for each figure; json: everything.
    """
    keys = {"judges": JudgesCompared, "scores_of_judges": ScoresCompared, "people": PeopleStudied}
    return _render(studies, format, keys)


def agreement_table(studies: Sequence[AgreementStudy]) -> ConsoleRenderable:
    """Return studies of agreement as something that `rich` can print."""
    return render_terminal(table for study in studies for table in _tables(study))


def people_text(studies: Sequence[StudyOfPeople], format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """Return human studies as text.

    Args:
        studies: results of `study_people`, one for each judge.
        format: terminal and md: tables; csv: one line for each figure; json: everything.
    """
    return _render(studies, format, {"people": PeopleStudied, "scores": ScoresStudied, "boxes": BoxesStudied})


def people_table(studies: Sequence[StudyOfPeople]) -> ConsoleRenderable:
    """Return human studies as something that `rich` can print."""
    return render_terminal(table for study in studies for table in _tables(study))


def people_tables(study: StudyOfPeople) -> list[Table]:
    """Return the tables of a human study, its results first."""
    return list(_tables(study))


def _render(
    studies: Sequence[AgreementStudy | StudyOfPeople],
    format: AgreementFormat,  # noqa: A002  # what users call it
    keys: dict[str, type[AgreementStudy | StudyOfPeople]],
) -> str:
    return render_study(
        format,
        lambda: [table for study in studies for table in _tables(study)],
        lambda: study_csv_text(CSV_COLUMNS, (row for study in studies for row in _rows(study))),
        lambda: {key: [export_json(it) for it in studies if isinstance(it, kind)] for key, kind in keys.items()},
    )


def _tables(study: AgreementStudy | StudyOfPeople) -> Iterator[Table]:
    match study:
        case JudgesCompared():
            return judge_agreement_tables(study)
        case ScoresCompared():
            return score_agreement_tables(study)
        case PeopleStudied():
            return vote_study_tables(study)
        case ScoresStudied():
            return score_study_tables(study)
        case BoxesStudied():
            return box_study_tables(study)


def _rows(study: AgreementStudy | StudyOfPeople) -> Iterator[dict[str, object]]:
    match study:
        case JudgesCompared():
            return judge_agreement_rows(study)
        case ScoresCompared():
            return score_agreement_rows(study)
        case PeopleStudied():
            return vote_study_rows(study)
        case ScoresStudied():
            return score_study_rows(study)
        case BoxesStudied():
            return box_study_rows(study)
