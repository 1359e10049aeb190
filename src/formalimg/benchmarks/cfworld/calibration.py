"""Calibration of CF-World's gate by comparing score thresholds with human labels (appendix B of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.benchmarks.cfworld.run_scores import group_scores
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import RatedImage, match_ratings, one_judge
from formalimg.human_eval.agreement.rating_files import Rating, RatingFile, load_label_file
from formalimg.human_eval.agreement.study_tables import (
    StudyFormat,
    build_table,
    count_columns,
    export_json,
    interval_note,
    render_study,
    similar_names_note,
    study_csv_text,
)
from formalimg.human_eval.agreement.thresholds import (
    FOLDS,
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
from formalimg.reports.tables.format import NOTHING, count_noun
from formalimg.reports.tables.model import Column, Number
from formalimg.reports.tables.terminal import render_terminal
from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import majority
from formalimg.stats.observations import Profile
from formalimg.types import RunRecord, Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


PAPER_THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)  # The thresholds of the paper's Table 4
_FACTUAL = 1


@dataclass(frozen=True)
class GateCalibration:
    """The comparison of thresholds on the scores of factual images with human labels."""

    judge: Identity
    runs: tuple[str, ...]  # by folder
    raters: tuple[str, ...]  # one empty name where the file has none
    labels: int  # number of labels
    images: int  # number of images with both a label and a score; all figures are of these
    recognisable: int  # how many of them raters recognise
    undecided: int  # labelled images with as many yes as no
    unscored: Mapping[str, int]  # labelled images that have no score, by reason
    without_image: tuple[str, ...]  # labels for items or samples that their run does not have, one line each
    not_labelled: int  # factual images of the runs without labels
    table: tuple[ThresholdResult, ...]  # the thresholds of the paper
    curve: tuple[ThresholdResult, ...]  # all thresholds that make a difference, and a grid of 0.05
    best: BestThreshold | None  # by accuracy, too good for other images; None if all labels are the same
    best_f1: BestThreshold | None
    profile: Profile
    confidence: float
    validated: CrossValidation | None  # by accuracy; None where there are too few images of one label
    validated_f1: CrossValidation | None

    def figures(self) -> Iterator[Figure]:
        """Yield the figures of the calibration."""
        from formalimg.benchmarks.cfworld.figures import gate_figures  # here: most calibrations are not drawn

        return gate_figures(self)


def calibrate_gate(
    labels: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: Profile = "paper",
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

    def check_label(run: RunRecord, label: Rating) -> str:
        level = run.items[label.item].level
        advice = f"item {label.item} is of level {level}: label the factual images, of level {_FACTUAL}"
        return "" if level == _FACTUAL else advice

    file = load_label_file(labels) if isinstance(labels, str | Path) else RatingFile("", tuple(labels))
    matched = match_ratings(file, runs, check_label, levels=frozenset({_FACTUAL}))
    scores = {
        RatedImage(run.folder.name, scored.item, scored.sample): scored
        for run in runs
        for scored in group_scores(run, profile)
        if scored.level == _FACTUAL
    }
    labels_by_image = {
        image: majority(value == 1 for value in matched.ratings[image][None].values()) for image in matched.outcomes
    }
    labelled: list[LabelledScore] = []
    for image, label in labels_by_image.items():
        score = scores[image].score
        if score is not None and label is not None:
            labelled.append(LabelledScore(score, label, image.item))
    unscored = Counter(scores[image].reason for image in labels_by_image if scores[image].score is None)
    if not labelled:
        raise FormalimgError(
            f"none of the {len(labels_by_image)} labelled images has both a score and a majority: judge the runs, or "
            "label other images"
        )
    best, best_f1 = (
        best_threshold(labelled, measure, confidence=confidence, resamples=resamples, seed=seed) for measure in MEASURES
    )
    return GateCalibration(
        judge,
        tuple(run.folder.name for run in runs),
        matched.raters,
        len(file.rows),
        len(labelled),
        sum(image.recognisable for image in labelled),
        sum(label is None for label in labels_by_image.values()),
        dict(sorted(unscored.items())),
        matched.without_image,
        matched.not_rated,
        at_thresholds(labelled, PAPER_THRESHOLDS, confidence),
        at_thresholds(labelled, all_thresholds(labelled), confidence),
        best,
        best_f1,
        profile,
        confidence,
        *(cross_validate(labelled, measure, confidence=confidence, seed=seed) for measure in MEASURES),
    )


_CSV_COLUMNS = (
    *("figure", "threshold", "threshold_low", "threshold_high", "accuracy", "accuracy_low", "accuracy_high", "f1"),
    *("true_positives", "false_positives", "true_negatives", "false_negatives", "f1_low", "f1_high"),
)


def calibration_text(study: GateCalibration, format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return a calibration as text in the given format."""
    return render_study(
        format,
        lambda: _build_tables(study),
        lambda: study_csv_text(_CSV_COLUMNS, _csv_rows(study)),
        lambda: export_json(study),
    )


