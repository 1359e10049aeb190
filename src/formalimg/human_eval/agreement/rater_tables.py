"""Tables and CSV rows of inter-rater agreement: judge accuracy, reliability, ranks, and pairwise agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.human_eval.agreement.rater_agreement import JUDGE, MAJORITY, Panel
from formalimg.human_eval.agreement.study_tables import build_table, count_columns, estimate_columns, number
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Cell, Column
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation
from formalimg.stats.precision_recall import Classification, Proportion
from formalimg.stats.ranking import RankAgreement
from formalimg.stats.reliability import Reliability
from formalimg.types import Table

_MAX_HEAD_LETTERS = 72
"""So many letters of names fit side by side, in terminals and on paper."""


def judge_accuracy_table(panels: Mapping[str, Panel], joint: str, intervals: str) -> Table | None:
    """Return the accuracy of the judge against the raters, with what was left out; None if nothing was comparable."""
    if not any(panel.classified.n for panel in panels.values()):
        return None
    figures = [_accuracy_figures(panel.classified) for panel in panels.values()]
    counts = [{**panel.classified.confusion._asdict(), **_left_out(panel, joint)} for panel in panels.values()]
    rows: list[list[Cell]] = [[name, *(number(those[name]) for those in figures)] for name in figures[0]]
    rows += [[name.replace("_", " "), *(str(those[name]) for those in counts)] for name in counts[0]]
    return build_table(
        f"Judge accuracy against the {joint} of raters",
        f"In percent, {intervals}. Positive: the judge says yes. True: so do the raters, by {joint}. Cases without "
        f"a {joint} or without a verdict are left out.",
        ("", *(Column(name, "percent") for name in panels)),
        rows,
        "result",
    )


def _accuracy_figures(found: Classification) -> dict[str, Proportion | Estimate]:
    return {
        "accuracy": found.accuracy,
        "F1": found.f1,
        "recall (sensitivity)": found.recall,
        "specificity": found.specificity,
        "precision": found.precision,
        "balanced accuracy": found.balanced_accuracy,
    }


def _left_out(panel: Panel, joint: str) -> dict[str, int]:
    """Return how many cases were left out, by reason; where both reasons hold, the first counts."""
    unscored = sum(case.judge is None and case.human is not None for case in panel.case_answers)
    return {f"left out, no {joint}": panel.undecided, "left out, no verdict": unscored}


def reliability_table(alphas: Mapping[str, Reliability], by_turns: bool, intervals: str) -> Table:
    """Return the inter-rater reliability."""
    note = f"Alpha, {intervals}: 1 if all rate alike, 0 if only by chance. Left out: what too few have rated. "
    if any(found.value is None for found in alphas.values()):
        note += (
            f"{NOTHING} stands where there is nothing to compare: fewer than two raters or images, or ratings (for "
            "Cronbach's their sums) that are all the same. "
        )
    if by_turns:
        note += "Less than half was rated by everybody, so raters take turns in the columns of Cronbach's."
    else:
        note += "Cronbach's has one column for each rater, and only what all of them rated."
    rows = ((name, thousandths(found), found.n, found.left_out) for name, found in alphas.items())
    columns: list[Column | str] = ["", Column("alpha", align="right"), *count_columns("n", "left out")]
    return build_table("Inter-rater reliability", note, columns, rows, "result")


def thousandths(found: Reliability | Correlation | Estimate) -> str:
    """Return a figure with three decimals, as papers print them, and its interval."""
    if found.value is None:
        return NOTHING
    bounds = f" ({found.interval.low:.3f} to {found.interval.high:.3f})" if found.interval else ""
    return f"{found.value:.3f}{bounds}"


def rank_table(ranks: Mapping[str, RankAgreement], level: str, intervals: str) -> Table | None:
    """Return the rank correlation of runs by raters and judge, level by level; None if nothing can be ranked."""
    levels = sorted({at for found in ranks.values() for at in found.by_level})
    if all(found.mean is None for found in ranks.values()):
        return None
    rows: list[list[Cell]] = [[str(at), *(number(found.by_level.get(at)) for found in ranks.values())] for at in levels]
    rows.append(["mean", *(thousandths(Estimate(found.mean, found.interval)) for found in ranks.values())])
    return build_table(
        "Rank correlation of runs by raters and judge",
        f"Spearman's correlation of their scores, {intervals} from four runs on. Each {level} that has one weighs the "
        "same in the mean, whose interval is as wide as that of one level: all levels rank the same runs.",
        (level, *(Column(name, "number") for name in ranks)),
        rows,
        "result",
    )


def pairwise_table(name: str, panel: Panel, joint: str) -> Table:
    """Return the agreement of each pair of raters, their joint rating, and the judge.

    Where there is no room for a column for each rater, each is compared with all others on average.
    """
    raters = [who for who in panel.matrix if who not in (MAJORITY, JUDGE)]
    mean = panel.human
    note = f"How often they agree, in percent. The {joint} contains the ratings of each rater. "
    bounds = f" ({100 * mean.interval.low:.1f}–{100 * mean.interval.high:.1f})" if mean.interval else ""
    known = (
        "No two raters rated the same." if mean.value is None else f"Mean over pairs: {100 * mean.value:.1f}{bounds}."
    )
    note += known
    if mean.left_out and mean.pairs:
        note += f" Pairs of raters with nothing in common, left out of that: {mean.left_out}."
    names = {who: joint if who == MAJORITY else who for who in panel.matrix}
    if sum(map(len, names.values())) <= _MAX_HEAD_LETTERS:
        return build_table(
            f"Pairwise agreement: {name}",
            note,
            ("", *(Column(head, "percent") for head in names.values())),
            (
                (names[who], *(row[other].value if other in row else "" for other in names))
                for who, row in panel.matrix.items()
            ),
        )
    note += " Other raters: the mean over all of them who rated the same. The JSON holds all pairs."
    return build_table(
        f"Agreement per rater: {name}",
        note,
        ("", *(Column(head, "percent") for head in ("other raters", joint, "judge"))),
        (
            (who, _mean_with_others(panel, who, raters), *(panel.matrix[who][it].value for it in (MAJORITY, JUDGE)))
            for who in raters
        ),
    )


def _mean_with_others(panel: Panel, who: str, raters: list[str]) -> float | None:
    known = [share for other in raters if other != who and (share := panel.matrix[who][other].value) is not None]
    return sum(known) / len(known) if known else None


def panel_rows(panel: Panel) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of raters and a judge over the same cases."""
    for score in panel.scores:
        for figure, who, rate in (
            ("score", MAJORITY, score.human),
            ("score", JUDGE, score.judge),
            ("score on what both decided", MAJORITY, score.human_of_both),
            ("score on what both decided", JUDGE, score.judge_of_both),
        ):
            yield {"figure": figure, "run": score.run, "level": score.level, "first": who, **estimate_columns(rate)}
    pair = {"first": MAJORITY, "second": JUDGE}
    both = {"figure": "agreement", **pair}
    for level, it in panel.with_judge_by_level.items():
        yield {**both, "level": level, **estimate_columns(it)}
    for run, it in panel.with_judge_by_run.items():
        yield {**both, "run": run, **estimate_columns(it)}
    for kind, it in panel.with_judge_by_kind.items():
        yield {**both, "kind": kind, **estimate_columns(it)}
    names = list(panel.matrix)
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            it = panel.matrix[first][second]
            yield {"figure": "agreement", "first": first, "second": second, **estimate_columns(it)}
    yield {"figure": "mean agreement of people", **estimate_columns(panel.human)}
    yield {"figure": "Krippendorff's alpha of people", **estimate_columns(panel.alpha)}
    yield {"figure": "Cronbach's alpha of people", **estimate_columns(panel.cronbach)}
    for name, accuracy in _accuracy_figures(panel.classified).items():
        whole = {"n": panel.classified.n, "left_out": panel.classified.left_out}
        yield {"figure": name, **pair, **whole, **estimate_columns(accuracy)}
    yield {"figure": "r within levels", **pair, **estimate_columns(panel.within_levels)}
    for run, r in panel.within_levels_by_run.items():
        yield {"figure": "r within levels", "run": run, **pair, **estimate_columns(r)}
    for run, r in panel.over_levels_by_run.items():
        yield {"figure": "r over levels", "run": run, **pair, **estimate_columns(r)}
    for level, r in panel.r_by_run.items():
        yield {"figure": "r from run to run", "level": level, **pair, **estimate_columns(r)}
    yield from rank_rows(panel.ranks)
    for own in panel.by_rater:
        yield {"figure": "score", "run": own.run, "level": own.level, "first": own.rater, **estimate_columns(own.rate)}


def rank_rows(ranks: RankAgreement) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of the rank correlation of runs, level by level and on average."""
    who = {"first": MAJORITY, "second": JUDGE}
    for level, r in ranks.by_level.items():
        yield {"figure": "rank correlation of runs", **who, "level": level, **estimate_columns(r)}
    mean: dict[str, object] = {"value": ranks.mean, "n": ranks.levels, "left_out": ranks.left_out}
    if ranks.interval is not None:
        mean |= {"low": ranks.interval.low, "high": ranks.interval.high}
    yield {"figure": "mean rank correlation of runs", **who, **mean}
