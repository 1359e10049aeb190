"""Tables of ConceptMix: hard concepts (Figures 4, 5 and 13), seconds per image (Table 7), cost of grading (D.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import NamedTuple

from formalimg.benchmarks.conceptmix.pools import Pool, load_pools
from formalimg.benchmarks.conceptmix.scores import (
    ConceptAnswer,
    MarkedImage,
    MarkedRun,
    concept_fractions,
    full_marks,
    has_answers,
    mark_run,
    prompt_lengths,
)
from formalimg.benchmarks.conceptmix.spec import CATEGORIES
from formalimg.reports.comparison_model import HowCounted, SeenRun, run_cell, run_column, table_of_rates
from formalimg.reports.tables.format import rule_text
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import Interval, Observation, Rate
from formalimg.stats.summary import summarize
from formalimg.types import Benchmark, Table


def concept_tables(suite: Benchmark, runs: Sequence[SeenRun], rules: HowCounted) -> tuple[Table, ...]:
    """Return all tables for runs of a ConceptMix suite, some possibly without rows."""
    answered = [mark_run(run, rules.missing) for run in runs if has_answers(run)]
    level, at_one = suite.level, f"{suite.level} = 1"
    one_more = f"One object and one more concept ({at_one}), by"
    shown_heading = "Concepts that are shown, by"
    easy_or_hard = f"Values that are known to be easy or hard, over all {level}"
    return (
        full_marks(suite, runs, rules),
        concept_fractions(suite, answered, rules),
        _one_more_table(
            f"categories at {at_one}", f"{one_more} category of the concept", _BY_CATEGORY, answered, rules
        ),
        _one_more_table(f"values at {at_one}", f"{one_more} value of the concept", _BY_VALUE, answered, rules),
        _answer_table("categories", f"{shown_heading} category, over all {level}", _BY_CATEGORY, answered, rules),
        _answer_table("easy and hard values", easy_or_hard, _BY_DIFFICULTY, answered, rules),
        _answer_table("values", f"{shown_heading} value, over all {level}", _BY_VALUE, answered, rules),
        prompt_lengths(suite, runs),
        generation_seconds(runs, rules),
        grading_cost(runs),
    )


class _Grouping(NamedTuple):
    """A grouping of answers: column headings, and a function returning an answer's labels, or None to omit it."""

    heads: tuple[str, ...]
    labels: Callable[[ConceptAnswer], tuple[str, ...] | None]


def _find_difficulty(answer: ConceptAnswer) -> str:
    pool = dict[str, Pool](load_pools().items()).get(answer.category)
    return (pool.difficulty(answer.value) or "") if pool else ""


_BY_CATEGORY = _Grouping(("category",), lambda answer: (answer.category,))
_BY_DIFFICULTY = _Grouping(
    ("category", "band"), lambda answer: (answer.category, band) if (band := _find_difficulty(answer)) else None
)
_BY_VALUE = _Grouping(
    ("category", "value", "band"), lambda answer: (answer.category, answer.value, _find_difficulty(answer))
)

_AVERAGED = "averaged"  # The label of means over runs, or over categories, as in Figure 4 on the web page of ConceptMix
_AVERAGED_NOTE = (
    f" {_AVERAGED}: the mean of the rates above it, each counting the same; over categories, without object, which "
    "the authors' figure does not have."
)


