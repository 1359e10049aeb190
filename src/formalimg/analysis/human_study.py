"""Human studies: dispatch the ratings of a study, of whatever kind, to the matching analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from formalimg.analysis.attention import Conduct
from formalimg.analysis.boxes import BoxesStudied, Correction, study_boxes
from formalimg.analysis.consistency import ScoresStudied, study_scores
from formalimg.analysis.human_ratings import PointsGiven, Rating, Vote
from formalimg.analysis.vote_study import PeopleStudied, study_likert, study_votes
from formalimg.errors import FormalimgError
from formalimg.judges import MIN_OVERLAP
from formalimg.runs import StoredRun
from formalimg.scenes import Scene
from formalimg.stats import ScoreProfile

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
