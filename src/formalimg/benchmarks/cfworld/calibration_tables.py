"""Tables, CSV and JSON of the calibration of CF-World's gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalimg.benchmarks.cfworld.calibration import GateCalibration
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
from formalimg.human_eval.agreement.thresholds import FOLDS, BestThreshold, CrossValidation, ThresholdResult
from formalimg.reports.tables.format import NOTHING, count_noun
from formalimg.reports.tables.model import Column, Number
from formalimg.reports.tables.terminal import render_terminal
from formalimg.types import Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

_CSV_COLUMNS = (
    *("figure", "threshold", "threshold_low", "threshold_high", "accuracy", "accuracy_low", "accuracy_high", "f1"),
    *("true_positives", "false_positives", "true_negatives", "false_negatives", "f1_low", "f1_high"),
)


def calibration_text(found: GateCalibration, format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return a calibration as text."""
    return render_study(
        format, lambda: _tables(found), lambda: study_csv_text(_CSV_COLUMNS, _rows(found)), lambda: export_json(found)
    )


def calibration_table(found: GateCalibration) -> ConsoleRenderable:
    """Return a calibration as something that `rich` can print."""
    return render_terminal(_tables(found))


def _tables(found: GateCalibration) -> Iterator[Table]:
    intervals = interval_note(found.confidence)
    yield build_table(
        "Thresholds of the gate, against human labels",
        f"{_study_note(found)} In percent, {intervals}. F1 is that of the recognisable images. An image passes with a "
        "score of the threshold or more.",
        (
            "threshold",
            Column("accuracy", "percent"),
            Column("F1", "score"),
            *count_columns("true positives", "false positives", "true negatives", "false negatives"),
        ),
        (
            (
                f"{it.threshold:g}",
                Number(it.accuracy, it.interval),
                it.f1,
                *(it.true_positives, it.false_positives, it.true_negatives, it.false_negatives),
            )
            for it in found.table
        ),
        name="gate",
    )
    pairs = (("accuracy", found.best, found.validated), ("F1", found.best_f1, found.validated_f1))
    best = [(name, it, validated) for name, it, validated in pairs if it is not None]
    if best:
        yield build_table(
            "The best threshold",
            f"The middle of the thresholds that are equally good, {intervals} by bootstrap over items. Of several "
            "such ranges it is the one whose middle is nearest to 0.5. On these images: too high for others, because "
            f"the threshold was chosen by them. {_fold_note(found.validated)}",
            ("by", "threshold", "equally good", "on these images", "cross-validated"),
            (
                (
                    name,
                    f"{it.value:.3f} ({it.interval.low:.3f}–{it.interval.high:.3f})",
                    _format_ranges(it),
                    f"{it.reached:.3f}",
                    _validated_text(validated),
                )
                for name, it, validated in best
            ),
            name="gate",
        )


def _fold_note(found: CrossValidation | None) -> str:
    if found is None:
        return "Cross-validation needs two items of either label: label more images."
    note = (
        f"Cross-validated: each of {found.folds} folds by the threshold that the others chose, "
        f"{found.thresholds[0]:.3f} to {found.thresholds[1]:.3f}; whole items at a time."
    )
    if found.too_small:
        note += f" Fewer than {FOLDS} items have the rarer label, so that it is rough: label more of them."
    return note


def _validated_text(found: CrossValidation | None) -> str:
    if found is None or found.value is None:
        return NOTHING
    bounds = f" ({found.interval.low:.3f}–{found.interval.high:.3f})" if found.interval else ""
    return f"{found.value:.3f}{bounds}"


def _study_note(found: GateCalibration) -> str:
    note = (
        f"{count_noun(found.images, 'image')} with label and score, {found.recognisable} of them recognisable; "
        f"{count_noun(found.labels, 'label')} by {count_noun(len(found.raters), 'rater')}; the judge is "
        f"{found.judge.name}"
    )
    note += ", by the formula of the published code." if found.profile == "official-code" else "."
    if found.undecided:
        note += f" Undecided: {found.undecided}."
    for reason, images in found.unscored.items():
        note += f" Labelled, but unscored ({reason}): {images}."
    if found.without_image:
        note += f" Labels without an image: {'; '.join(found.without_image)}."
    if found.not_labelled:
        note += f" Factual images without a label: {found.not_labelled}."
    if found.best is None:
        note += " All labels are the same, so that no threshold is best."
    return note + similar_names_note(found.raters)


def _format_ranges(best: BestThreshold) -> str:
    return ", ".join(
        f"{'from' if it.low_included else 'above'} {it.low:.3f} to {it.high:.3f}" for it in best.equally_good
    )


def _rows(found: GateCalibration) -> Iterator[dict[str, object]]:
    for it in sorted({*found.table, *found.curve}):
        yield {"figure": "at threshold", **_threshold_columns(it)}
    for name, best in (("best accuracy", found.best), ("best F1", found.best_f1)):
        if best is not None:
            bounds = {"threshold_low": best.interval.low, "threshold_high": best.interval.high}
            measure = {"accuracy" if name == "best accuracy" else "f1": best.reached}
            yield {"figure": name, "threshold": best.value, **bounds, **measure}
    for name, column, validated in (
        ("cross-validated accuracy", "accuracy", found.validated),
        ("cross-validated F1", "f1", found.validated_f1),
    ):
        if validated is not None:
            row: dict[str, object] = {"figure": name, column: validated.value}
            row |= zip(("threshold_low", "threshold_high"), validated.thresholds, strict=True)
            if validated.interval is not None:
                row |= zip((f"{column}_low", f"{column}_high"), validated.interval, strict=True)
            yield row


def _threshold_columns(it: ThresholdResult) -> dict[str, object]:
    columns: dict[str, object] = {**it._asdict(), "accuracy_low": it.interval.low, "accuracy_high": it.interval.high}
    del columns["interval"]
    return columns
