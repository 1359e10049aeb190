"""`formalimg certify`: measure precision and recall of a grounder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from formalimg.cli.help_groups import SECTIONS
from formalimg.cli.options import MAX_COUNT, MAX_SEED, DryRun, read_options
from formalimg.cli.price_options import GivenPrices, Prices, require_prices
from formalimg.cli.progress import progress_bar
from formalimg.cli.run_execution import print_estimated_calls
from formalimg.cli.streams import echo, print_data
from formalimg.errors import OverBudgetError

if TYPE_CHECKING:
    from formalimg.judges import Grounder


def certify_command(
    grounder: Annotated[str, typer.Argument(metavar="GROUNDER", help="The grounder to measure.")] = "builtin/icons",
    grounder_option: Annotated[
        list[str] | None, typer.Option("-J", metavar="KEY=VALUE", help="Option of the grounder.", show_default=False)
    ] = None,
    scenes: Annotated[int, typer.Option(min=1, max=MAX_COUNT, metavar="N", help="Number of random scenes.")] = 300,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, metavar="N", help="Seed of the scenes.")] = 7,
    others: Annotated[
        int, typer.Option(min=0, max=MAX_COUNT, metavar="N", help="Number of images that are not drawings.")
    ] = 50,
    require: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Minimum precision, recall and F1 on clean images, else exit code 1."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="DOLLARS", help="Stop when this command has cost this much.", rich_help_panel=SECTIONS[3]
        ),
    ] = None,
    price: Prices = None,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate as JSON.")] = False,
) -> None:
    """Measure precision and recall of a grounder.

    Uses drawings of random scenes whose content is known.

    An object counts as found if its class is right and the boxes overlap by 0.9. Drawings are used as they are, and
    after compression, scaling, blur and noise. With --require, all other images must be refused, too.
    """
    # Here, so that other commands start faster.
    from formalimg.judges import certify, images_to_certify, open_grounder
    from formalimg.models import Spending

    prices = GivenPrices(price, {"grounder": [grounder]})
    opened = open_grounder(grounder, read_options(grounder_option) | prices.option("grounder", grounder))
    require_prices(budget, [opened])
    total = images_to_certify(scenes, others)
    if dry_run:
        _print_estimate(opened, total)
        return
    spending = Spending()
    spending.budget = budget
    try:
        with progress_bar(f"certifying {opened.name}", total) as on_progress:
            certificate = certify(
                opened, scenes=scenes, seed=seed, others=others, spending=spending, on_progress=on_progress
            )
    except OverBudgetError as error:
        echo(f"stopped; {error}", err=True)
        raise typer.Exit(130) from None
    finally:
        print_estimated_calls(spending.estimated)
    if spending.cost:
        echo(f"it cost ${spending.cost:,.2f}", err=True)
    if as_json:
        print_data(f"{json.dumps(certificate.to_json(), indent=2, ensure_ascii=False)}\n")
    else:
        echo(str(certificate))
    raise typer.Exit(1 if require is not None and not certificate.reaches(require) else 0)


def _print_estimate(grounder: Grounder, images: int) -> None:
    """Print how many images a grounder would look at, how many questions that takes, and about what it costs."""
    from formalimg.cli.estimate_output import dollars
    from formalimg.runs import question_cost
    from formalimg.scenes import drawable_classes

    questions_of = getattr(grounder, "questions", None)
    questions = images * questions_of(drawable_classes()) if questions_of else 0
    echo(f"{grounder.name}:")
    echo(f"  images to look at  {images:>9,}")
    echo(f"  questions to ask   {questions:>9,}  {dollars(question_cost(grounder, questions))}")
