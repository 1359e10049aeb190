"""Entry points of studies: analyse human ratings of any kind, and render studies as terminal, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.attention import RaterAttentionSummary
from formalimg.human_eval.agreement.box_tables import box_study_rows, box_study_tables
from formalimg.human_eval.agreement.boxes import BoxCorrection, BoxStudy, study_boxes
from formalimg.human_eval.agreement.consistency import HumanScoreStudy
from formalimg.human_eval.agreement.consistency_tables import score_study_rows, score_study_tables
from formalimg.human_eval.agreement.human_ratings import LikertRating, Rating, Vote
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement
from formalimg.human_eval.agreement.judge_agreement_tables import (
    judge_agreement_rows,
    judge_agreement_tables,
    score_agreement_rows,
    score_agreement_tables,
)
from formalimg.human_eval.agreement.own_studies import find_study
from formalimg.human_eval.agreement.preference_tables import preference_study_rows, preference_study_tables
from formalimg.human_eval.agreement.preferences import Preference, PreferenceStudy, study_preferences
from formalimg.human_eval.agreement.score_agreement import JudgeScoreAgreement
from formalimg.human_eval.agreement.study_tables import (
    CSV_COLUMNS,
    StudyFormat,
    export_json,
    render_study,
    study_csv_text,
)
from formalimg.human_eval.agreement.vote_study import VoteStudy, study_likert, study_votes
from formalimg.human_eval.agreement.vote_tables import vote_study_rows, vote_study_tables
from formalimg.judges.boxes import MIN_OVERLAP
from formalimg.reports.tables.terminal import render_terminal
from formalimg.runs.reader import StoredRun
from formalimg.scenes.scene import Scene
from formalimg.stats.agreement import ComplianceRule
from formalimg.stats.observations import Profile
from formalimg.types import RunRecord, Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


HumanStudy: TypeAlias = VoteStudy | HumanScoreStudy | BoxStudy | PreferenceStudy
"""The result of a human study, by kind of rating: votes or Likert ratings, scores, boxes, or preferences."""


@dataclass(frozen=True)
class HumanRatings:
    """The ratings of a human study; exactly one kind is present.

    Attributes:
        votes: yes and no.
        points: Likert ratings, 1 to 5.
        scores: from 0 to 1.
        corrections: corrected boxes.
        preferences: which of two images is better.
        attention: progress and attention checks of the raters; None if unknown.
        rule: how Likert ratings of an image become a label.
    """

    votes: Sequence[Vote] = ()
    points: Sequence[LikertRating] = ()
    scores: Sequence[Rating] = ()
    corrections: Sequence[BoxCorrection] = ()
    preferences: Sequence[Preference] = ()
    attention: RaterAttentionSummary | None = None
    rule: ComplianceRule = "majority"


def study_human_ratings(
    ratings: HumanRatings,
    runs: Sequence[StoredRun],
    *,
    iou: float = MIN_OVERLAP,
    profile: Profile = "paper",
    confidence: float = 0.95,
) -> HumanStudy:
    """Compare human ratings between raters, and with the judges of the rated runs.

    Args:
        ratings: the ratings.
        runs: runs of one suite, each opened with the judge to compare with.
        iou: for boxes, the intersection over union from which boxes match.
        profile: for scores, `official-code` gives each question its full weight; for ratings, it counts images without
            a verdict as 0 where published code does so.
        confidence: of all intervals.

    Raises:
        VotesError, RatingsError: if ratings do not fit the runs.
        FormalimgError: if there are no ratings, or the runs do not belong together.
    """
    found: HumanStudy
    if ratings.votes:
        found = study_votes(ratings.votes, runs, confidence=confidence)
    elif ratings.points:
        found = study_likert(ratings.points, runs, rule=ratings.rule, profile=profile, confidence=confidence)
    elif ratings.scores:
        found = study_human_scores(ratings.scores, runs, profile=profile, confidence=confidence)
    elif ratings.corrections:
        judges = {run.folder.name: name for run in runs if (name := _grounder(run, ratings.corrections))}
        found = study_boxes(ratings.corrections, runs[0].manifest.suite, judges=judges, iou=iou, confidence=confidence)
    elif ratings.preferences:
        found = study_preferences(ratings.preferences, runs, confidence=confidence)
    else:
        raise FormalimgError("nobody has finished an image yet: let raters answer first")
    return replace(found, attention=ratings.attention)


def study_human_scores(
    scores: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: Profile = "paper",
    confidence: float = 0.95,
) -> HumanScoreStudy:
    """Compare the scores of raters with those of the judge of the runs, by the rules of their suite."""
    study = find_study("human scores", (run.manifest.suite for run in runs))
    found: HumanScoreStudy = study.make(scores, runs, profile=profile, confidence=confidence)
    return found


def _grounder(run: StoredRun, corrections: Sequence[BoxCorrection]) -> str:
    """Return the judge of a run if its boxes are those that raters were shown; empty if they are another's."""
    shown = {(it.item, it.sample): it.found for it in corrections if it.run == run.folder.name}
    if run.manifest.judge is None or not shown:
        return ""
    for judged in run.judged(list(shown)):
        scene = judged.verdict.evidence.get("scene")
        if shown[judged.outcome.item, judged.outcome.sample] != (None if scene is None else Scene.from_json(scene)):
            return ""
    return run.manifest.judge.name


