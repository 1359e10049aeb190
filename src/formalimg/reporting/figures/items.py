"""Figures of items: predicates and classes of formulas, concepts and prompt lengths, fields and questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formalimg.logic import atoms, vocabulary
from formalimg.reporting.figures.axes import count_axis
from formalimg.reporting.figures.bar_charts import ShareList, bar_chart, share_list
from formalimg.reporting.figures.distributions import BoxPlot, box_chart
from formalimg.reporting.figures.heatmap import HeatMap, heat_map
from formalimg.reporting.figures.series import Chart, Point, Series, numbered_style
from formalimg.reporting.figures.svg import Figure
from formalimg.suites import CATEGORIES, Item, Suite, concept_census, count_contents, plain_tags
from formalimg.suites import suite as suite_of


def predicates_of_suites(suites: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
    """Yield the distribution of predicates (Figure 9 of FormalImg), with a bar for each suite."""
    series = []
    for number, (suite, items) in enumerate(suites.items()):
        census = count_contents(suite, items)
        drawn = {name: census.predicates[name] for name in census.predicate_shares}
        if total := sum(drawn.values()):
            shares = {name: Point(count / total) for name, count in drawn.items()}
            series.append(Series(suite_of(suite).title, numbered_style(number), shares))
    if series:
        names = dict.fromkeys(name for one in series for name in one.points)
        listed = " and ".join(one.name for one in series)
        chart = Chart(
            f"{listed}: predicates",
            "Of all uses of predicates, but for those that every instruction needs. A dash: the suite has no such one.",
            tuple(
                sorted(
                    names, key=lambda name: (-sum(one.points[name].value for one in series if name in one.points), name)
                )
            ),
            tuple(series),
            "of all uses (%)",
            percent=True,
        )
        yield bar_chart("-".join((*suites, "predicates")), chart)


def formula_figures(suite: Suite, items: Sequence[Item[Any]]) -> Iterator[Figure]:
    """Yield predicates by level (Figure 4a of FormalImg), and classes (its Figures 7 and 8)."""
    used: Counter[tuple[str, str]] = Counter()
    levels = Counter(str(item.level) for item in items)
    for item in items:
        used.update({(atom.predicate, str(item.level)) for atom in atoms(item.spec.formula)})
    predicates = [name for name in vocabulary(suite.vocabulary).predicates if any(name == one for one, _ in used)]
    columns = tuple(sorted(levels, key=int))
    shares = {(name, level): used[name, level] / levels[level] for name in predicates for level in columns}
    yield heat_map(
        f"{suite.name}-predicates-by-level",
        HeatMap(
            f"{suite.title}: items that use a predicate, by level, in percent",
            f"{len(items):,} items; the darker, the more of a level use it.",
            tuple(sorted(predicates, key=lambda name: (-sum(used[name, level] for level in columns), name))),
            columns,
            shares,
            {place: f"{100 * share:.0f}" for place, share in shares.items()},
            suite.level,
        ),
    )
    census = count_contents(suite.name, items)
    if total := census.classes.total():
        yield share_list(
            f"{suite.name}-classes",
            ShareList(
                f"{suite.title}: classes of objects, in percent",
                f"Of the {total:,} times that an item names a class.",
                {name: census.classes[name] / total for name in census.class_shares},
            ),
        )


def concept_figures(suite: Suite, items: Sequence[Item[Any]]) -> Iterator[Figure]:
    """Yield words per prompt by k (Figure 12 of ConceptMix), and the categories of concepts."""
    words = {
        str(level): {item.id: float(len(item.prompt.split())) for item in items if item.level == level}
        for level in sorted({item.level for item in items})
    }
    yield box_chart(
        f"{suite.name}-prompt-length",
        BoxPlot(
            f"{suite.title}: words per prompt, by {suite.level}",
            f"{len(items):,} prompts. Boxes: from quartile to quartile, with the median; whiskers: to the shortest and "
            "the longest.",
            words,
            "words",
            suite.level,
            count_axis(max(int(count) for those in words.values() for count in those.values())),
            shows_each=False,
        ),
    )
    asked = concept_census(items).concepts
    counts: dict[str, int] = {
        category: sum(count for concept, count in asked.items() if concept.category == category)
        for category in CATEGORIES
    }
    points = {category: Point(count / asked.total()) for category, count in counts.items()}
    yield bar_chart(
        f"{suite.name}-concepts",
        Chart(
            f"{suite.title}: concepts that are asked for, by category",
            f"{asked.total():,} concepts in {len(items):,} items.",
            tuple(sorted(points, key=lambda category: (-counts[category], category))),
            (Series("", numbered_style(0), points),),
            "of all concepts (%)",
            percent=True,
        ),
    )


def field_figures(suite: Suite, items: Sequence[Item[Any]]) -> Iterator[Figure]:
    """Yield groups by field (Figure 2a of CF-World), where items have fields, and questions by dimension."""
    if suite.has_field_tags:
        fields = {item.spec.group: ", ".join(plain_tags(item.tags)) or "without a field" for item in items}
        yield _shares(
            f"{suite.name}-fields",
            f"{suite.title}: fields",
            f"{len(fields):,} groups.",
            Counter(fields.values()),
            "of all groups (%)",
        )
    questions = Counter(question.dimension for item in items for question in item.spec.questions)
    if questions:
        yield _shares(
            f"{suite.name}-questions",
            f"{suite.title}: questions, by dimension",
            f"{questions.total():,} questions about {len(items):,} images.",
            Counter({str(name): count for name, count in questions.items()}),
            "of all questions (%)",
        )


def _shares(name: str, title: str, note: str, counts: Counter[str], measure: str) -> Figure:
    points = {f"{what}: {count:,}": Point(count / counts.total()) for what, count in counts.items()}
    ordered = sorted(points, key=lambda label: (-points[label].value, label))
    return bar_chart(
        name, Chart(title, note, tuple(ordered), (Series("", numbered_style(0), points),), measure, percent=True)
    )


def item_figures(items: Sequence[Item[Any]]) -> tuple[Figure, ...]:
    """Return all figures of what items are made of. The predicates of several suites are side by side."""
    names = dict.fromkeys(item.suite for item in items)
    return tuple(_drawings({name: [item for item in items if item.suite == name] for name in names}))


def _drawings(by_suite: dict[str, list[Item[Any]]]) -> Iterator[Figure]:
    formal = {name: items for name, items in by_suite.items() if suite_of(name).vocabulary}
    yield from predicates_of_suites(formal)
    for name, items in by_suite.items():
        suite = suite_of(name)
        match suite.kind:
            case "formula":
                yield from formula_figures(suite, items)
            case "concepts":
                yield from concept_figures(suite, items)
            case "counterfactual":
                yield from field_figures(suite, items)
            case "questions" | "objects":
                pass  # prompts of any kind have no parts to count, and those of GenEval are counted by the census
