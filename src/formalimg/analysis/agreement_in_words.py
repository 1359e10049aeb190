"""Studies of agreement as texts: Markdown, CSV, JSON, or tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from formalimg.analysis.agreement_figures import agreement_csv, plain
from formalimg.analysis.agreement_tables import AgreementTable, tables_of_judges
from formalimg.analysis.judges_compared import JudgesCompared
from formalimg.analysis.people import PeopleStudied
from formalimg.analysis.scores_compared import ScoresCompared
from formalimg.analysis.scores_compared_tables import tables_of_two_scores
from formalimg.analysis.tables_in_words import AgreementFormat, study_as, tables_shown
from formalimg.analysis.vote_tables import tables_of_people

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

Studies: TypeAlias = Sequence[JudgesCompared | ScoresCompared | PeopleStudied]


def agreement_text(studies: Studies, format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """What judges and people say about each other, as a text.

    Args:
        studies: what `compare_judges`, `compare_scores` and `study_votes` gave back.
        format: terminal and md: tables; csv: one line for each figure; json: everything.
    """
    return study_as(format, lambda: _tables(studies), lambda: agreement_csv(studies), lambda: _data(studies))


def agreement_table(studies: Studies) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    return tables_shown(_tables(studies))


def _data(studies: Studies) -> object:
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
