"""The table of `formalimg plan --width`: the images needed for intervals of a given half width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.cli.plan_costs import PlanCosts
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Column, TableRow
from formalimg.stats.planning import Design, Goal, images_for_width, items_for_difference, labels_for_width, power_of
from formalimg.stats.variance_components import DEFAULT_SPREAD
from formalimg.types import Item, Table


def interval_table(suite: str, items: Sequence[Item[Any]], width: float, cost: PlanCosts, *, labels: bool) -> Table:
    """Return a table of the images and labels needed for intervals of the given half width."""
    about = suite_of(suite)
    counts = Counter(item.level for item in items)
    number, available = len(counts), min(counts.values())

    def row(what: str, per_level: int, labelled: str = NOTHING) -> TableRow:
        images = per_level * number
        fits = "" if per_level <= available else f"only {available:,} items"
        priced = (cost.text(images),) if cost.parties else ()
        return TableRow((what, per_level, images, *((labelled,) if labels else ()), *priced, fits))

    single = images_for_width(width)
    whole = ceil(single / number)
    discordant = DEFAULT_SPREAD.judge.difference_variance()
    pairs = ceil(items_for_difference(width, discordant=discordant) / number)
    power = power_of(Design(pairs * number), Goal(width), DEFAULT_SPREAD)
    rows = [row(f"rate of one {about.level}", single), row("Overall", whole), row("difference of two models", pairs)]
    if labels:
        cells = {(level, passed): count // 2 for level, count in counts.items() for passed in (True, False)}
        needed = labels_for_width({cell: count for cell, count in cells.items() if count}, width)
        rows.append(
            row("Overall, corrected by labels", available, "not enough images" if needed is None else f"{needed:,}")
        )
    columns = (
        Column(f"±{100 * width:g} points, 95 %"),
        Column(f"images per {about.level}", "count"),
        Column("images", "count"),
        *((Column("labels", align="right"),) if labels else ()),
        *((Column("about", align="right"),) if cost.parties else ()),
        Column(""),
    )
    notes = [
        f"{number} levels of {available:,} items. Rates are taken to be 50 %; where they are not, fewer images do.",
        f"Two models, on the same items, are taken to differ on {100 * discordant:.0f} % of them. Where they are "
        f"{100 * width:g} points apart, such an interval shows it with power {power:.2f} only: for more, "
        f"`--power 0.8 --difference {100 * width:g}`.",
    ]
    if labels:
        notes.append("Labels: all images of the suite judged, and the judge taken to be wrong on one in five.")
    if cost.parties:
        advice = "" if cost.is_known else "; give the price with --price"
        notes.append(f"Costs of {' and '.join(cost.parties)}{advice}.")
    notes.append("G alone takes fewer: `formalimg run --adaptive` stops as soon as it is clear.")
    return Table("plan", f"{about.title}: images for ±{100 * width:g} points", columns, tuple(rows), tuple(notes))
