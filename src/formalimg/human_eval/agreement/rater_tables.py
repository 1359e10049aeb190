"""Tables and CSV rows of rater panels: headline, judge accuracy, reliability, ranks and pairwise agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from formalimg.human_eval.agreement.rater_agreement import JUDGE, MAJORITY, Panel
from formalimg.human_eval.agreement.study_tables import (
    answers_headline,
    build_headline,
    build_table,
    count_columns,
    figure_row,
    format_percent,
    format_thousandths,
    number,
)
from formalimg.reports.tables.format import NOTHING, count_noun
from formalimg.reports.tables.model import Cell, Column
from formalimg.stats.agreement import Consistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.observations import Rate
from formalimg.stats.precision_recall import Classification, Proportion, sensitivity_specificity
from formalimg.stats.ranking import RankAgreement
from formalimg.stats.reliability import Reliability
from formalimg.types import Table

_MAX_HEAD_LETTERS = 72  # So many letters of names fit side by side, in terminals and on paper


def panel_headline(name: str, panel: Panel, joint: str, unit: str, confidence: float) -> Table:
    """Return the headline comparing raters with the judge, or describing the raters alone if there is no judge."""
    intervals = f"Intervals are {100 * confidence:g} %, for other items of the same kind."
    if panel.with_judge.n:
        cases = panel.case_answers
        errors = sensitivity_specificity(
            [(case.human, case.judge) for case in cases], items=[case.item for case in cases], confidence=confidence
        )
        return answers_headline(
            f"Judge and raters: {name}",
            intervals,
            panel.with_judge,
            errors,
            panel.within_levels,
            names=("judge", f"{joint} of raters"),
            unit=unit,
        )
    mean, alpha = panel.human, panel.alpha
    shares = [f"{score.run} {_format_rate(score.human)}" for score in panel.scores if score.level is None]
    bounds = f" ({alpha.interval.low:.2f} to {alpha.interval.high:.2f})" if alpha.interval else ""
    rows = [
        (
            "agreement",
            f"two raters agree in {format_percent(mean)}, mean over {count_noun(mean.pairs, 'pair')} of raters",
        ),
        ("direction", f"{joint} of raters says yes to {', '.join(shares) or NOTHING}"),
        ("reliability", NOTHING if alpha.value is None else f"alpha {alpha.value:.2f}{bounds}"),
    ]
    return build_headline(f"Raters: {name}", f"No judge has judged these {unit}s. {intervals}", rows)


def _format_rate(rate: Rate) -> str:
    return NOTHING if rate.value is None else f"{100 * rate.value:.1f} % of {rate.scored:,}"


def judge_accuracy_table(panels: Mapping[str, Panel], joint: str, intervals: str) -> Table | None:
    """Return the accuracy of the judge against the raters, with exclusions; None if no case is comparable."""
    if not any(panel.classified.n for panel in panels.values()):
        return None
    figures = [_accuracy_figures(panel.classified) for panel in panels.values()]
    counts = [
        {
            **panel.classified.confusion._asdict(),
            # Where both reasons hold, the first counts.
            f"left out, no {joint}": panel.undecided,
            "left out, no verdict": sum(case.judge is None and case.human is not None for case in panel.case_answers),
        }
        for panel in panels.values()
    ]
    rows: list[list[Cell]] = [[name, *(number(values[name]) for values in figures)] for name in figures[0]]
    rows += [[name.replace("_", " "), *(str(values[name]) for values in counts)] for name in counts[0]]
    return build_table(
        f"Judge accuracy against the {joint} of raters",
        f"In percent, {intervals}. Positive: the judge says yes. True: so do the raters, by {joint}. Cases without "
        f"a {joint} or without a verdict are left out.",
        ("", *(Column(name, "percent") for name in panels)),
        rows,
        "result",
    )


def _accuracy_figures(accuracy: Classification) -> dict[str, Proportion | Estimate]:
    return {
        "accuracy": accuracy.accuracy,
        "F1": accuracy.f1,
        "recall (sensitivity)": accuracy.recall,
        "specificity": accuracy.specificity,
        "precision": accuracy.precision,
        "balanced accuracy": accuracy.balanced_accuracy,
    }


def reliability_table(alphas: Mapping[str, Reliability], by_turns: bool, intervals: str) -> Table:
    """Return the table of inter-rater reliability."""
    note = f"Alpha, {intervals}: 1 if all rate alike, 0 if only by chance. Left out: what too few have rated. "
    if any(alpha.value is None for alpha in alphas.values()):
        note += (
            f"{NOTHING} stands where there is nothing to compare: fewer than two raters or images, or ratings (for "
            "Cronbach's their sums) that are all the same. "
        )
    if by_turns:
        note += "Less than half was rated by everybody, so raters take turns in the columns of Cronbach's."
    else:
        note += "Cronbach's has one column for each rater, and only what all of them rated."
    rows = ((name, format_thousandths(alpha), alpha.n, alpha.left_out) for name, alpha in alphas.items())
    columns: list[Column | str] = ["", Column("alpha", align="right"), *count_columns("n", "left out")]
    return build_table("Inter-rater reliability", note, columns, rows, "result")


def rank_table(ranks: Mapping[str, RankAgreement], level: str, intervals: str) -> Table | None:
    """Return the rank correlation of runs between raters and judge, by level; None if nothing can be ranked."""
    if all(agreement.mean is None for agreement in ranks.values()):
        return None
    levels = sorted({at for agreement in ranks.values() for at in agreement.by_level})
    rows: list[list[Cell]] = [
        [str(at), *(number(agreement.by_level.get(at)) for agreement in ranks.values())] for at in levels
    ]
    means = (Estimate(agreement.mean, agreement.interval) for agreement in ranks.values())
    rows.append(["mean", *map(format_thousandths, means)])
    return build_table(
        "Rank correlation of runs by raters and judge",
        f"Spearman's correlation of their scores, {intervals} from four runs on. Each {level} that has one weighs the "
        "same in the mean, whose interval is as wide as that of one level: all levels rank the same runs.",
        (level, *(Column(name, "number") for name in ranks)),
        rows,
        "result",
    )


def pairwise_table(name: str, panel: Panel, joint: str) -> Table:
    """Return the pairwise agreement of all raters, their joint rating and the judge.

    Where there is no room for a column for each rater, each is compared with all others on average.
    """
    mean = panel.human
    note = f"How often they agree, in percent. The {joint} contains the ratings of each rater. "
    bounds = f" ({100 * mean.interval.low:.1f}–{100 * mean.interval.high:.1f})" if mean.interval else ""
    note += (
        "No two raters rated the same." if mean.value is None else f"Mean over pairs: {100 * mean.value:.1f}{bounds}."
    )
    if mean.left_out and mean.pairs:
        note += f" Pairs of raters with nothing in common, left out of that: {mean.left_out}."
    names = {rater: joint if rater == MAJORITY else rater for rater in panel.matrix}
    if sum(map(len, names.values())) <= _MAX_HEAD_LETTERS:
        return build_table(
            f"Pairwise agreement: {name}",
            note,
            ("", *(Column(head, "percent") for head in names.values())),
            (
                (names[rater], *(pairs[second].value if second in pairs else "" for second in names))
                for rater, pairs in panel.matrix.items()
            ),
        )
    raters = [rater for rater in panel.matrix if rater not in (MAJORITY, JUDGE)]
    rows: list[list[Cell]] = []
    for rater in raters:
        pairs = panel.matrix[rater]
        shares = [share for second in raters if second != rater and (share := pairs[second].value) is not None]
        average = sum(shares) / len(shares) if shares else None
        rows.append([rater, average, pairs[MAJORITY].value, pairs[JUDGE].value])
    return build_table(
        f"Agreement per rater: {name}",
        f"{note} Other raters: the mean over all of them who rated the same. The JSON holds all pairs.",
        ("", *(Column(head, "percent") for head in ("other raters", joint, "judge"))),
        rows,
    )


def panel_rows(panel: Panel, unit: str) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of a panel, with `unit` in the column `of`."""
    for score in panel.scores:
        for figure, rater, rate in (
            ("score", MAJORITY, score.human),
            ("score", JUDGE, score.judge),
            ("score on what both decided", MAJORITY, score.human_of_both),
            ("score on what both decided", JUDGE, score.judge_of_both),
        ):
            yield figure_row(figure, rate, of=unit, run=score.run, level=score.level, first=rater)
    pair = {"of": unit, "first": MAJORITY, "second": JUDGE}
    parts: dict[str, Mapping[Any, Consistency]] = {
        "level": panel.with_judge_by_level,
        "run": panel.with_judge_by_run,
        "kind": panel.with_judge_by_kind,
    }
    for column, agreements in parts.items():
        for part, agreement in agreements.items():
            yield figure_row("agreement", agreement, **pair, **{column: part})
    for first, second in combinations(panel.matrix, 2):
        yield figure_row("agreement", panel.matrix[first][second], of=unit, first=first, second=second)
    yield figure_row("mean agreement of people", panel.human, of=unit)
    yield figure_row("Krippendorff's alpha of people", panel.alpha, of=unit)
    yield figure_row("Cronbach's alpha of people", panel.cronbach, of=unit)
    counts = {"n": panel.classified.n, "left_out": panel.classified.left_out}
    for name, accuracy in _accuracy_figures(panel.classified).items():
        yield {**counts, **figure_row(name, accuracy, **pair)}
    yield figure_row("r within levels", panel.within_levels, **pair)
    for run, r in panel.within_levels_by_run.items():
        yield figure_row("r within levels", r, **pair, run=run)
    for run, r in panel.over_levels_by_run.items():
        yield figure_row("r over levels", r, **pair, run=run)
    for level, r in panel.r_by_run.items():
        yield figure_row("r from run to run", r, **pair, level=level)
    yield from rank_rows(panel.ranks, unit)
    for own_score in panel.by_rater:
        part = {"run": own_score.run, "level": own_score.level, "first": own_score.rater}
        yield figure_row("score", own_score.rate, of=unit, **part)


def rank_rows(ranks: RankAgreement, unit: str) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of the rank correlation of runs, by level and on average."""
    pair = {"of": unit, "first": MAJORITY, "second": JUDGE}
    for level, r in ranks.by_level.items():
        yield figure_row("rank correlation of runs", r, **pair, level=level)
    counts = {"n": ranks.levels, "left_out": ranks.left_out}
    mean = Estimate(ranks.mean, ranks.interval)
    yield figure_row("mean rank correlation of runs", mean, **pair, **counts)
