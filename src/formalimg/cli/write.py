"""`formalimg write`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg.cli.options import (
    MAX_COUNT,
    MAX_SEED,
    Budget,
    ConceptsFolder,
    DifficultyName,
    DryRun,
    OnlyCategory,
    ProfileName,
    key_value_option,
    read_levels,
    read_options,
)
from formalimg.cli.price_options import GivenPrices, Prices, require_prices
from formalimg.cli.progress import progress_bar
from formalimg.cli.run_execution import default_budget, exit_if_stopped, print_estimated_calls
from formalimg.cli.streams import echo

if TYPE_CHECKING:
    from formalimg.authoring import AuthoringPlan, AuthoringResult
    from formalimg.models import ChatModel


def write_command(
    suite: Annotated[
        str, typer.Argument(metavar="SUITE", help="knolling, natural, conceptmix or cf-world.", show_default=False)
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="The chat model that writes, as in openai/gpt-5.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write items.jsonl and writing.json to.")],
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS",
            help="Which levels, as in 1-10 or 1,2,5. Default: as in the paper, 1-10; 1-7 for conceptmix.",
        ),
    ] = None,
    per_level: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_COUNT,
            metavar="N",
            help="How many items of each level. Default: 200; 300 for conceptmix; 100 for pairs.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=-MAX_SEED, max=MAX_SEED, metavar="N", help="Another seed, other assignments.")
    ] = 1,
    checker: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The chat model that checks the words. Default: the one that writes."),
    ] = None,
    attempts: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="How often each item is tried; may be raised later. Default: 6; 30 for conceptmix, which redraws.",
        ),
    ] = None,
    model_options: Annotated[list[str] | None, key_value_option("-M", "model that writes")] = None,
    checker_options: Annotated[list[str] | None, key_value_option("-C", "model that checks")] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Texts of your own in place of ours: write-*.txt, check-*.txt.")
    ] = None,
    version: Annotated[str, typer.Option(metavar="VERSION", help="The version that the items carry.")] = "",
    concepts: ConceptsFolder = None,
    only: OnlyCategory = None,
    difficulty: DifficultyName = None,
    profile: ProfileName = "paper",
    binder: Annotated[
        Literal["model", "offline"],
        typer.Option(help="ConceptMix: who says which objects a relation is between, the model or chance."),
    ] = "model",
    questions: Annotated[
        Literal["model", "template"] | None,
        typer.Option(help="Questions by the model (default for conceptmix) or from templates (default for cf-world)."),
    ] = None,
    task: Annotated[
        Literal["groups", "questions", "denominalise", "pairs"] | None,
        typer.Option(
            help="CF-World: groups from laws (default), questions for prompts that exist, outcomes of existing items "
            "without their names, or rare pairs."
        ),
    ] = None,
    laws: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CF-World, groups: one law per line, as in LAW | DISCIPLINE | BRANCH; or .csv, .toml. "
            "Default: the laws of the groups that ship.",
        ),
    ] = None,
    per_law: Annotated[
        int, typer.Option(min=1, max=MAX_COUNT, metavar="N", help="CF-World, groups: how many of each law.")
    ] = 1,
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="CF-World, questions and denominalise: the items of cf-world, ours or as published. Default for "
            "denominalise: those of the groups that ship.",
        ),
    ] = None,
    price: Prices = None,
    budget: Budget = None,
    dry_run: DryRun = False,
) -> None:
    """Write new items with a chat model, and check every one.

    Only those that stand up to every check are kept.

    Whatever ends it, the same command goes on where it was. Exit code 1 if items are missing in the end.
    """
    from formalimg.authoring import (
        AuthoringPlan,
        ConceptChoices,
        CounterfactualChoices,
        author_suite,
        named_outcomes,
        read_laws,
    )
    from formalimg.errors import FormalimgError  # here, with what follows, so that other commands start faster
    from formalimg.models import open_chat_model
    from formalimg.suites import load
    from formalimg.suites import suite as suite_of

    if checker_options and checker is None:
        raise FormalimgError("-C is for the model that checks: name it with --checker")
    if task == "questions" and items is None:
        raise FormalimgError("questions are written for prompts that exist: name their items with --items")
    if task == "questions" and checker is not None:
        raise FormalimgError("questions are checked without a model: leave --checker out")
    suite = _suite_of(suite, task)
    of_world = suite_of(suite).traits.has_scores
    plan = AuthoringPlan(
        suite,
        () if levels is None else read_levels(levels),
        per_level or 0,
        seed,
        attempts or 0,
        version,
        ConceptChoices(concepts, profile, only, difficulty, binder, "model" if of_world else questions or "model"),
        CounterfactualChoices(
            () if laws is None else read_laws(laws),
            per_law,
            (questions if of_world else None) or "template",
            () if items is None or task == "questions" else named_outcomes(load("cf-world", items)),
            tuple(load("cf-world", items)) if items is not None and task == "questions" else (),
        ),
    )
    prices = GivenPrices(price, {"model": [model], "checker": [checker] if checker else []})
    writing = open_chat_model(model, read_options(model_options) | prices.option("model", model))
    checking = None
    if checker is not None:
        checking = open_chat_model(checker, read_options(checker_options) | prices.option("checker", checker))
    budget = default_budget(budget)
    require_prices(budget, [writing, *([checking] if checking else [])])
    if dry_run:
        _show_outlook(plan, writing, checking, out, prompts)
        return
    try:
        with progress_bar(f"writing {suite}", len(plan.slots)) as on_progress:
            written = author_suite(
                plan, writing, out, checker=checking, prompts=prompts, budget=budget, on_progress=on_progress
            )
    except KeyboardInterrupt:
        echo(f"stopped; all answers so far are kept in {out}, and the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    _show(written, plan)
    print_estimated_calls(written.estimated)
    exit_if_stopped(written.over_budget, out, over_budget=True)
    if written.missing or written.outstanding:
        raise typer.Exit(1)


def _show_outlook(
    plan: AuthoringPlan, writing: ChatModel, checking: ChatModel | None, out: Path, prompts: Path | None
) -> None:
    from formalimg.authoring import estimate_authoring
    from formalimg.models import price_of

    outlook = estimate_authoring(plan, writing, out, checker=checking, prompts=prompts)
    cost = "at a price that nobody knows" if outlook.cost is None else f"about ${outlook.cost:.4f}"
    notes = dict.fromkeys(note for party in (writing, checking) if party and (note := price_of(party).note))
    cost += f" ({', '.join(notes)})" if notes else ""
    echo(f"{outlook.places:,} to write, at least {outlook.questions:,} questions to ask of {writing.name}, {cost}")
    if outlook.first:
        echo("the first would be:")
        for line in outlook.first.splitlines():
            echo(f"  {line}".rstrip())


_TASKS = {
    "groups": "cf-world",
    "questions": "cf-world",
    "denominalise": "cf-world-denominalised",
    "pairs": "cf-world-attributes",
}
"""The suite that each task of CF-World gives items of."""


def _suite_of(name: str, task: str | None) -> str:
    from formalimg.errors import FormalimgError

    if task is None:
        return name
    if name != "cf-world":
        raise FormalimgError(f"--task: for cf-world only, not for {name}")
    return _TASKS[task]


def _show(written: AuthoringResult, plan: AuthoringPlan) -> None:
    """Print what became of all attempts, and what is missing."""
    from formalimg.authoring import REASONS
    from formalimg.suites import suite

    rows = [("accepted", written.accepted), ("not yet settled", written.unsettled)]
    rows += [(reason, written.rejections.get(reason, 0)) for reason in REASONS]
    echo(f"{'attempts':<28}{written.tried:>8,}")
    for name, count in rows:
        if count:
            echo(f"  {name:<26}{count:>8,}  {count / written.tried:>6.1%}")
    echo("cost: unknown" if written.cost is None else f"cost: ${written.cost:.4f}")
    if written.outstanding:
        echo(f"{written.outstanding:,} answers did not come: the same command asks for them again")
    whole = {"cf-world": "groups", "cf-world-attributes": "pairs", "cf-world-denominalised": "outcomes"}.get(plan.suite)
    if plan.counterfactual.prompts:
        whole = "prompts"
    for level, count in written.missing.items():
        name = whole or f"{suite(plan.suite).level}={level}"
        echo(f"{name}: {count:,} missing after {plan.attempts} attempts each: raise --attempts to go on")
    if written.path is not None:
        echo(f"{len(written.items):,} item{'s' * (len(written.items) != 1)} in {written.path}")
