"""What came of calibrating the gate, as texts: tables for terminals, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalimg.analysis.calibration import AtThreshold, BestThreshold, GateCalibrated, ThresholdRange
from formalimg.analysis.study_tables import (
    AgreementFormat,
    AgreementTable,
    alike_told,
    counted,
    plain,
    rows_as_csv,
    study_as,
    tables_shown,
)

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


_COLUMNS = (
    "figure",
    "threshold",
    "threshold_low",
    "threshold_high",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "f1",
    "true_positives",
    "false_positives",
    "true_negatives",
    "false_negatives",
)


def calibration_text(found: GateCalibrated, format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """How well thresholds agree with people, as a text.

    Args:
        found: what `calibrate_gate` gave back.
        format: terminal and md: the thresholds that the paper prints, and the best; csv: all thresholds; json:
            everything.
    """
    return study_as(
        format,
        lambda: _tables(found),
        lambda: rows_as_csv(_COLUMNS, _rows(found)),
        lambda: plain(found),
    )


def calibration_table(found: GateCalibrated) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    return tables_shown(_tables(found))


def _tables(found: GateCalibrated) -> Iterator[AgreementTable]:
    intervals = f"with {100 * found.confidence:g} % intervals"
    yield AgreementTable(
        "Thresholds of the gate, against the labels of people",
        f"{_told(found)} In percent, {intervals}. F1 is that of the recognisable images. An image passes with a "
        "score of the threshold or more.",
        ("threshold", "accuracy", "F1", "passes rightly", "wrongly", "stopped rightly", "wrongly"),
        tuple(
            (
                f"{it.threshold:g}",
                f"{100 * it.accuracy:.1f} ({100 * it.interval.low:.1f}–{100 * it.interval.high:.1f})",
                "–" if it.f1 is None else f"{it.f1:.2f}",
                str(it.true_positives),
                str(it.false_positives),
                str(it.true_negatives),
                str(it.false_negatives),
            )
            for it in found.table
        ),
    )
    best = [(name, it) for name, it in (("accuracy", found.best), ("F1", found.best_f1)) if it is not None]
    if best:
        yield AgreementTable(
            "The best threshold",
            f"The middle of the thresholds that are equally good, {intervals} by drawing images anew. Of several "
            "such ranges it is the one whose middle is nearest to 0.5.",
            ("by", "threshold", "equally good", "reached"),
            tuple((name, _threshold(it), _ranges(it), f"{it.reached:.3f}") for name, it in best),
        )


def _told(found: GateCalibrated) -> str:
    told = f"{counted(found.images, 'image')} with label and score, {found.recognisable} of them recognisable; "
    told += (
        f"{counted(found.labels, 'label')} by {counted(len(found.raters), 'rater')}; the judge is {found.judge.name}"
    )
    told += ", by the formula of the published code." if found.profile == "official-code" else "."
    if found.undecided:
        told += f" Undecided: {found.undecided}."
    for reason, images in found.unscored.items():
        told += f" Labelled, but unscored ({reason}): {images}."
    if found.without_image:
        told += f" Labels without an image: {'; '.join(found.without_image)}."
    if found.not_labelled:
        told += f" Factual images without a label: {found.not_labelled}."
    if found.best is None:
        told += " All labels are the same, so that no threshold is best."
    return told + alike_told(found.raters)


def _threshold(it: BestThreshold) -> str:
    return f"{it.value:.3f} ({it.interval.low:.3f}–{it.interval.high:.3f})"


def _ranges(it: BestThreshold) -> str:
    def told(good: ThresholdRange) -> str:
        return f"{'from' if good.low_included else 'above'} {good.low:.3f} to {good.high:.3f}"

    return ", ".join(map(told, it.equally_good))


def _rows(found: GateCalibrated) -> Iterator[dict[str, object]]:
    for it in sorted({*found.table, *found.curve}):
        yield {"figure": "at threshold", **_at(it)}
    for name, best in (("best accuracy", found.best), ("best F1", found.best_f1)):
        if best is not None:
            ends = {"threshold_low": best.interval.low, "threshold_high": best.interval.high}
            measure = {"accuracy" if name == "best accuracy" else "f1": best.reached}
            yield {"figure": name, "threshold": best.value, **ends, **measure}


def _at(it: AtThreshold) -> dict[str, object]:
    numbers: dict[str, object] = {**it._asdict(), "accuracy_low": it.interval.low, "accuracy_high": it.interval.high}
    del numbers["interval"]
    return numbers
