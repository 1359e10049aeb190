"""Calibration of CF-World's gate: thresholds of the score against human labels (appendix B of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from formalimg.benchmarks.cfworld.image_scores import group_scores
from formalimg.benchmarks.cfworld.scores import ScoreProfile
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import RatedImage, match_ratings, one_judge
from formalimg.human_eval.agreement.rating_files import Rating, RatingFile, load_label_file
from formalimg.human_eval.agreement.thresholds import (
    MEASURES,
    BestThreshold,
    CrossValidation,
    LabelledScore,
    ThresholdResult,
    all_thresholds,
    at_thresholds,
    best_threshold,
    cross_validate,
)
from formalimg.reports.figures.svg import Figure
from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import majority
from formalimg.types import RunRecord

PAPER_THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""The thresholds of the paper's Table 4."""

_FACTUAL = 1


@dataclass(frozen=True)
class GateCalibration:
    """Thresholds on the scores of factual images against human labels."""

    judge: Identity  # the judge that scored
    runs: tuple[str, ...]  # the runs, by folder
    raters: tuple[str, ...]  # the names of the raters; one empty name where the file has none
    labels: int  # how many labels they gave
    images: int  # how many images have both a label and a score; all figures are of these
    recognisable: int  # how many of them raters recognise
    undecided: int  # labelled images with as many yes as no
    unscored: Mapping[str, int]  # labelled images that have no score, by reason
    without_image: tuple[str, ...]  # labels for items or samples that their run does not have, one line each
    not_labelled: int  # factual images of the runs without labels
    table: tuple[ThresholdResult, ...]  # the thresholds of the paper
    curve: tuple[ThresholdResult, ...]  # all thresholds that make a difference, and a grid of 0.05
    # the threshold with the best accuracy, and with the best F1; None if all labels are the same. What it reaches is
    # too high for other images, because it was chosen by these
    best: BestThreshold | None
    best_f1: BestThreshold | None
    profile: ScoreProfile  # the formula of the scores
    confidence: float  # of all intervals
    # accuracy and F1 of thresholds on images that they were not chosen by; None where there are too few images of one
    # label
    validated: CrossValidation | None
    validated_f1: CrossValidation | None

    def figures(self) -> Iterator[Figure]:
        """Return its figures."""
        from formalimg.benchmarks.cfworld.figures import gate_figures  # here: most calibrations are not drawn

        return gate_figures(self)


def calibrate_gate(
    labels: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> GateCalibration:
    """Compare thresholds on the judge's scores of factual images with human labels."""
    judge = one_judge(runs)
    for run in runs:
        if suite(run.manifest.suite).gate is None:
            gated = ", ".join(name for name in suite_names() if suite(name).gate is not None)
            raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: only {gated} has a gate to calibrate")
    file = load_label_file(labels) if isinstance(labels, str | Path) else RatingFile("", tuple(labels))
    matched = match_ratings(file, runs, _check_label, levels=frozenset({_FACTUAL}))
    scores = {
        RatedImage(run.folder.name, it.item, it.sample): it
        for run in runs
        for it in group_scores(run, profile)
        if it.level == _FACTUAL
    }
    decided = {
        image: majority(value == 1 for value in matched.ratings[image][None].values()) for image in matched.outcomes
    }
    known: list[LabelledScore] = []
    for image, label in decided.items():
        score = scores[image].score
        if score is not None and label is not None:
            known.append(LabelledScore(score, label, image.item))
    unscored = Counter(scores[image].reason for image in decided if scores[image].score is None)
    if not known:
        raise FormalimgError(
            f"none of the {len(decided)} labelled images has both a score and a majority: judge the runs, or label "
            "other images"
        )
    best, best_f1 = (
        best_threshold(known, measure, confidence=confidence, resamples=resamples, seed=seed) for measure in MEASURES
    )
    return GateCalibration(
        judge,
        tuple(run.folder.name for run in runs),
        matched.raters,
        len(file.rows),
        len(known),
        sum(image.recognisable for image in known),
        sum(label is None for label in decided.values()),
        dict(sorted(unscored.items())),
        matched.without_image,
        matched.not_rated,
        at_thresholds(known, PAPER_THRESHOLDS, confidence),
        at_thresholds(known, all_thresholds(known), confidence),
        best,
        best_f1,
        profile,
        confidence,
        *(cross_validate(known, measure, confidence=confidence, seed=seed) for measure in MEASURES),
    )


def _check_label(run: RunRecord, label: Rating) -> str:
    level = run.items[label.item].level
    if level == _FACTUAL:
        return ""
    return f"item {label.item} is of level {level}: label the factual images, of level {_FACTUAL}"
