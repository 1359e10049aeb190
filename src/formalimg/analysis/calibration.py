"""Where the gate of CF-World should stand, by what people recognise (appendix B of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from formalimg.analysis.calibration_curve import (
    AtThreshold,
    BestThreshold,
    LabelledScore,
    all_thresholds,
    at_thresholds,
    best_threshold,
)
from formalimg.analysis.counterfactual_scores import group_scores
from formalimg.analysis.ratings import Rating, sheet_of_labels
from formalimg.analysis.ratings_places import RatedImage, one_judge, place
from formalimg.analysis.sheets import Sheet
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunRecord
from formalimg.stats import ScoreProfile, majority
from formalimg.suites import CF_WORLD

PAPER_THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""The thresholds of the paper's Table 4."""

_FACTUAL = 1


@dataclass(frozen=True)
class GateCalibrated:
    """How well thresholds on the scores of factual images agree with the labels of people.

    Attributes:
        judge: whose scores.
        runs: the runs, by folder.
        raters: the people; one without a name where the table has none.
        labels: how many labels they gave.
        images: how many images have both a label and a score; all figures are of these.
        recognisable: how many of them people recognise.
        undecided: labelled images on which as many people say yes as no.
        unscored: labelled images that have no score, by reason.
        without_image: labels for items or samples that their run does not have, one line each.
        not_labelled: factual images of the runs that nobody labelled.
        table: the thresholds that the paper prints.
        curve: all thresholds that make a difference, and a grid of 0.05.
        best, best_f1: the threshold with the best accuracy, and with the best F1; None if all labels are the same.
        profile: whose formula made the scores.
        confidence: of all intervals.
    """

    judge: Identity
    runs: tuple[str, ...]
    raters: tuple[str, ...]
    labels: int
    images: int
    recognisable: int
    undecided: int
    unscored: Mapping[str, int]
    without_image: tuple[str, ...]
    not_labelled: int
    table: tuple[AtThreshold, ...]
    curve: tuple[AtThreshold, ...]
    best: BestThreshold | None
    best_f1: BestThreshold | None
    profile: ScoreProfile
    confidence: float


def calibrate_gate(
    labels: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> GateCalibrated:
    """Compares what people recognise in factual images with thresholds on the judge's scores of them.

    Args:
        labels: the labels, as `read_labels` gives them, or the file that they are in; of several for one image the
            majority counts.
        runs: runs of cf-world, each opened with the judge to calibrate. Labels name them by folder or by model.
        profile: `official-code` for scores in which each question has its full weight.
        confidence: of all intervals.
        resamples: how often images are drawn anew for the interval of the best threshold.
        seed: of the drawing.

    Raises:
        RatingsError: if labels make no sense beside the runs; all of them are named.
        FormalimgError: if the runs are of another suite or of several judges, or no labelled image has a score.
    """
    judge = one_judge(runs)
    for run in runs:
        if run.manifest.suite != CF_WORLD:
            raise FormalimgError(
                f"{run.folder} is a run of {run.manifest.suite}: only {CF_WORLD} has a gate to calibrate"
            )
    sheet = sheet_of_labels(labels) if isinstance(labels, str | Path) else Sheet("", tuple(labels))
    placed = place(sheet, runs, _refusal, levels=frozenset({_FACTUAL}))
    scores = {
        RatedImage(run.folder.name, it.item, it.sample): it
        for run in runs
        for it in group_scores(run, profile)
        if it.level == _FACTUAL
    }
    decided = {
        image: majority(value == 1 for value in said[None].values())
        for image, said in ((image, placed.said[image]) for image in placed.outcomes)
    }
    known: list[LabelledScore] = []
    for image, label in decided.items():
        score = scores[image].score
        if score is not None and label is not None:
            known.append(LabelledScore(score, label))
    unscored = Counter(scores[image].reason for image in decided if scores[image].score is None)
    if not known:
        raise FormalimgError(
            f"none of the {len(decided)} labelled images has both a score and a majority: judge the runs, or label "
            "other images"
        )
    best, best_f1 = (
        best_threshold(known, measure, confidence=confidence, resamples=resamples, seed=seed)
        for measure in ("accuracy", "F1")
    )
    return GateCalibrated(
        judge,
        tuple(run.folder.name for run in runs),
        placed.raters,
        len(sheet.rows),
        len(known),
        sum(image.recognisable for image in known),
        sum(label is None for label in decided.values()),
        dict(sorted(unscored.items())),
        placed.without_image,
        placed.not_rated,
        at_thresholds(known, PAPER_THRESHOLDS, confidence),
        at_thresholds(known, all_thresholds(known), confidence),
        best,
        best_f1,
        profile,
        confidence,
    )


def _refusal(run: RunRecord, label: Rating) -> str:
    level = run.items[label.item].level
    if level == _FACTUAL:
        return ""
    return f"item {label.item} is of level {level}: label the factual images, of level {_FACTUAL}"
