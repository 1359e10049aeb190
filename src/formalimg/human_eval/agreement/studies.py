"""Entry points of studies: analyse human ratings of any kind, and render studies as tables, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.boxes import BoxCorrection, BoxStudy, box_study_rows, box_study_tables, study_boxes
from formalimg.human_eval.agreement.judge_agreement import (
    JudgeAgreement,
    judge_agreement_rows,
    judge_agreement_tables,
    score_agreement_rows,
    score_agreement_tables,
)
from formalimg.human_eval.agreement.preferences import (
    Preference,
    PreferenceStudy,
    preference_study_rows,
    preference_study_tables,
    study_preferences,
)
from formalimg.human_eval.agreement.rating_files import LikertRating, Rating, Vote
from formalimg.human_eval.agreement.score_agreement import (
    HumanScoreStudy,
    JudgeScoreAgreement,
    score_study_rows,
    score_study_tables,
)
from formalimg.human_eval.agreement.study_tables import (
    CSV_COLUMNS,
    RaterAttentionSummary,
    Row,
    StudyFormat,
    attention_rows,
    export_json,
    find_study,
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

AgreementStudy: TypeAlias = JudgeAgreement | JudgeScoreAgreement | VoteStudy


_KINDS: Mapping[type, tuple[str, Callable[[Any], Iterator[Table]], Callable[[Any], Iterator[Row]]]] = {
    # the key of these studies in JSON; their tables, the results first; and their CSV rows
    JudgeAgreement: ("judges", judge_agreement_tables, judge_agreement_rows),
    JudgeScoreAgreement: ("scores_of_judges", score_agreement_tables, score_agreement_rows),
    VoteStudy: ("people", vote_study_tables, vote_study_rows),
    HumanScoreStudy: ("scores", score_study_tables, score_study_rows),
    BoxStudy: ("boxes", box_study_tables, box_study_rows),
    PreferenceStudy: ("preferences", preference_study_tables, preference_study_rows),
}


@dataclass(frozen=True)
class HumanRatings:
    """The ratings of a human study; exactly one kind is present."""

    votes: Sequence[Vote] = ()  # yes and no
    points: Sequence[LikertRating] = ()  # Likert ratings, 1 to 5
    scores: Sequence[Rating] = ()  # from 0 to 1
    corrections: Sequence[BoxCorrection] = ()  # corrected boxes
    preferences: Sequence[Preference] = ()  # which of two images is better
    attention: RaterAttentionSummary | None = None  # progress and attention checks of the raters; None if unknown
    rule: ComplianceRule = "majority"  # how Likert ratings of an image become a label


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
    """
    study: HumanStudy
    if ratings.votes:
        study = study_votes(ratings.votes, runs, confidence=confidence)
    elif ratings.points:
        study = study_likert(ratings.points, runs, rule=ratings.rule, profile=profile, confidence=confidence)
    elif ratings.scores:
        study = study_human_scores(ratings.scores, runs, profile=profile, confidence=confidence)
    elif ratings.corrections:
        judges = {run.folder.name: name for run in runs if (name := _find_grounder(run, ratings.corrections))}
        study = study_boxes(ratings.corrections, runs[0].manifest.suite, judges=judges, iou=iou, confidence=confidence)
    elif ratings.preferences:
        study = study_preferences(ratings.preferences, runs, confidence=confidence)
    else:
        raise FormalimgError("no rater has finished an image yet: collect ratings first")
    return replace(study, attention=ratings.attention)


def study_human_scores(
    scores: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: Profile = "paper",
    confidence: float = 0.95,
) -> HumanScoreStudy:
    """Compare rater scores with the scores of the judge of the runs, by the rules of their suite."""
    make = find_study("human scores", (run.manifest.suite for run in runs)).make
    study: HumanScoreStudy = make(scores, runs, profile=profile, confidence=confidence)
    return study


def _find_grounder(run: StoredRun, corrections: Sequence[BoxCorrection]) -> str:
    name = run.folder.name
    scenes = {(boxes.item, boxes.sample): boxes.found for boxes in corrections if boxes.run == name}
    if run.manifest.judge is None or not scenes:
        return ""
    for judged in run.judged(list(scenes)):
        scene = judged.verdict.evidence.get("scene")
        if scenes[judged.outcome.item, judged.outcome.sample] != (None if scene is None else Scene.from_json(scene)):
            return ""
    return run.manifest.judge.name


def agreement_text(studies: Sequence[AgreementStudy], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return studies of agreement between judges and raters as text."""
    return _render_studies(studies, format, ("judges", "scores_of_judges", "people"))


def human_study_text(studies: Sequence[HumanStudy], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return human studies as text."""
    always = ("people", "scores", "boxes")  # keys that are there even if they are empty: scripts rely on them
    return _render_studies(studies, format, dict.fromkeys((*always, _KINDS[type(studies[0])][0])))


def study_table(studies: Sequence[AgreementStudy | HumanStudy]) -> ConsoleRenderable:
    """Return studies as a renderable for `rich`."""
    return render_terminal(table for study in studies for table in tables_of_study(study))


def tables_of_study(study: AgreementStudy | HumanStudy) -> list[Table]:
    """Return the tables of a study, starting with its main results."""
    return list(_KINDS[type(study)][1](study))


def _render_studies(
    studies: Sequence[AgreementStudy | HumanStudy],
    format: StudyFormat,  # noqa: A002  # what users call it
    keys: Iterable[str],
) -> str:
    def rows() -> Iterator[Row]:
        for study in studies:
            yield from _KINDS[type(study)][2](study)
            attention: RaterAttentionSummary | None = getattr(study, "attention", None)
            if attention is not None:
                yield from attention_rows(attention)

    return render_study(
        format,
        lambda: [table for study in studies for table in tables_of_study(study)],
        lambda: study_csv_text(CSV_COLUMNS, rows()),
        lambda: {key: [export_json(study) for study in studies if _KINDS[type(study)][0] == key] for key in keys},
    )
