"""Entry points of studies: analyse human ratings of any kind, and render studies as terminal, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from formalimg.analysis.attention import Conduct
from formalimg.analysis.box_tables import box_study_rows, box_study_tables
from formalimg.analysis.boxes import BoxesStudied, Correction, study_boxes
from formalimg.analysis.consistency import ScoresStudied, study_scores
from formalimg.analysis.consistency_tables import score_study_rows, score_study_tables
from formalimg.analysis.human_ratings import PointsGiven, Rating, Vote
from formalimg.analysis.judge_agreement import JudgesCompared
from formalimg.analysis.judge_agreement_tables import (
    judge_agreement_rows,
    judge_agreement_tables,
    score_agreement_rows,
    score_agreement_tables,
)
from formalimg.analysis.score_agreement import ScoresCompared
from formalimg.analysis.study_tables import CSV_COLUMNS, AgreementFormat, export_json, render_study, study_csv_text
from formalimg.analysis.vote_study import PeopleStudied, study_likert, study_votes
from formalimg.analysis.vote_tables import vote_study_rows, vote_study_tables
from formalimg.errors import FormalimgError
from formalimg.judges import MIN_OVERLAP
from formalimg.runs import StoredRun
from formalimg.scenes import Scene
from formalimg.stats import ScoreProfile
from formalimg.tables import Table, render_terminal

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


StudyOfPeople: TypeAlias = PeopleStudied | ScoresStudied | BoxesStudied
"""The result of a human study, by kind of rating: votes or Likert ratings, scores, or boxes."""


@dataclass(frozen=True)
class HumanRatings:
    """The ratings of a human study; exactly one kind is present.

    Attributes:
        votes: yes and no.
        points: Likert ratings, 1 to 5.
        scores: from 0 to 1.
        corrections: corrected boxes.
        conduct: progress and attention checks of the raters; None if unknown.
    """

    votes: Sequence[Vote] = ()
    points: Sequence[PointsGiven] = ()
    scores: Sequence[Rating] = ()
    corrections: Sequence[Correction] = ()
    conduct: Conduct | None = None


def study_people(
    ratings: HumanRatings,
    runs: Sequence[StoredRun],
    *,
    iou: float = MIN_OVERLAP,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
) -> StudyOfPeople:
    """Compare human ratings between raters, and with the judges of the rated runs.

    Args:
        ratings: the ratings.
        runs: runs of one suite, each opened with the judge to compare with.
        iou: for boxes, the intersection over union from which boxes match.
        profile: for scores, `official-code` gives each question its full weight.
        confidence: of all intervals.

    Raises:
        VotesError, RatingsError: if ratings do not fit the runs.
        FormalimgError: if there are no ratings, or the runs do not belong together.
    """
    found: StudyOfPeople
    if ratings.votes:
        found = study_votes(ratings.votes, runs, confidence=confidence)
    elif ratings.points:
        found = study_likert(ratings.points, runs, confidence=confidence)
    elif ratings.scores:
        found = study_scores(ratings.scores, runs, profile=profile, confidence=confidence)
    elif ratings.corrections:
        judges = {run.folder.name: name for run in runs if (name := _grounder(run, ratings.corrections))}
        found = study_boxes(ratings.corrections, runs[0].manifest.suite, judges=judges, iou=iou, confidence=confidence)
    else:
        raise FormalimgError("nobody has finished an image yet: let raters answer first")
    return replace(found, attention=ratings.conduct)


def _grounder(run: StoredRun, corrections: Sequence[Correction]) -> str:
    """Return the judge of a run if its boxes are those that raters were shown; empty if they are another's."""
    shown = {(it.item, it.sample): it.found for it in corrections if it.run == run.folder.name}
    if run.manifest.judge is None or not shown:
        return ""
    for judged in run.judged(list(shown)):
        scene = judged.verdict.evidence.get("scene")
        if shown[judged.outcome.item, judged.outcome.sample] != (None if scene is None else Scene.from_json(scene)):
            return ""
    return run.manifest.judge.name


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
