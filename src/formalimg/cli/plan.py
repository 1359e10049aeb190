"""`formalimg plan`: estimate the images, labels and costs for a desired precision or power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from formalimg.cli import options
from formalimg.cli.commands import option
from formalimg.cli.options import PriceOptions
from formalimg.cli.plan_tables import PlanCosts
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.stats.planning import Goal
    from formalimg.stats.variance_components import AnswerSpread
    from formalimg.types import ImageModel, Item, Judge, Table

_WIDTH, _DIFFERENCE, _POWER = 5.0, 5.0, 0.8  # Points and power to plan for, unless others are asked for
_RATER = "rater"  # What the price of a rating is called in `--price`


def plan_command(
    suite: options.SuiteName,
    width: Annotated[
        float | None, option("POINTS", "Plan for this half width of a 95 % interval. Default: 5.", min=0.1, max=50)
    ] = None,
    power: Annotated[
        float | None,
        option("SHARE", "Plan to find a true difference of two models so often, at 5 %, two-sided. Default: 0.8."),
    ] = None,
    difference: Annotated[
        float | None, option("POINTS", "With --power: the true difference. Default: 5.", min=0.1, max=99)
    ] = None,
    pilot: Annotated[
        tuple[Path, Path] | None,
        option(
            "RUN RUN",
            "With --power: two judged runs with two or more images per item, which show how much items and images "
            "vary. Default: as on public data.",
        ),
    ] = None,
    pilot_study: Annotated[
        Path | None,
        option(
            "STUDY|FILE",
            "With --pilot: ratings of their images, which show how much raters vary and how well the judge "
            "follows them.",
        ),
    ] = None,
    model: Annotated[str | None, option("--model -m MODEL", "Price its images.")] = None,
    judge: Annotated[str | None, option("--judge -j JUDGE", "Price its answers.")] = None,
    labels: Annotated[bool, option("--labels", "Also plan human labels, which correct the judge.")] = False,
    model_option: options.ModelOptions = None,
    judge_option: Annotated[list[str] | None, option("-J KEY=VALUE", "Option of the judge.")] = None,
    items: options.ItemsPath = None,
    levels: options.Levels = None,
    price: options.Prices = None,
) -> None:
    """Say how many images and human labels a wanted precision or power needs, and about what that costs.

    Nothing is called, made or written. Rates are taken to be 50 %, where intervals are widest.
    """
    from formalimg.benchmarks.filed_items import require_valid
    from formalimg.benchmarks.loader import open_items
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.cli.plan_tables import interval_table
    from formalimg.cli.streams import print_table
    from formalimg.reports.tables.terminal import render_terminal
    from formalimg.runs.plan import Selection
    from formalimg.stats.planning import Goal, require_goal

    goal = None
    if power is not None or difference is not None:
        points = _DIFFERENCE if difference is None else difference
        goal = require_goal(Goal(points / 100, _POWER if power is None else power))
    _require_one_plan(goal, width, labels, pilot, pilot_study)
    if suite_of(suite).has_scores:
        raise FormalimgError(f"{suite} gives scores, not passes: plan a suite whose images pass or fail")
    chosen = Selection(None if levels is None else options.read_levels(levels))
    selected = [*chosen.of(open_items(suite, items).items).values()]
    require_valid(selected)
    prices = PriceOptions(
        price,
        {
            "model": [model] if model else [],
            "judge": [judge] if judge else [],
            _RATER: [_RATER] if goal is not None else [],
        },
    )
    costs = PlanCosts.of(
        _open_model(model, model_option, prices),
        _open_judge(suite, judge, judge_option, prices),
        selected,
        _rating_price(prices),
    )
    if goal is None:
        table = interval_table(suite, selected, (width or _WIDTH) / 100, costs, labels=labels)
    else:
        table = _power_table(suite, selected, goal, costs, pilot, pilot_study)
    print_table(render_terminal([table]))


def _require_one_plan(
    goal: Goal | None, width: float | None, labels: bool, pilot: tuple[Path, Path] | None, study: Path | None
) -> None:
    """Raise an error if options of different kinds of plan are combined."""
    if goal is not None and (width is not None or labels):
        raise FormalimgError("--width and --labels plan an interval, --power and --difference a test: give one of them")
    if pilot is not None and goal is None:
        raise FormalimgError("--pilot is for a plan of power: add --power 0.8 --difference 5")
    if study is not None and pilot is None:
        raise FormalimgError("--pilot-study rates the images of two runs: name them with --pilot RUN RUN")


def _rating_price(prices: PriceOptions) -> float | None:
    text = prices.option(_RATER, _RATER).get("price")
    if text is None:
        return None
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if price < 0 or not isfinite(price):
        raise FormalimgError(f"cannot read --price rater={text}: write dollars per rating, as in rater=0.10")
    return price


def _power_table(
    suite: str,
    items: Sequence[Item[Any]],
    goal: Goal,
    costs: PlanCosts,
    pilot: tuple[Path, Path] | None,
    study: Path | None,
) -> Table:
    """Return the table of designs that detect a difference."""
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.cli.plan_tables import PlannedSuite, design_table
    from formalimg.stats.variance_components import DEFAULT_SPREAD

    levels = Counter(item.level for item in items)
    planned = PlannedSuite(suite_of(suite).title, len(levels) * min(levels.values()), len(levels))
    spread = DEFAULT_SPREAD if pilot is None else _read_pilot(suite, pilot, study)
    if pilot is None:
        source = "Variances: as five raters and two judges on public images of 160 prompts; your own: --pilot RUN RUN."
    elif study is None:
        source = (
            "Variances: the judge's by the pilot runs; people's as on public images, your own: --pilot-study STUDY."
        )
    else:
        source = "Variances: by the pilot runs and their ratings."
    return design_table(planned, goal, spread, costs, source, is_default=study is None)


def _read_pilot(suite: str, folders: tuple[Path, Path], study: Path | None) -> AnswerSpread:
    from formalimg.human_eval.ratings import read_pilot
    from formalimg.runs.reader import open_run

    with ExitStack() as stack:
        return read_pilot(suite, [stack.enter_context(closing(open_run(folder))) for folder in folders], study)


def _open_model(name: str | None, settings: list[str] | None, prices: PriceOptions) -> ImageModel | None:
    from formalimg.models.registry import open_image_model

    if name is None:
        return None
    return open_image_model(name, options.read_options(settings) | prices.option("model", name))


def _open_judge(suite: str, name: str | None, settings: list[str] | None, prices: PriceOptions) -> Judge | None:
    from formalimg.judges.factory import open_judge

    if name is None:
        return None
    return open_judge(suite, name, options.read_options(settings) | prices.option("judge", name))
