"""`formalimg plan`: how many images and labels a wanted precision needs, and about what that costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from formalimg.cli import options
from formalimg.cli.price_options import GivenPrices
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.reports.tables.model import TableRow
    from formalimg.types import ImageModel, Item, Judge, Table

_DISCORDANT = 0.3
"""The share of items that two models are taken to differ on, one passing and the other not."""


def plan_command(
    suite: options.SuiteName,
    width: Annotated[
        float, typer.Option(metavar="POINTS", min=0.1, max=50, help="The wanted half width of a 95 % interval.")
    ] = 5.0,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="MODEL", help="Price its images.", show_default=False)
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", "-j", metavar="JUDGE", help="Price its answers.", show_default=False)
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Also plan human labels, which correct the judge.")] = False,
    model_option: options.ModelOptions = None,
    judge_option: Annotated[
        list[str] | None,
        typer.Option("-J", metavar="KEY=VALUE", help="Option of the judge.", show_default=False),
    ] = None,
    items: options.ItemsPath = None,
    levels: options.Levels = None,
    price: options.Prices = None,
) -> None:
    """Say how many images and human labels a wanted precision needs, and about what that costs.

    Nothing is called, made or written. Rates are taken to be 50 %, where intervals are widest.
    """
    from formalimg.benchmarks.filed_items import require_valid
    from formalimg.benchmarks.loader import open_items
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.cli.streams import print_table
    from formalimg.reports.tables.terminal import render_terminal
    from formalimg.runs.plan import Selection

    if suite_of(suite).has_scores:
        raise FormalimgError(f"{suite} gives scores, not passes: plan a suite whose images pass or fail")
    chosen = Selection(None if levels is None else options.read_levels(levels))
    selected = [*chosen.of(open_items(suite, items).items).values()]
    require_valid(selected)
    prices = GivenPrices(price, {"model": [model] if model else [], "judge": [judge] if judge else []})
    cost = _Cost.of(_open_model(model, model_option, prices), _open_judge(suite, judge, judge_option, prices), selected)
    print_table(render_terminal([precision_table(suite, selected, width / 100, cost, labels=labels)]))


class _Cost(NamedTuple):
    """About what an image costs in US dollars to make and to judge: None if the price is unknown; and who does it."""

    image: float | None
    verdict: float | None
    parties: tuple[str, ...]

    @classmethod
    def of(cls, model: ImageModel | None, judge: Judge | None, items: Sequence[Item[Any]]) -> _Cost:
        from formalimg.models.base import Usage
        from formalimg.models.pricing import price_of
        from formalimg.runs.cost_estimate import question_cost

        image = 0.0 if model is None else price_of(model).cost(Usage(images=1))
        verdict: float | None = 0.0
        if judge is not None:
            of_item = getattr(judge, "questions", lambda item: 0)
            total = question_cost(judge, sum(of_item(item) for item in items))
            verdict = None if total is None else total / len(items)
        return cls(image, verdict, tuple(one.name for one in (model, judge) if one is not None))

    def text(self, images: int) -> str:
        """Return what so many images cost in all."""
        if self.image is None or self.verdict is None:
            return "unknown"
        return f"${images * (self.image + self.verdict):,.2f}"


def precision_table(suite: str, items: Sequence[Item[Any]], width: float, cost: _Cost, *, labels: bool) -> Table:
    """Return what intervals of this half width need, on these items."""
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.reports.tables.format import NOTHING
    from formalimg.reports.tables.model import Column, TableRow
    from formalimg.stats.planning import images_for_width, items_for_difference, labels_for_width
    from formalimg.types import Table

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
    pairs = ceil(items_for_difference(width, discordant=_DISCORDANT) / number)
    rows = [
        row(f"rate of one {about.level}", single),
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
        Column(f"images per {about.level}", "count"),
        Column("images", "count"),
        *((Column("labels", align="right"),) if labels else ()),
        *((Column("about", align="right"),) if cost.parties else ()),
        Column(""),
    )
    notes = [
        f"{number} levels of {available:,} items. Rates are taken to be 50 %; where they are not, fewer images do.",
        f"Two models, on the same items, are taken to differ on {100 * _DISCORDANT:g} % of them.",
    ]
    if labels:
        notes.append("Labels: all images of the suite judged, and the judge taken to be wrong on one in five.")
    if cost.parties:
        unknown = cost.image is None or cost.verdict is None
        notes.append(f"Costs of {' and '.join(cost.parties)}{'; give the price with --price' if unknown else ''}.")
    notes.append("G alone takes fewer: `formalimg run --adaptive` stops as soon as it is clear.")
    return Table("plan", f"{about.title}: images for ±{100 * width:g} points", columns, tuple(rows), tuple(notes))


def _open_model(name: str | None, given: list[str] | None, prices: GivenPrices) -> ImageModel | None:
    from formalimg.models.registry import open_image_model

    if name is None:
        return None
    return open_image_model(name, options.read_options(given) | prices.option("model", name))


def _open_judge(suite: str, name: str | None, given: list[str] | None, prices: GivenPrices) -> Judge | None:
    from formalimg.judges.factory import open_judge

    if name is None:
        return None
    return open_judge(suite, name, options.read_options(given) | prices.option("judge", name))
