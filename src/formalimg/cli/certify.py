"""`formalimg certify`: measure a grounder, or a judge of Natural or ConceptMix, on drawings whose content is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from formalimg.cli.help_groups import SECTIONS
from formalimg.cli.options import MAX_COUNT, MAX_SEED, DryRun, read_options
from formalimg.cli.price_options import GivenPrices, Prices, require_prices
from formalimg.cli.progress import progress_bar
from formalimg.cli.run_execution import print_estimated_calls
from formalimg.cli.streams import echo, print_data
from formalimg.errors import OverBudgetError

if TYPE_CHECKING:
    from formalimg.judges import Certificate, Grounder, Judge, JudgeCertificate


def certify_command(
    grounder: Annotated[
        str, typer.Argument(metavar="GROUNDER", help="The grounder to measure; with --suite, the judge.")
    ] = "builtin/icons",
    grounder_option: Annotated[
        list[str] | None,
        typer.Option("-J", metavar="KEY=VALUE", help="Option of the grounder or judge.", show_default=False),
    ] = None,
    suite: Annotated[
        str,
        typer.Option(
            metavar="SUITE", help="natural or conceptmix: measure how its judge answers, by drawn items of it."
        ),
    ] = "knolling",
    scenes: Annotated[int, typer.Option(min=1, max=MAX_COUNT, metavar="N", help="Number of scenes.")] = 300,
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
    """Measure precision and recall of a grounder, or of a judge.

    Uses drawings of random scenes whose content is known.

    An object counts as found if its class is right and the boxes overlap by 0.9. Drawings are used as they are, and
    after compression, scaling, blur and noise. With --require, all other images must be refused, too.

    With --suite natural or conceptmix, the drawings are of items of the suite, every second with one thing changed, and
    the answers of the judge about each clause or question are compared with what is true of the drawing.
    """
    from formalimg.models import Spending  # here, so that other commands start faster

    prices = GivenPrices(price, {"grounder": [grounder]})
    given = read_options(grounder_option) | prices.option("grounder", grounder)
    measured = _measured(suite, grounder, given, scenes, others)
    require_prices(budget, [measured.party])
    if dry_run:
        _print_estimate(measured)
        return
    spending = Spending()
    spending.budget = budget
    try:
        with progress_bar(f"certifying {measured.party.name}", measured.images) as on_progress:
            certificate = measured.certify(seed=seed, spending=spending, on_progress=on_progress)
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


class _Measured(NamedTuple):
    """Who is measured, how many images it is shown, how many questions these take, and what measures it."""

    party: Grounder | Judge
    images: int
    questions: Callable[[], int]
    certify: Callable[..., Certificate | JudgeCertificate]


def _measured(suite: str, name: str, options: Mapping[str, str], scenes: int, others: int) -> _Measured:
    from formalimg.judges import certify, certify_judge, drawn_examples, images_to_certify, open_grounder, open_judge
    from formalimg.scenes import drawable_classes
    from formalimg.suites import suite as suite_of

    if suite_of(suite).judge == "scene":
        grounder = open_grounder(name, options)
        images, of_classes = images_to_certify(scenes, others), getattr(grounder, "questions", lambda classes: 0)
        return _Measured(
            grounder,
            images,
            lambda: images * of_classes(drawable_classes()),
            partial(certify, grounder, scenes, others=others),
        )
    judge = open_judge(suite, name, options)
    of_item = getattr(judge, "questions", lambda item: 0)
    return _Measured(
        judge,
        scenes,
        lambda: sum(of_item(item) for item, _ in drawn_examples(suite, scenes, 0)),
        partial(certify_judge, judge, suite, scenes),
    )


def _print_estimate(measured: _Measured) -> None:
    """Print how many images would be looked at, how many questions that takes, and about what it costs."""
    from formalimg.cli.estimate_output import dollars
    from formalimg.runs import question_cost

    questions = measured.questions()
    echo(f"{measured.party.name}:")
    echo(f"  images to look at  {measured.images:>9,}")
    echo(f"  questions to ask   {questions:>9,}  {dollars(question_cost(measured.party, questions))}")
