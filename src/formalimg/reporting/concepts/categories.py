"""Which concepts are hard: by category (Figure 4 of ConceptMix), by value (its Figures 5 and 13), and by difficulty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from formalimg.reporting.concepts.answers import Answer, MarkedRun
from formalimg.reporting.reading import HowCounted
from formalimg.reporting.run_columns import run_cell, run_head, with_figures
from formalimg.reporting.tables import Cell, Figure, Table, TableRow
from formalimg.reporting.words import rule_text
from formalimg.stats import Observation, Rate, summarize
from formalimg.suites import CATEGORIES, Suite, load_pools


class _Given(NamedTuple):
    """An answer, and the item and level of the image it is about."""

    item: str
    level: int
    answer: Answer


class _Group(NamedTuple):
    """Answers that are counted together, under the words that stand before them."""

    labels: tuple[str, ...]
    run: str
    rate: Rate


def of_one_more_concept(suite: Suite, runs: Sequence[MarkedRun], how: HowCounted) -> Table:
    """Images of one object and one concept, by the category of the concept."""
    at_one = f"{suite.level} = 1"
    return _one_more(
        f"categories at {at_one}",
        f"One object and one more concept ({at_one}), by category of the concept",
        ("category",),
        lambda one: (one.category,),
        runs,
        how,
    )


def values_of_one_more_concept(suite: Suite, runs: Sequence[MarkedRun], how: HowCounted) -> Table:
    """Images of one object and one concept, value by value."""
    at_one = f"{suite.level} = 1"
    return _one_more(
        f"values at {at_one}",
        f"One object and one more concept ({at_one}), by value of the concept",
        ("category", "value", "band"),
        lambda one: (one.category, one.value, _difficulty(one)),
        runs,
        how,
    )


def _one_more(
    name: str,
    title: str,
    heads: tuple[str, ...],
    labels_of: Callable[[Answer], tuple[str, ...]],
    runs: Sequence[MarkedRun],
    how: HowCounted,
) -> Table:
    rows: list[TableRow] = []
    found = {
        run.name: [(image, one) for image in run.images if image.level == 1 and (one := image.one_more)] for run in runs
    }
    every = {labels_of(one) for those in found.values() for _, one in those}
    for labels in sorted(every, key=lambda labels: (_place(labels[0]), labels)):
        for run, those in found.items():
            here = [(image, one) for image, one in those if labels_of(one) == labels]
            if here:
                shown = _rate((Observation(image.item, 1, one.shown) for image, one in here), how)
                full = _rate((Observation(image.item, 1, image.passed) for image, _ in here), how)
                figures: tuple[Cell, ...] = (*_counts(full), Figure.of_rate(shown), Figure.of_rate(full))
                rows.append(TableRow(run, (*labels, *run_cell(run, runs), *figures)))
    return Table(
        name,
        title,
        "shown: the images that show the concept; for objects, the second object. full mark: those that show both. "
        f"In percent, with the {100 * how.confidence:g} % interval. {rule_text(how.missing)}.",
        (*heads, *run_head(runs), "pictures", "scored", "shown", "full mark"),
        with_figures(rows),
    )


def by_category(suite: Suite, runs: Sequence[MarkedRun], how: HowCounted) -> Table:
    """How often concepts of each category are shown, over all levels."""
    return _table(
        "categories",
        f"Concepts that are shown, by category, over all {suite.level}",
        ("category",),
        _groups(runs, how, lambda answer: (answer.category,)),
        runs,
        how,
    )


def by_difficulty(suite: Suite, runs: Sequence[MarkedRun], how: HowCounted) -> Table:
    """How often the values that are known to be easy or hard are shown, over all levels."""

    def band(answer: Answer) -> tuple[str, ...] | None:
        known = _difficulty(answer)
        return (answer.category, known) if known else None

    return _table(
        "easy and hard values",
        f"Values that are known to be easy or hard, over all {suite.level}",
        ("category", "band"),
        _groups(runs, how, band),
        runs,
        how,
    )


def by_value(suite: Suite, runs: Sequence[MarkedRun], how: HowCounted) -> Table:
    """How often each concept is shown, over all levels."""
    return _table(
        "values",
        f"Concepts that are shown, by value, over all {suite.level}",
        ("category", "value", "band"),
        _groups(runs, how, lambda answer: (answer.category, answer.value, _difficulty(answer))),
        runs,
        how,
    )


def _groups(
    runs: Sequence[MarkedRun], how: HowCounted, labels_of: Callable[[Answer], tuple[str, ...] | None]
) -> Iterator[_Group]:
    """The answers of each run by their labels; those without are left out. Categories in their order, then by name."""
    by_labels: dict[tuple[str, ...], dict[str, list[_Given]]] = {}
    for run in runs:
        for image in run.images:
            for answer in image.answers:
                labels = labels_of(answer)
                if labels is not None:
                    given = _Given(image.item, image.level, answer)
                    by_labels.setdefault(labels, {}).setdefault(run.name, []).append(given)
    for labels in sorted(by_labels, key=lambda labels: (_place(labels[0]), labels)):
        for run_name, those in by_labels[labels].items():
            seen = (Observation(given.item, given.level, given.answer.shown) for given in those)
            yield _Group(labels, run_name, _rate(seen, how))


def _table(
    name: str,
    title: str,
    heads: tuple[str, ...],
    groups: Iterable[_Group],
    runs: Sequence[MarkedRun],
    how: HowCounted,
) -> Table:
    rows = [
        TableRow(
            group.run,
            (
                *group.labels,
                *run_cell(group.run, runs),
                *_counts(group.rate),
                Figure(group.rate.passed, "count"),
                Figure.of_rate(group.rate),
            ),
        )
        for group in groups
    ]
    return Table(
        name,
        title,
        "asked: how often images were to show it. answered: how often a verdict says whether they do. "
        f"rate: shown of {'asked' if how.missing == 'fail' else 'answered'}, in percent, "
        f"with the {100 * how.confidence:g} % interval. {rule_text(how.missing)}.",
        (*heads, *run_head(runs), "asked", "answered", "shown", "rate"),
        with_figures(rows),
    )


def _rate(observations: Iterable[Observation], how: HowCounted) -> Rate:
    """The rate of what was observed; what was observed of one item is taken together."""
    return summarize(observations, bands={}, epsilon=None, missing=how.missing, confidence=how.confidence).overall


def _counts(rate: Rate) -> tuple[Cell, ...]:
    """How often something was asked, and how often that was answered; marked if not always."""
    answered = Figure(rate.scored, "count", scored=rate.scored, expected=rate.expected)
    return Figure(rate.expected, "count"), answered


def _difficulty(answer: Answer) -> str:
    for category, pool in load_pools().items():
        if category == answer.category:
            return pool.difficulty(answer.value) or ""
    return ""


def _place(category: str) -> int:
    known: tuple[str, ...] = CATEGORIES
    return known.index(category) if category in known else len(known)
