"""Tables, CSV and JSON of the consistency of human scores and judge scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from formalimg.benchmarks.registry import suite
from formalimg.human_eval.agreement.attention import attention_rows, attention_table
from formalimg.human_eval.agreement.consistency import HumanScoreStudy, ScoreGaps
from formalimg.human_eval.agreement.headline_tables import scores_headline
from formalimg.human_eval.agreement.rater_tables import (
    judge_accuracy_table,
    pairwise_table,
    panel_rows,
    rank_rows,
    rank_table,
    reliability_table,
)
from formalimg.human_eval.agreement.score_gap import NEAR, QUANTILES, ScoreGap
from formalimg.human_eval.agreement.study_tables import (
    StudyFormat,
    build_table,
    count_columns,
    estimate_columns,
    export_json,
    interval_note,
    number,
    render_study,
    similar_names_note,
    study_csv_text,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, Number
from formalimg.reports.tables.terminal import render_terminal
from formalimg.stats.observations import PASS_THRESHOLD
from formalimg.types import Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

_QUANTILE_COLUMNS = tuple(f"q{100 * share:g}" for share in QUANTILES)
_CSV_COLUMNS = (
    *("judge", "of", "run", "level", "kind", "n", "left_out", "judge_mean", "people_mean"),
    *("difference", "difference_low", "difference_high", "sd", *_QUANTILE_COLUMNS),
    *("near", "near_low", "near_high", "r", "bin_low", "bin_high", "pictures"),
    *("r_low", "r_high", "r_within_levels"),
)
_MAX_BAR = 40


def human_scores_text(studies: Sequence[HumanScoreStudy], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return studies of human scores as text."""
    return render_study(
        format,
        lambda: [table for study in studies for table in score_study_tables(study)],
        lambda: study_csv_text(_CSV_COLUMNS, (row for study in studies for row in _gap_rows(study))),
        lambda: {"scores": [export_json(study) for study in studies]},
    )


def human_scores_table(studies: Sequence[HumanScoreStudy]) -> ConsoleRenderable:
    """Return studies of human scores as something that `rich` can print."""
    return render_terminal(table for study in studies for table in score_study_tables(study))


def score_study_tables(study: HumanScoreStudy) -> Iterator[Table]:
    """Yield the gaps of human and judge scores, the agreement of raters, what passes, and the distributions."""
    for title, gaps in _kinds(study)[:1]:
        yield scores_headline(
            f"Judge and raters: {title}",
            f"Intervals are {100 * study.confidence:g} %, for other items of the same kind.",
            gaps.overall.near,
            (gaps.overall.judge, gaps.overall.human),
            (gaps.overall.mean, gaps.overall.interval),
            gaps.within_levels,
            who=("judge", "mean of raters"),
            distance=NEAR,
        )
    for title, gaps in _kinds(study):
        yield _gap_table(f"Judge minus human: {title}", _study_note(study), _parts(study, gaps))
    yield from _rater_tables(study)
    for title, gaps in _kinds(study):
        yield _histogram(f"Distribution of differences: {title}", gaps.overall)


def _rater_tables(study: HumanScoreStudy) -> Iterator[Table]:
    intervals = interval_note(study.confidence)
    passing = {} if study.passing is None else {f"images with {PASS_THRESHOLD:g} or more": study.passing}
    if (accuracy := judge_accuracy_table(passing, "mean", intervals)) is not None:
        yield accuracy
    alphas = {"Cronbach's, single scores": study.cronbach, "Krippendorff's, single scores": study.alpha}
    alphas |= {f"Krippendorff's, {name}": panel.alpha for name, panel in passing.items()}
    yield reliability_table(alphas, not study.one_rater_per_column, intervals)
    ranks = {"mean scores": study.ranks, **{name: panel.ranks for name, panel in passing.items()}}
    if (ranked := rank_table(ranks, suite(study.suite).level, intervals)) is not None:
        yield ranked
    for name, panel in passing.items():
        yield pairwise_table(name, panel, "mean")
    if study.attention is not None:
        yield attention_table(study.attention)


def _kinds(study: HumanScoreStudy) -> list[tuple[str, ScoreGaps]]:
    kinds = (("questions, summed up", study.questions), ("whole images", study.whole))
    return [(title, gaps) for title, gaps in kinds if gaps is not None]


def _parts(study: HumanScoreStudy, gaps: ScoreGaps) -> list[tuple[str, ScoreGap]]:
    level = suite(study.suite).level
    dimensions = study.by_dimension.items() if gaps is study.questions else ()
    fields = study.by_tag.items() if len(study.by_tag) > 1 and gaps is (study.questions or study.whole) else ()
    runs = gaps.by_run.items() if len(gaps.by_run) > 1 else ()
    levels = [(f"{level}{at}", gap) for at, gap in gaps.by_level.items()]
    return [*dimensions, *fields, *levels, *runs, ("all", gaps.overall)]


