"""The three lines with which a comparison begins: how often two agree, in which direction they differ, and skill."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.human_eval.agreement.boxes import BoxStudy
from formalimg.human_eval.agreement.rater_agreement import Panel
from formalimg.human_eval.agreement.study_tables import build_table
from formalimg.reports.tables.format import NOTHING, count_noun
from formalimg.stats.agreement import Consistency, MeanConsistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import Interval, Rate
from formalimg.stats.precision_recall import Proportion, SensitivitySpecificity, sensitivity_specificity
from formalimg.types import Table


def panel_headline(title: str, panel: Panel, who: tuple[str, str], unit: str, confidence: float) -> Table:
    """Return the three lines on a judge and raters; see `answers_headline`."""
    answers = panel.case_answers
    errors = sensitivity_specificity(
        [(it.human, it.judge) for it in answers], items=[it.item for it in answers], confidence=confidence
    )
    note = f"Intervals are {100 * confidence:g} %, for other items of the same kind."
    return answers_headline(title, note, panel.with_judge, errors, panel.within_levels, who=who, unit=unit)


def raters_headline(title: str, panel: Panel, together: str, unit: str, confidence: float) -> Table:
    """Return the three lines on raters alone, where no judge has answered."""
    mean, alpha = panel.human, panel.alpha
    passed = [(score.run, score.human) for score in panel.scores if score.level is None]
    shares = ", ".join(f"{run} {_rate(rate)}" for run, rate in passed) or NOTHING
    bounds = f" ({alpha.interval.low:.2f} to {alpha.interval.high:.2f})" if alpha.interval else ""
    rows = [
        ("agreement", f"two raters agree in {_percent(mean)}, mean over {count_noun(mean.pairs, 'pair')} of raters"),
        ("direction", f"{together} of raters says yes to {shares}"),
        ("reliability", NOTHING if alpha.value is None else f"alpha {alpha.value:.2f}{bounds}"),
    ]
    note = f"No judge has judged these {unit}s. Intervals are {100 * confidence:g} %, for other items of the same kind."
    return _table(title, note, rows, "people")


def boxes_headline(title: str, found: BoxStudy) -> Table:
    """Return the three lines on a grounder and the boxes that raters corrected."""
    overall = found.overall
    between = NOTHING if found.between_mean is None else f"{100 * found.between_mean:.1f} %"
    rows = [
        ("agreement", f"F1 {_percent(overall.f1)} over {count_noun(found.images, 'image')}"),
        (
            "direction",
            f"{_percent(overall.precision)} of what was found is there, {_percent(overall.recall)} of what is there "
            "was found",
        ),
        ("raters", f"F1 of two raters {between}: no grounder can be expected to do better"),
    ]
    note = f"Boxes match if they overlap by {found.iou:g} or more. Intervals are {100 * found.confidence:g} %."
    return _table(title, note, rows, "people")


def answers_headline(
    title: str,
    note: str,
    agreement: Consistency,
    errors: SensitivitySpecificity,
    within: Correlation,
    *,
    who: tuple[str, str],
    unit: str,
    name: str = "people",
) -> Table:
    """Return the three lines on yes/no answers."""
    judge, other = who
    rows = [
        ("agreement", f"{_percent(agreement)} of {count_noun(agreement.n, unit)}"),
        (
            "direction",
            f"{judge} says yes to {_share(errors.judge_yes)}, {other} to {_share(errors.truth_yes)}; sensitivity "
            f"{_percent(errors.sensitivity)}, specificity {_percent(errors.specificity)}",
        ),
        ("within levels", _skill(within)),
    ]
    note += f" Sensitivity: yes of {judge} where {other} says yes; specificity: no where {other} says no."
    return _table(title, note, rows, name)


def scores_headline(
    title: str,
    note: str,
    near: Proportion,
    means: tuple[float | None, float | None],
    difference: tuple[float | None, Interval | None],
    within: Correlation,
    *,
    who: tuple[str, str],
    distance: float,
    name: str = "people",
) -> Table:
    """Return the three lines on scores."""
    scores = [NOTHING if mean is None else f"{mean:.2f}" for mean in means]
    value, interval = difference
    apart = NOTHING if value is None else f"{value:+.2f}"
    bounds = f" ({interval.low:+.2f} to {interval.high:+.2f})" if interval else ""
    rows = [
        ("agreement", f"{_percent(near)} of {count_noun(near.n, 'image')} differ by no more than {distance:g}"),
        ("direction", f"{who[0]} gives {scores[0]} on average, {who[1]} {scores[1]}: {apart}{bounds}"),
        ("within levels", _skill(within)),
    ]
    return _table(title, note, rows, name)


def _table(title: str, note: str, rows: Sequence[tuple[str, str]], name: str) -> Table:
    return build_table(title, note, ("in short", ""), rows, "result", name)


def _skill(found: Correlation) -> str:
    if found.value is None:
        return f"{NOTHING}: nothing to tell apart within any level"
    bounds = f" ({found.interval.low:.2f} to {found.interval.high:.2f})" if found.interval else ""
    return f"r = {found.value:.2f}{bounds}, of {found.n:,}; 0 if all they share is how hard an item is"


def _rate(rate: Rate) -> str:
    return NOTHING if rate.value is None else f"{100 * rate.value:.1f} % of {rate.scored:,}"


def _percent(found: Consistency | MeanConsistency | Proportion | Estimate) -> str:
    if found.value is None:
        return NOTHING
    bounds = f" ({100 * found.interval.low:.1f}–{100 * found.interval.high:.1f})" if found.interval else ""
    return f"{100 * found.value:.1f} %{bounds}"


def _share(found: Proportion) -> str:
    return NOTHING if found.value is None else f"{100 * found.value:.1f} %"
