"""All that people said in a study, whatever they were asked, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from formalimg.analysis.attention import Conduct
from formalimg.analysis.boxes import BoxesStudied, Correction, study_boxes
from formalimg.analysis.consistency import ScoresStudied, study_scores
from formalimg.analysis.human_ratings import PointsGiven, Rating, Vote
from formalimg.analysis.vote_study import PeopleStudied, study_points, study_votes
from formalimg.errors import FormalimgError
from formalimg.judges import MIN_OVERLAP
from formalimg.runs import StoredRun
from formalimg.scenes import Scene
from formalimg.stats import ScoreProfile

StudyOfPeople: TypeAlias = PeopleStudied | ScoresStudied | BoxesStudied
"""What comes of a study, by what people were asked for: yes and no or five points, scores, or boxes."""


@dataclass(frozen=True)
class HumanRatings:
    """What people said in a study: of these, one is there.

    Attributes:
        votes: yes and no.
        points: one to five.
        scores: from 0 to 1.
        corrections: boxes.
        conduct: how the raters did; None if that is not known.
    """

    votes: Sequence[Vote] = ()
    points: Sequence[PointsGiven] = ()
    scores: Sequence[Rating] = ()
    corrections: Sequence[Correction] = ()
    conduct: Conduct | None = None


def study_people(
    said: HumanRatings,
    runs: Sequence[StoredRun],
    *,
    iou: float = MIN_OVERLAP,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
) -> StudyOfPeople:
    """Compares what people said with each other, and with the judges of the runs they said it about.

    Args:
        said: what they said.
        runs: runs of one suite, each opened with the judge to compare with.
        iou: for boxes, how far they have to overlap (intersection over union) to be the same.
        profile: for scores, `official-code` gives each question its full weight.
        confidence: of all intervals.

    Raises:
        VotesError, RatingsError: if what they said makes no sense beside the runs.
        FormalimgError: if nobody has said anything, or the runs do not belong together.
    """
    found: StudyOfPeople
    if said.votes:
        found = study_votes(said.votes, runs, confidence=confidence)
    elif said.points:
        found = study_points(said.points, runs, confidence=confidence)
    elif said.scores:
        found = study_scores(said.scores, runs, profile=profile, confidence=confidence)
    elif said.corrections:
        judges = {run.folder.name: name for run in runs if (name := _grounder(run, said.corrections))}
        found = study_boxes(said.corrections, runs[0].manifest.suite, judges=judges, iou=iou, confidence=confidence)
    else:
        raise FormalimgError("nobody has finished an image yet: let people answer first")
    return replace(found, conduct=said.conduct)


def _grounder(run: StoredRun, corrections: Sequence[Correction]) -> str:
    """The judge of a run, if its boxes are those that people were shown; empty if they are another's."""
    shown = {(it.item, it.sample): it.found for it in corrections if it.run == run.folder.name}
    if run.manifest.judge is None or not shown:
        return ""
    for judged in run.judged(list(shown)):
        seen = judged.verdict.evidence.get("scene")
        if shown[judged.outcome.item, judged.outcome.sample] != (None if seen is None else Scene.from_json(seen)):
            return ""
    return run.manifest.judge.name