def _one_more_table(name: str, title: str, by: _Grouping, runs: Sequence[MarkedRun], rules: HowCounted) -> Table:
    answers = {
        run.name: [(image, image.one_more) for image in run.images if image.level == 1 and image.one_more is not None]
        for run in runs
    }
    rates: dict[tuple[str, ...], dict[str, tuple[Rate, Rate]]] = {}
    for labels, run, group in _group_answers(answers, by):
        shown_rate = _summarize_rate((Observation(image.item, 1, answer.is_shown) for image, answer in group), rules)
        full = _summarize_rate((Observation(image.item, 1, image.passed) for image, _ in group), rules)
        rates.setdefault(labels, {})[run] = shown_rate, full
    rows = [
        TableRow((*labels, *run_cell(run, runs), *_count_cells(pair[1]), *map(Number.of, pair)), run)
        for labels, by_run in rates.items()
        for run, pair in by_run.items()
    ]
    if by is _BY_CATEGORY:
        rows += _average_rows(rates, [run.name for run in runs])
    return table_of_rates(
        name,
        title,
        (
            *map(Column, by.heads),
            *run_column(runs),
            Column("images", "count"),
            Column("scored", "count"),
            Column("shown", "percent"),
            Column("full mark", "percent"),
        ),
        rows,
        "shown: the images that show the concept; for objects, the second object. full mark: those that show both. "
        f"In percent, with the {100 * rules.confidence:g} % interval. {rule_text(rules.missing)}."
        + (_AVERAGED_NOTE if by is _BY_CATEGORY else ""),
    )


def _average_rows(
    rates: Mapping[tuple[str, ...], Mapping[str, tuple[Rate, Rate]]], runs: Sequence[str]
) -> Iterator[TableRow]:
    """Yield rows of means over runs for each category, and over categories for each run, where there are several."""
    # Only over the same runs or categories: others would not compare.
    if len(runs) > 1:
        for labels, by_run in rates.items():
            if len(by_run) == len(runs):
                yield _average_row((*labels, _AVERAGED), list(by_run.values()))
    by_category = [by_run for (category, *_), by_run in rates.items() if category != "object"]
    if len(by_category) > 1:
        complete = [run for run in runs if all(run in by_run for by_run in by_category)]
        for run in complete:
            yield _average_row((_AVERAGED, *run_cell(run, runs)), [by_run[run] for by_run in by_category], run)
        if len(complete) == len(runs) > 1:
            pairs = [pair for by_run in by_category for pair in by_run.values()]
            yield _average_row((_AVERAGED, _AVERAGED), pairs)


def _average_row(labels: tuple[str, ...], pairs: Sequence[tuple[Rate, Rate]], run: str = "") -> TableRow:
    expected, scored = (sum(getattr(full, name) for _, full in pairs) for name in ("expected", "scored"))
    means = []
    for rates in zip(*pairs, strict=True):
        values = [rate.value for rate in rates if rate.value is not None]
        mean = fmean(values) if len(values) == len(rates) else None  # one that is unknown could be anything
        worst = fmean(rate.passed / rate.expected for rate in rates)
        best = fmean((rate.passed + rate.expected - rate.scored) / rate.expected for rate in rates)
        means.append(Number(mean, scored=scored, expected=expected, bounds=Interval(worst, best)))
    return TableRow((*labels, expected, Number(scored, scored=scored, expected=expected), *means), run)


def _answer_table(name: str, title: str, by: _Grouping, runs: Sequence[MarkedRun], rules: HowCounted) -> Table:
    answers = {run.name: [(image, answer) for image in run.images for answer in image.answers] for run in runs}
    rows = []
    for labels, run, group in _group_answers(answers, by):
        rate = _summarize_rate(
            (Observation(image.item, image.level, answer.is_shown) for image, answer in group), rules
        )
        cells = (*labels, *run_cell(run, runs), *_count_cells(rate), rate.passed, Number.of(rate))
        rows.append(TableRow(cells, run))
    return table_of_rates(
        name,
        title,
        (
            *map(Column, by.heads),
            *run_column(runs),
            Column("asked", "count"),
            Column("answered", "count"),
            Column("shown", "count"),
            Column("rate", "percent"),
        ),
        rows,
        "asked: how often images were to show it. answered: how often a verdict says whether they do. "
        f"rate: shown of {'asked' if rules.missing == 'fail' else 'answered'}, in percent, "
        f"with the {100 * rules.confidence:g} % interval. {rule_text(rules.missing)}.",
    )


