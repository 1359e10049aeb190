"""Tables and CSV rows of A/B studies: the headline, strengths and ranks, levels, and pairs of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalimg.benchmarks.registry import suite
from formalimg.human_eval.agreement.attention import attention_rows, attention_table
from formalimg.human_eval.agreement.preferences import PreferenceStudy
from formalimg.human_eval.agreement.rater_tables import thousandths
from formalimg.human_eval.agreement.study_tables import build_table, count_columns, estimate_columns, interval_note
from formalimg.reports.tables.format import NOTHING, count_noun
from formalimg.reports.tables.model import Cell, Column, Number
from formalimg.stats.agreement import Consistency
from formalimg.stats.comparison import RankRange
from formalimg.stats.observations import Interval
from formalimg.stats.strengths import ModelStrength
from formalimg.types import Table


def preference_study_tables(found: PreferenceStudy) -> Iterator[Table]:
    """Yield the three lines of an A/B study, the strengths, each level, the pairs of runs, and the raters."""
    level, intervals = suite(found.suite).level, interval_note(found.confidence)
    yield _headline(found)
    if found.overall is not None:
        yield build_table(
            "Strengths by preference",
            f"Bradley–Terry with ties (Davidson), {intervals}, for other items of the same kind. Strength: log odds, "
            "relative to the mean of the runs. Better than others: the chance to be preferred to another of these "
            "runs, ties counted as half. Ranks are shared where a difference is not significant among all pairs.",
            (
                "",
                Column("rank", align="right"),
                Column("strength", align="right"),
                Column("better than others", "percent"),
                *count_columns("better", "ties", "worse"),
            ),
            (_strength_cells(it) for it in found.overall.models),
            "result",
            "preferences",
        )
    if len(found.by_level) > 1:
        runs = sorted(found.models)
        rows: list[list[Cell]] = []
        for at, part in found.by_level.items():
            own = {it.model: it for it in part.models} if part else {}
            rows.append([f"{level} {at}", *(_strength(own.get(run)) for run in runs), part.n if part else 0])
        yield build_table(
            f"Strengths by {level}",
            f"Each {level} by itself, {intervals}.",
            ("", *(Column(run, align="right") for run in runs), *count_columns("answers")),
            rows,
            name="preferences",
        )
    yield build_table(
        "Pairs of runs",
        "Answers of raters. Cannot tell: in none of the other numbers.",
        ("", "", *count_columns("first better", "ties", "second better", "cannot tell")),
        found.pairs,
        name="preferences",
    )
    if found.attention is not None:
        yield attention_table(found.attention)


def _headline(found: PreferenceStudy) -> Table:
    models = ", ".join(f"{run} ({model})" if run != model else run for run, model in found.models.items())
    note = f"{count_noun(len(found.raters), 'rater')} compared {models}: {count_noun(found.answers, 'answer')}"
    note += f", and {found.cannot_tell:,} that they cannot tell." if found.cannot_tell else "."
    note += f" Intervals are {100 * found.confidence:g} %, for other items of the same kind."
    rows = [
        ("ranking", _ranking(found)),
        (
            "raters",
            f"alpha {thousandths(found.alpha)}; the left image is better in {_percent(found.left)} of "
            f"{count_noun(found.left.n, 'answer')} that are no ties",
        ),
        ("judge", _judge(found)),
    ]
    return build_table("Preferences of raters", note, ("in short", ""), rows, "result", "preferences")


def _ranking(found: PreferenceStudy) -> str:
    if found.overall is None:
        return f"{NOTHING}: {found.problem}"
    return "; ".join(f"{_rank(it.ranks)} {it.model} {_strength(it)}" for it in found.overall.models)


def _judge(found: PreferenceStudy) -> str:
    if not any(found.judges.values()):
        return f"{NOTHING}: no judge has judged these runs"
    return (
        f"prefers the same image as most raters in {_percent(found.with_judge)} of "
        f"{count_noun(found.with_judge.n, 'pair')}; left out, no majority or no difference: "
        f"{found.with_judge.left_out:,}"
    )


def _strength_cells(it: ModelStrength) -> Sequence[str | int | Number]:
    return (it.model, _rank(it.ranks), _strength(it), Number(it.win_rate), it.wins, it.ties, it.losses)


def _rank(ranks: RankRange) -> str:
    return str(ranks.best) if ranks.best == ranks.worst else f"{ranks.best}–{ranks.worst}"


def _strength(it: ModelStrength | None) -> str:
    return NOTHING if it is None else f"{it.strength:+.2f}{_bounds(it.interval)}"


def _bounds(interval: Interval | None) -> str:
    return f" ({interval.low:+.2f} to {interval.high:+.2f})" if interval else ""


def _percent(found: Consistency) -> str:
    if found.value is None:
        return NOTHING
    bounds = f" ({100 * found.interval.low:.1f}–{100 * found.interval.high:.1f})" if found.interval else ""
    return f"{100 * found.value:.1f} %{bounds}"


def preference_study_rows(found: PreferenceStudy) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of an A/B study."""
    for level, part in [(None, found.overall), *found.by_level.items()]:
        for it in part.models if part else ():
            bounds = {"low": it.interval.low, "high": it.interval.high} if it.interval else {}
            where = {"of": "pairs", "run": it.model, "level": level, "n": it.wins + it.ties + it.losses}
            yield {"figure": "strength", **where, "value": it.strength, **bounds}
            yield {"figure": "better than others", **where, "value": it.win_rate}
            yield {"figure": "best rank", **where, "value": it.ranks.best}
            yield {"figure": "worst rank", **where, "value": it.ranks.worst}
    for pair in found.pairs:
        who = {"of": "pairs", "first": pair.first, "second": pair.second}
        for name, count in zip(pair._fields[2:], pair[2:], strict=True):
            yield {"figure": name.replace("_", " "), **who, "value": count}
    yield {"figure": "left better", "of": "pairs", **estimate_columns(found.left)}
    yield {"figure": "Krippendorff's alpha of people", "of": "pairs", **estimate_columns(found.alpha)}
    yield {
        "figure": "agreement",
        "of": "pairs",
        "first": "majority",
        "second": "judge",
        **estimate_columns(found.with_judge),
    }
    if found.attention is not None:
        yield from attention_rows(found.attention)
