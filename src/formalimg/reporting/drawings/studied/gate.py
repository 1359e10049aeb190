"""Where the gate of CF-World should stand (the left side of its Figure 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from formalimg.analysis import AtThreshold, GateCalibrated
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.frame import Scale
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.scatter import Curve, Curves, curve_chart

_TICKS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def drawings_of_gate(study: GateCalibrated) -> Iterator[Drawing]:
    """Accuracy and F1 of every threshold, with the thresholds of the paper as points."""
    best = () if study.best is None else ((study.best.value, f"best accuracy: {study.best.value:.2f}"),)
    yield curve_chart(
        "cf-world-gate",
        Curves(
            "CF-World: how well thresholds on factual images agree with people",
            f"{study.images:,} factual images, {study.recognisable:,} of them recognisable; an image passes with "
            "a score of the threshold or above.",
            (
                _curve("accuracy", study, lambda at: at.accuracy),
                _curve("F1", study, lambda at: at.f1)._replace(look=numbered_look(1)),
            ),
            "threshold on the score of the factual image",
            "agreement with people (%)",
            Scale(0, 1, tuple((tick, f"{tick:g}") for tick in _TICKS)),
            best,
        ),
    )


def _curve(name: str, study: GateCalibrated, reached: Callable[[AtThreshold], float | None]) -> Curve:
    line = _steps(study.curve, [reached(at) for at in study.curve])
    return Curve(name, numbered_look(0), line, tuple((at.threshold, reached(at)) for at in study.table))


def _steps(curve: Sequence[AtThreshold], reached: Sequence[float | None]) -> tuple[tuple[float, float | None], ...]:
    """All thresholds above one, up to and including the next, reach the same: so the line goes in steps."""
    if not curve:
        return ()
    found = [(curve[0].threshold, reached[0])]
    for before, at, value in zip(curve, curve[1:], reached[1:], strict=False):
        found += [(before.threshold, value), (at.threshold, value)]
    return tuple(found)