def _study_note(study: HumanScoreStudy) -> str:
    note = (
        f"{count_noun(study.scores, 'score')} by {count_noun(len(study.raters), 'rater')} of "
        f"{count_noun(study.images, 'image')}; the judge is {study.judge.name}, before any gate. Intervals are "
        f"{100 * study.confidence:g} %. Near: no more than {NEAR:g} apart, in percent."
    )
    if study.profile == "official-code":
        note += " Questions are summed up as in the published code."
    if study.incomplete:
        note += f" Not all questions scored by raters: {study.incomplete}."
    for reason, images in study.unscored.items():
        note += f" Unscored by the judge ({reason}): {images}."
    if study.without_image:
        note += f" Scores without an image: {'; '.join(study.without_image)}."
    if study.not_rated:
        note += f" Images without human scores: {study.not_rated}."
    return note + similar_names_note(study.raters)


def _gap_table(title: str, note: str, gaps: Sequence[tuple[str, ScoreGap]]) -> Table:
    return build_table(
        title,
        note,
        (
            "",
            *(Column(head, "score") for head in ("judge", "human")),
            Column("difference", "difference"),
            Column("sd", "score"),
            Column("median", "difference"),
            Column("near", "percent"),
            Column("r", "number"),
            *count_columns("n", "left out"),
        ),
        (
            (
                name,
                it.judge,
                it.human,
                Number(it.mean, it.interval),
                it.sd,
                it.quantiles.get(0.5),
                number(it.near),
                number(it.r),
                it.n,
                it.left_out,
            )
            for name, it in gaps
        ),
        "result",
    )


def _histogram(title: str, gap: ScoreGap) -> Table:
    """Return the distribution of differences, five bins at a time, so that the one in the middle is `near`."""
    bins, middle = gap.histogram, len(gap.histogram) // 2
    rows = []
    for start in range(middle - 22, middle + 23, 5):
        inside = bins[max(0, start) : start + 5]
        count = sum(it.images for it in inside)
        bar = "█" * round(_MAX_BAR * count / gap.n) if gap.n else ""
        rows.append((f"{inside[0].low:+.3f} to {inside[-1].high:+.3f}", count, bar))
    note = "Judge minus human; the JSON and CSV have finer bins."
    return build_table(title, note, ("", *count_columns("images"), ""), rows, "detail")


def _gap_rows(study: HumanScoreStudy) -> Iterator[dict[str, object]]:
    for title, gaps in _kinds(study):
        who = {"judge": study.judge.name, "of": title}
        yield {**who, **_gap_columns(gaps.overall), "r_within_levels": gaps.within_levels.value}
        for level, gap in gaps.by_level.items():
            yield {**who, "level": level, **_gap_columns(gap)}
        for run, gap in gaps.by_run.items():
            yield {**who, "run": run, **_gap_columns(gap)}
        if gaps is study.questions:
            for dimension, gap in study.by_dimension.items():
                yield {**who, "kind": dimension, **_gap_columns(gap)}
        for low, high, images in gaps.overall.histogram:
            yield {**who, "bin_low": low, "bin_high": high, "pictures": images}


def _gap_columns(gap: ScoreGap) -> dict[str, object]:
    found: dict[str, object] = {"n": gap.n, "left_out": gap.left_out, "judge_mean": gap.judge}
    found |= {"people_mean": gap.human, "difference": gap.mean, "sd": gap.sd, "near": gap.near.value, "r": gap.r.value}
    found |= zip(_QUANTILE_COLUMNS, gap.quantiles.values(), strict=False)
    for name, interval in (("difference", gap.interval), ("near", gap.near.interval), ("r", gap.r.interval)):
        if interval is not None:
            found |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return found


def score_study_rows(study: HumanScoreStudy) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of a study of human scores, in the columns that all human studies share."""
    for of, gaps in _kinds(study):
        yield from _figure_rows(gaps.overall, {"of": of})
        yield {"figure": "r within levels", "of": of, **estimate_columns(gaps.within_levels)}
        for level, gap in gaps.by_level.items():
            yield from _figure_rows(gap, {"of": of, "level": level})
        for run, gap in gaps.by_run.items():
            yield from _figure_rows(gap, {"of": of, "run": run})
    for kind, gap in [*study.by_dimension.items(), *study.by_tag.items()]:
        yield from _figure_rows(gap, {"of": "dimensions" if kind in study.by_dimension else "fields", "kind": kind})
    yield {"figure": "Cronbach's alpha of people", "of": "single scores", **estimate_columns(study.cronbach)}
    yield {"figure": "Krippendorff's alpha of people", "of": "single scores", **estimate_columns(study.alpha)}
    if study.passing is not None:
        yield from ({"of": "passing images", **row} for row in panel_rows(study.passing))
    yield from ({"of": "mean scores", **row} for row in rank_rows(study.ranks))
    if study.attention is not None:
        yield from attention_rows(study.attention)


def _figure_rows(gap: ScoreGap, part: Mapping[str, object]) -> Iterator[dict[str, object]]:
    counts = {"n": gap.n, "left_out": gap.left_out}
    bounds = {"low": gap.interval.low, "high": gap.interval.high} if gap.interval else {}
    yield {"figure": "judge minus people", **part, "value": gap.mean, **bounds, **counts}
    yield {"figure": "score", **part, "first": "people", "value": gap.human, **counts}
    yield {"figure": "score", **part, "first": "judge", "value": gap.judge, **counts}
    yield {"figure": "near", **part, **estimate_columns(gap.near)}
    yield {"figure": "r", **part, **estimate_columns(gap.r)}
