"""The design table of `formalimg plan --power`: designs that detect a true difference, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from formalimg.cli.plan_costs import PlanCosts
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Column, TableRow
from formalimg.stats.planning import (
    Design,
    Goal,
    plan_corrected_design,
    plan_judged_design,
    plan_labelled_design,
    power_of,
)
from formalimg.stats.variance_components import AnswerSpread, majority_labels
from formalimg.types import Table

_IMAGES = (1, 4)
_RATERS = (1, 3, 5)
_FEW_IMAGES, _FEW_RATERS = 100, 5  # A way to spend 500 ratings; the other is as many images with one rater
_GOOD_CORRELATION = 0.5  # Of a judge that follows people closely; by yes and no, hardly any can do better than 0.6
_WORTH = 0.95  # A judge beside people is recommended if the design then costs so much less
_SIZES = 30  # How many numbers of judged items are compared for their cost


class PlannedSuite(NamedTuple):
    """The title of a suite and its numbers of items and levels."""

    title: str
    items: int
    levels: int


def design_table(
    suite: PlannedSuite, goal: Goal, spread: AnswerSpread, costs: PlanCosts, source: str, *, is_default: bool
) -> Table:
    """Return a table of designs that detect a difference between two models, cheapest first."""
    designs = sorted(_designs(suite, goal, spread, costs), key=costs.rank)
    is_priced = bool(costs.parties) or costs.rating is not None
    is_short = any(design.items > suite.items for design in designs)
    columns = (
        Column("decided by"),
        *(Column(name, "count") for name in ("items", "per item")),
        Column("raters", align="right"),
        Column("labelled", align="right"),
        *(Column(name, "count") for name in ("images", "ratings")),
        *((Column("about", align="right"),) if is_priced else ()),
        *((Column(""),) if is_short else ()),
    )
    rows = tuple(
        TableRow(
            (
                _decided_by(design),
                design.items,
                design.images,
                str(design.raters) if design.labelled else NOTHING,
                f"{design.labelled:,}" if design.labelled else NOTHING,
                design.total_images,
                design.ratings,
                *((costs.design_text(design),) if is_priced else ()),
                *((_shortage(suite, design, goal, spread),) if is_short else ()),
            )
        )
        for design in designs
    )
    notes = [
        _recommendation(suite, designs, costs),
        *_remarks(goal, spread),
        *(_better_judge(suite, goal, spread, costs) if is_default else ()),
        source,
        "Images per item are of each model, raters per image; images and ratings are those of both models. "
        + _cost_rule(costs),
    ]
    title = f"{suite.title}: a difference of {100 * goal.difference:g} points, found with power {goal.power:g}"
    return Table("plan", title, columns, rows, tuple(notes))


def _designs(suite: PlannedSuite, goal: Goal, spread: AnswerSpread, costs: PlanCosts) -> Iterator[Design]:
    for images in _IMAGES:
        yield _round_up(plan_judged_design(goal, spread, images), suite)
    for images, raters in [*((1, raters) for raters in _RATERS), *((images, 1) for images in _IMAGES[1:])]:
        yield _round_up(plan_labelled_design(goal, spread, images, raters), suite)
    for images in _IMAGES:
        if (design := _cheapest_corrected(suite, goal, spread, costs, images)) is not None:
            yield design


def _round_up(design: Design, suite: PlannedSuite) -> Design:
    """Round the number of items up so that every level has the same number."""
    items = suite.levels * ceil(design.items / suite.levels)
    return design._replace(items=items, labelled=items if design.labelled else 0)


def _cheapest_corrected(
    suite: PlannedSuite, goal: Goal, spread: AnswerSpread, costs: PlanCosts, images: int
) -> Design | None:
    """Return the cheapest design that corrects a judge with labels, or None if no size is sufficient."""
    sizes = {suite.items * n // _SIZES // suite.levels * suite.levels for n in range(1, _SIZES + 1)}
    designs = (
        plan_corrected_design(goal, spread, items, images, 1, suite.levels)
        for items in sorted(sizes)
        if items > suite.levels
    )
    return min((design for design in designs if design is not None), key=costs.rank, default=None)


def _decided_by(design: Design) -> str:
    if not design.labelled:
        return "judge alone"
    return "judge + labels" if design.has_judge else "people alone"


def _shortage(suite: PlannedSuite, design: Design, goal: Goal, spread: AnswerSpread) -> str:
    """Return a note on the achievable power if a design needs more items than the suite has."""
    if design.items <= suite.items:
        return ""
    largest = design._replace(items=suite.items, labelled=suite.items if design.labelled else 0)
    return f"has {suite.items:,}: power {power_of(largest, goal, spread, suite.levels):.2f}"


def _recommendation(suite: PlannedSuite, designs: list[Design], costs: PlanCosts) -> str:
    """Return a note that recommends the cheapest design with human labels that fits the suite."""
    by_people = [design for design in designs if design.labelled and design.items <= suite.items]
    if not by_people:
        return (
            f"Recommended: none, as {suite.items:,} items are too few to find it by people: plan a larger difference, "
            "or more items."
        )
    plain = next((design for design in by_people if not design.has_judge), by_people[0])
    design = by_people[0] if costs.rank(by_people[0]) < _WORTH * costs.rank(plain) else plain
    labels = f"{design.labelled:,} of them labelled, " if design.has_judge else ""
    return (
        f"Recommended: {_decided_by(design)}, {design.items:,} items, {labels}{design.images} "
        f"image{'s' * (design.images > 1)} per item and {design.raters} rater{'s' * (design.raters > 1)} per image. "
        "The judge alone finds its own difference, which people may see otherwise."
    )


def _remarks(goal: Goal, spread: AnswerSpread) -> Iterator[str]:
    """Yield notes on the relative value of raters and images."""
    single, several = (majority_labels(spread.people, raters) for raters in (1, _FEW_RATERS))
    ratio = _FEW_RATERS * several.relative_variance / single.relative_variance
    yield (
        f"{_FEW_IMAGES * _FEW_RATERS} images with 1 rater beat {_FEW_IMAGES} images with the majority of "
        f"{_FEW_RATERS}: the variance of a difference is {ratio:.1f} times as large with {_FEW_IMAGES}."
    )
    yield (
        f"The difference is that by one rater per image: {100 * goal.difference:g} points by one are "
        f"{100 * goal.difference * several.gain:.2g} by the majority of {_FEW_RATERS}."
    )


def _better_judge(suite: PlannedSuite, goal: Goal, spread: AnswerSpread, costs: PlanCosts) -> Iterator[str]:
    better = spread._replace(correlation=_GOOD_CORRELATION)
    design = _cheapest_corrected(suite, goal, better, costs._replace(image=0.0, verdict=0.0, parties=("",)), 1)
    if design is not None:
        yield (
            f"The judge's differences are taken to correlate with one rater's at {spread.observed_correlation():.2f}; "
            f"at {better.observed_correlation():.2f}, {design.labelled:,} labelled items of {design.items:,} judged "
            "ones are enough."
        )


def _cost_rule(costs: PlanCosts) -> str:
    if costs.parties and not costs.is_known:
        return f"Costs of {' and '.join(costs.parties)} are unknown: give the price with --price."
    if costs.rating is None:
        plus = "+: and the ratings. " if costs.parties else ""
        return f"{plus}A rating counts as much as an image with its verdict; give its price with --price rater=0.10."
    return "Cheapest first."
