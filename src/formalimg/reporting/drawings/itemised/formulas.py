"""What formulas are made of: predicates (Figure 9 of FormalImg), also by K (its Figure 4a), and classes (7 and 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formalimg.logic import atoms, vocabulary
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.heat import HeatMap, heat_map
from formalimg.reporting.drawings.listing import Listing, listing
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.rows import bar_chart
from formalimg.reporting.drawings.series import Chart, Point, Series
from formalimg.suites import Item, Suite, take_census
from formalimg.suites import suite as suite_of


def predicates_of_suites(suites: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Drawing]:
    """How the predicates that are drawn are distributed, with a bar for each suite."""
    series = []
    for number, (suite, items) in enumerate(suites.items()):
        census = take_census(suite, items)
        drawn = {name: census.predicates[name] for name in census.predicate_shares}
        if total := sum(drawn.values()):
            shares = {name: Point(count / total) for name, count in drawn.items()}
            series.append(Series(suite_of(suite).title, numbered_look(number), shares))
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


def drawings_of_formulas(suite: Suite, items: Sequence[Item[Any]]) -> Iterator[Drawing]:
    """Predicates level by level, and classes."""
    used: Counter[tuple[str, str]] = Counter()
    levels = Counter(str(item.level) for item in items)
    for item in items:
        used.update({(atom.predicate, str(item.level)) for atom in atoms(item.spec.formula)})
    predicates = [name for name in vocabulary(suite.name).predicates if any(name == one for one, _ in used)]
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
    census = take_census(suite.name, items)
    if total := census.classes.total():
        yield listing(
            f"{suite.name}-classes",
            Listing(
                f"{suite.title}: classes of objects, in percent",
                f"Of the {total:,} times that an item names a class.",
                {name: census.classes[name] / total for name in census.class_shares},
            ),
        )