def calibration_table(study: GateCalibration) -> ConsoleRenderable:
    """Return a calibration as a table for `rich`."""
    return render_terminal(_build_tables(study))


def _build_tables(study: GateCalibration) -> Iterator[Table]:
    intervals = interval_note(study.confidence)
    yield build_table(
        "Thresholds of the gate, against human labels",
        f"{_study_note(study)} In percent, {intervals}. F1 is that of the recognisable images. An image passes with a "
        "score of the threshold or more.",
        (
            "threshold",
            Column("accuracy", "percent"),
            Column("F1", "score"),
            *count_columns("true positives", "false positives", "true negatives", "false negatives"),
        ),
        (
            (
                f"{result.threshold:g}",
                Number(result.accuracy, result.interval),
                result.f1,
                *(result.true_positives, result.false_positives, result.true_negatives, result.false_negatives),
            )
            for result in study.table
        ),
        name="gate",
    )
    pairs = (("accuracy", study.best, study.validated), ("F1", study.best_f1, study.validated_f1))
    rows = [
        (
            name,
            f"{best.value:.3f} ({best.interval.low:.3f}–{best.interval.high:.3f})",
            ", ".join(
                f"{'from' if span.low_included else 'above'} {span.low:.3f} to {span.high:.3f}"
                for span in best.equally_good
            ),
            f"{best.reached:.3f}",
            NOTHING
            if validated is None or validated.value is None
            else f"{validated.value:.3f}"
            + (f" ({validated.interval.low:.3f}–{validated.interval.high:.3f})" if validated.interval else ""),
        )
        for name, best, validated in pairs
        if best is not None
    ]
    if rows:
        yield build_table(
            "The best threshold",
            f"The middle of the thresholds that are equally good, {intervals} by bootstrap over items. Of several "
            "such ranges it is the one whose middle is nearest to 0.5. On these images: too high for others, because "
            f"the threshold was chosen by them. {_fold_note(study.validated)}",
            ("by", "threshold", "equally good", "on these images", "cross-validated"),
            rows,
            name="gate",
        )


def _fold_note(validation: CrossValidation | None) -> str:
    if validation is None:
        return "Cross-validation needs two items of either label: label more images."
    note = (
        f"Cross-validated: each of {validation.folds} folds by the threshold that the others chose, "
        f"{validation.thresholds[0]:.3f} to {validation.thresholds[1]:.3f}; whole items at a time."
    )
    if validation.too_small:
        note += f" Fewer than {FOLDS} items have the rarer label, so that it is rough: label more of them."
    return note


def _study_note(study: GateCalibration) -> str:
    note = (
        f"{count_noun(study.images, 'image')} with label and score, {study.recognisable} of them recognisable; "
        f"{count_noun(study.labels, 'label')} by {count_noun(len(study.raters), 'rater')}; the judge is "
        f"{study.judge.name}"
    )
    note += ", by the formula of the published code." if study.profile == "official-code" else "."
    if study.undecided:
        note += f" Undecided: {study.undecided}."
    for reason, images in study.unscored.items():
        note += f" Labelled, but unscored ({reason}): {images}."
    if study.without_image:
        note += f" Labels without an image: {'; '.join(study.without_image)}."
    if study.not_labelled:
        note += f" Factual images without a label: {study.not_labelled}."
    if study.best is None:
        note += " All labels are the same, so that no threshold is best."
    return note + similar_names_note(study.raters)


def _csv_rows(study: GateCalibration) -> Iterator[dict[str, object]]:
    for result in sorted({*study.table, *study.curve}):
        row: dict[str, object] = {"figure": "at threshold", **result._asdict()}
        del row["interval"]
        yield row | {"accuracy_low": result.interval.low, "accuracy_high": result.interval.high}
    for name, column, best in (("accuracy", "accuracy", study.best), ("F1", "f1", study.best_f1)):
        if best is not None:
            bounds = {"threshold_low": best.interval.low, "threshold_high": best.interval.high}
            yield {"figure": f"best {name}", "threshold": best.value, **bounds, column: best.reached}
    for name, column, validated in (("accuracy", "accuracy", study.validated), ("F1", "f1", study.validated_f1)):
        if validated is not None:
            row = {"figure": f"cross-validated {name}", column: validated.value}
            row |= zip(("threshold_low", "threshold_high"), validated.thresholds, strict=True)
            if validated.interval is not None:
                row |= zip((f"{column}_low", f"{column}_high"), validated.interval, strict=True)
            yield row