def _group_answers(
    answers: Mapping[str, Sequence[tuple[MarkedImage, ConceptAnswer]]], by: _Grouping
) -> Iterator[tuple[tuple[str, ...], str, list[tuple[MarkedImage, ConceptAnswer]]]]:
    groups: dict[tuple[str, ...], dict[str, list[tuple[MarkedImage, ConceptAnswer]]]] = {}
    for run, entries in answers.items():
        for entry in entries:
            labels = by.labels(entry[1])
            if labels is not None:
                groups.setdefault(labels, {}).setdefault(run, []).append(entry)
    order: dict[str, int] = {category: index for index, category in enumerate(CATEGORIES)}
    for labels in sorted(groups, key=lambda labels: (order.get(labels[0], len(order)), labels)):
        for run, group in groups[labels].items():
            yield labels, run, group


def _summarize_rate(observations: Iterable[Observation], rules: HowCounted) -> Rate:
    return summarize(observations, bands={}, epsilon=None, missing=rules.missing, confidence=rules.confidence).overall


def _count_cells(rate: Rate) -> tuple[Cell, ...]:
    return rate.expected, Number(rate.scored, scored=rate.scored, expected=rate.expected)


# fmt: off
_PUBLISHED_SECONDS: Mapping[str, float] = {
    "SD v1.4": 2.17, "SDXL Turbo": 0.34, "SD v2.1": 3.99, "SDXL Base": 10.03, "DeepFloyd IF XL v1": 18.69,
    "DALL-E 3": 12.58, "Playground v2.5": 10.17, "PixArt alpha": 4.41,
}
# fmt: on
"""Seconds per image as printed in Table 7 of ConceptMix: on one NVIDIA A6000, DALL-E 3 by its server."""


def generation_seconds(runs: Sequence[SeenRun], rules: HowCounted) -> Table:
    """Return the generation time per image by run, omitting premade images and runs without recorded times."""
    by_folder = {run.record.folder: run for run in reversed(runs)}  # a run is there once for each of its judges
    rows: list[TableRow] = []
    for run in runs:
        seconds = run.record.image_seconds()
        premade = run.record.manifest.model.name.startswith("folder/")
        if by_folder[run.record.folder] is run and seconds and not premade:
            interval = mean_interval(seconds, rules.confidence)
            bounds = None if interval is None else Interval(max(0.0, interval.low), interval.high)
            cells = (run.name, len(seconds), Number(fmean(seconds), bounds), median(seconds), sum(seconds))
            rows.append(TableRow(cells, run.name))
    if rows and rules.references:
        rows += [
            TableRow((f"{model} (published)", None, Number(mean), None, None), model, model)
            for model, mean in _PUBLISHED_SECONDS.items()
        ]
    published = " Published: ConceptMix, Table 7, on one NVIDIA A6000." if rules.references else ""
    return Table(
        "seconds per image",
        "Seconds per image",
        (
            Column("run"),
            Column("images", "count"),
            *(Column("mean", "number"), Column("median", "number"), Column("total", "decimal")),
        ),
        tuple(rows),
        (
            "From the request to the image, with all attempts at it; images of a batch share its time. Requests that "
            "run side by side take longer each: for the time of a model alone, set its concurrency to 1. With the "
            f"{100 * rules.confidence:g} % interval of the mean.{published}",
        ),
    )


def grading_cost(runs: Sequence[SeenRun]) -> Table:
    """Return the mean and total cost of the verdicts, without rows if all were free."""
    rows: list[TableRow] = []
    for run in runs:
        costs = [image.cost for image in run.images if image.looked_at]
        prices = [cost for cost in costs if cost is not None]
        if any(prices) or len(prices) < len(costs):
            total = sum(prices) if prices else None
            mean = None if total is None else total / len(prices)
            rows.append(TableRow((run.name, len(costs), mean, total, len(costs) - len(prices)), run.name))
    return Table(
        "cost of grading",
        "Cost of grading, in US dollars",
        (
            Column("run"),
            Column("graded", "count"),
            Column("mean per image", "dollars"),
            Column("total", "dollars"),
            Column("price unknown", "count"),
        ),
        tuple(rows),
        ("Of the images that the judge looked at. Those with unknown prices are in neither mean nor total.",),
    )