AgreementStudy: TypeAlias = JudgeAgreement | JudgeScoreAgreement | VoteStudy


def agreement_text(studies: Sequence[AgreementStudy], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return studies of the agreement of judges and raters as text."""
    keys = {"judges": JudgeAgreement, "scores_of_judges": JudgeScoreAgreement, "people": VoteStudy}
    return _render(studies, format, keys)


def agreement_table(studies: Sequence[AgreementStudy]) -> ConsoleRenderable:
    """Return studies of agreement as something that `rich` can print."""
    return render_terminal(table for study in studies for table in _tables(study))


def human_study_text(studies: Sequence[HumanStudy], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return human studies as text."""
    asked = {key: kind for key, kind in _HUMAN_KEYS.items() if key in _ALWAYS or isinstance(studies[0], kind)}
    return _render(studies, format, asked)


_HUMAN_KEYS: dict[str, type[AgreementStudy | HumanStudy]] = {
    "people": VoteStudy,
    "scores": HumanScoreStudy,
    "boxes": BoxStudy,
    "preferences": PreferenceStudy,
}
"""The key of each kind of study in JSON."""

_ALWAYS = {"people", "scores", "boxes"}
"""Keys that are there even if they are empty: scripts rely on them."""


def human_study_table(studies: Sequence[HumanStudy]) -> ConsoleRenderable:
    """Return human studies as something that `rich` can print."""
    return render_terminal(table for study in studies for table in _tables(study))


def human_study_tables(study: HumanStudy) -> list[Table]:
    """Return the tables of a human study, its results first."""
    return list(_tables(study))


def _render(
    studies: Sequence[AgreementStudy | HumanStudy],
    format: StudyFormat,  # noqa: A002  # what users call it
    keys: dict[str, type[AgreementStudy | HumanStudy]],
) -> str:
    return render_study(
        format,
        lambda: [table for study in studies for table in _tables(study)],
        lambda: study_csv_text(CSV_COLUMNS, (row for study in studies for row in _rows(study))),
        lambda: {key: [export_json(it) for it in studies if isinstance(it, kind)] for key, kind in keys.items()},
    )


def _tables(study: AgreementStudy | HumanStudy) -> Iterator[Table]:
    match study:
        case JudgeAgreement():
            return judge_agreement_tables(study)
        case JudgeScoreAgreement():
            return score_agreement_tables(study)
        case VoteStudy():
            return vote_study_tables(study)
        case HumanScoreStudy():
            return score_study_tables(study)
        case BoxStudy():
            return box_study_tables(study)
        case PreferenceStudy():
            return preference_study_tables(study)


def _rows(study: AgreementStudy | HumanStudy) -> Iterator[dict[str, object]]:
    match study:
        case JudgeAgreement():
            return judge_agreement_rows(study)
        case JudgeScoreAgreement():
            return score_agreement_rows(study)
        case VoteStudy():
            return vote_study_rows(study)
        case HumanScoreStudy():
            return score_study_rows(study)
        case BoxStudy():
            return box_study_rows(study)
        case PreferenceStudy():
            return preference_study_rows(study)
