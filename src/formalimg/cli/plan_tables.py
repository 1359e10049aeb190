"""The tables of `formalimg plan`: images for a wanted precision, and designs for a wanted power, with their costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Column, TableRow
from formalimg.stats.planning import (
    Design,
    Goal,
    images_for_width,
    items_for_difference,
    labels_for_width,
    plan_corrected_design,
    plan_judged_design,
    plan_labelled_design,
    power_of,
)
from formalimg.stats.variance_components import DEFAULT_SPREAD, AnswerSpread, majority_labels
from formalimg.types import Item, Table

if TYPE_CHECKING:
    from formalimg.types import ImageModel, Judge

_IMAGES = (1, 4)
_RATERS = (1, 3, 5)
_FEW_IMAGES, _FEW_RATERS = 100, 5  # A way to spend 500 ratings; the other is as many images with one rater
_GOOD_CORRELATION = 0.5  # Of a judge that follows people closely; by yes and no, hardly any can do better than 0.6
_WORTH = 0.95  # A judge beside people is recommended if the design then costs so much less
_SIZES = 30  # How many numbers of judged items are compared for their cost


class PlanCosts(NamedTuple):
    """Prices in US dollars for images, verdicts and ratings, with the names of the model and judge."""

    image: float | None  # of an image to make; None if unknown, 0 if no model is named
    verdict: float | None  # of a verdict; the same
    rating: float | None  # of a rating by a person; None if not given
    parties: tuple[str, ...]  # the names of model and judge

    @classmethod
    def of(
        cls, model: ImageModel | None, judge: Judge | None, items: Sequence[Item[Any]], rating: float | None
    ) -> PlanCosts:
        """Compute the prices of a model and a judge for the given items."""
        from formalimg.models.base import Usage
        from formalimg.models.pricing import price_of
        from formalimg.runs.prepared_run import question_cost

        image = 0.0 if model is None else price_of(model).cost(Usage(images=1))
        verdict: float | None = 0.0
        if judge is not None:
            of_item = getattr(judge, "questions", lambda item: 0)
            total = question_cost(judge, sum(of_item(item) for item in items))
            verdict = None if total is None else total / len(items)
        return cls(image, verdict, rating, tuple(party.name for party in (model, judge) if party is not None))

    @property
    def is_known(self) -> bool:
        """Whether the prices of the model and judge are known."""
        return self.image is not None and self.verdict is not None

    def text(self, images: int) -> str:
        """Return the formatted total cost of the given number of images with verdicts."""
        if self.image is None or self.verdict is None:
            return "unknown"
        return f"${images * (self.image + self.verdict):,.2f}"

    def design_text(self, design: Design) -> str:
        """Return the formatted cost of a design, with a plus sign if the price of ratings is unknown."""
        if self.image is None or self.verdict is None:
            return "unknown"
        dollars = design.total_images * (self.image + self.verdict * design.has_judge)
        dollars += design.ratings * (self.rating or 0.0)
        return f"${dollars:,.2f}" + ("+" if design.ratings and self.rating is None else "")

    def rank(self, design: Design) -> float:
        """Return the sort key of a design, which is its cost with substitutes for unknown prices.

        An unpriced rating costs as much as an image with its verdict, and an unpriced image as much as a rating. If no
        prices are known, both cost 1.
        """
        image, verdict, rating = self.image, self.verdict, self.rating
        if not self.parties or image is None or verdict is None:
            image, verdict = (1.0 if rating is None else rating), 0.0
        if rating is None:
            rating = image + verdict or 1.0
        return design.total_images * (image + verdict * design.has_judge) + design.ratings * rating


def interval_table(suite: str, items: Sequence[Item[Any]], width: float, cost: PlanCosts, *, labels: bool) -> Table:
    """Return a table of the images and labels needed for intervals of the given half width."""
    suite_info = suite_of(suite)
    counts = Counter(item.level for item in items)
    number, available = len(counts), min(counts.values())

    def row(title: str, per_level: int, labelled: str = NOTHING) -> TableRow:
        images = per_level * number
        fits = "" if per_level <= available else f"only {available:,} items"
        priced = (cost.text(images),) if cost.parties else ()
        return TableRow((title, per_level, images, *((labelled,) if labels else ()), *priced, fits))

    single = images_for_width(width)
    whole = ceil(single / number)
    discordant = DEFAULT_SPREAD.judge.difference_variance()
    pairs = ceil(items_for_difference(width, discordant=discordant) / number)
    power = power_of(Design(pairs * number), Goal(width), DEFAULT_SPREAD)
    rows = [
        row(f"rate of one {suite_info.level}", single),
        row("Overall", whole),
        row("difference of two models", pairs),
    ]
    if labels:
        cells = {(level, passed): count // 2 for level, count in counts.items() for passed in (True, False)}
        needed = labels_for_width({cell: count for cell, count in cells.items() if count}, width)
        rows.append(
            row("Overall, corrected by labels", available, "not enough images" if needed is None else f"{needed:,}")
        )
    columns = (
        Column(f"±{100 * width:g} points, 95 %"),
        Column(f"images per {suite_info.level}", "count"),
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
    return Table("plan", f"{suite_info.title}: images for ±{100 * width:g} points", columns, tuple(rows), tuple(notes))


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
                _decision_source(design),
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


def _decision_source(design: Design) -> str:
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
        f"Recommended: {_decision_source(design)}, {design.items:,} items, {labels}{design.images} "
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
