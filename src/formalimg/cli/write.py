"""`formalimg items write`: write new items with a chat model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg.cli.commands import argument, option
from formalimg.cli.options import (
    MAX_COUNT,
    MAX_SEED,
    Budget,
    ConceptsFolder,
    DifficultyName,
    DryRun,
    OnlyCategory,
    PriceOptions,
    Prices,
    ProfileName,
    key_value_option,
    read_levels,
    read_options,
    require_prices,
)
from formalimg.cli.run_output import default_budget, exit_if_stopped, print_estimated_calls
from formalimg.cli.streams import echo, progress_bar

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.engine import AuthoringResult
    from formalimg.benchmarks.authoring.task import AuthoringPlan
    from formalimg.types import ChatModel


def write_command(
    suite: Annotated[str, argument("SUITE", "The benchmark, such as natural.")],
    model: Annotated[str, option("--model -m MODEL", "The chat model that writes, as in openai/gpt-5.")],
    out: Annotated[Path, option("DIR", "The folder to write items.jsonl and writing.json to.")],
    levels: Annotated[
        str | None, option("LEVELS", "Which levels, as in 1-10 or 1,2,5. Default: as in the paper of the benchmark.")
    ] = None,
    per_level: Annotated[
        int | None,
        option("N", "How many items of each level. Default: as in the paper of the benchmark.", min=1, max=MAX_COUNT),
    ] = None,
    seed: Annotated[int, option("N", "Another seed, other assignments.", min=-MAX_SEED, max=MAX_SEED)] = 1,
    checker: Annotated[
        str | None, option("MODEL", "The chat model that checks the words. Default: the one that writes.")
    ] = None,
    attempts: Annotated[
        int | None,
        option(
            "N",
            "How often each item is tried; may be raised later. Default: 6, or 30 where concepts are redrawn.",
            min=1,
            max=1000,
        ),
    ] = None,
    model_options: Annotated[list[str] | None, key_value_option("-M", "model that writes")] = None,
    checker_options: Annotated[list[str] | None, key_value_option("-C", "model that checks")] = None,
    prompts: Annotated[
        Path | None, option("DIR", "Texts of your own in place of ours: write-*.txt, check-*.txt.")
    ] = None,
    version: Annotated[str, option("VERSION", "The version that the items carry.")] = "",
    concepts: ConceptsFolder = None,
    only: OnlyCategory = None,
    difficulty: DifficultyName = None,
    profile: ProfileName = "paper",
    binder: Annotated[
        Literal["model", "offline"],
        option("Concepts: who says which objects a relation is between, the model or chance."),
    ] = "model",
    questions: Annotated[
        Literal["model", "template"] | None,
        option("Questions by the model (default for concepts) or from templates (default for groups)."),
    ] = None,
    task: Annotated[
        Literal["groups", "questions", "denominalise", "pairs"] | None,
        option(
            "Suites of groups: groups from laws (default), questions for prompts that exist, outcomes of existing "
            "items without their names, or rare pairs."
        ),
    ] = None,
    laws: Annotated[
        Path | None,
        option(
            "FILE",
            "Groups: one law per line, as in LAW | DISCIPLINE | BRANCH; or .csv, .toml. "
            "Default: the laws of the groups that ship.",
        ),
    ] = None,
    per_law: Annotated[int, option("N", "Groups: how many of each law.", min=1, max=MAX_COUNT)] = 1,
    items: Annotated[
        Path | None,
        option(
            "PATH",
            "Tasks questions and denominalise: the items of groups, ours or as published. Default for "
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
    from formalimg.benchmarks.authoring.engine import author_suite
    from formalimg.benchmarks.authoring.task import AuthoringPlan, authoring_of
    from formalimg.errors import FormalimgError  # here, with what follows, so that other commands start faster
    from formalimg.models.registry import open_chat_model

    if checker_options and checker is None:
        raise FormalimgError("-C is for the model that checks: name it with --checker")
    values = {
        "--concepts": concepts,
        "--only": only,
        "--difficulty": difficulty,
        "--profile": None if profile == "paper" else profile,
        "--binder": None if binder == "model" else binder,
        "--questions": questions,
        "--task": task,
        "--laws": laws,
        "--per-law": None if per_law == 1 else per_law,
        "--items": items,
    }
    options = {name: value for name, value in values.items() if value is not None}
    authoring = authoring_of(suite, options)
    suite, choices = authoring.choose(suite, options)
    numbers = () if levels is None else read_levels(levels)
    plan = AuthoringPlan(suite, numbers, per_level or 0, seed, attempts or 0, version, choices)
    if checker is not None and not authoring.is_checked(plan):
        raise FormalimgError(f"{task or suite} are checked without a model: leave --checker out")
    prices = PriceOptions(price, {"model": [model], "checker": [checker] if checker else []})
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
        echo(f"stopped; all answers so far are kept in {out}: rerun the same command to resume", err=True)
        raise typer.Exit(130) from None
    _show(written, plan)
    print_estimated_calls(written.estimated)
    exit_if_stopped(written.over_budget, out, over_budget=True)
    if written.missing or written.outstanding:
        raise typer.Exit(1)


def _show_outlook(
    plan: AuthoringPlan, writing: ChatModel, checking: ChatModel | None, out: Path, prompts: Path | None
) -> None:
    from formalimg.benchmarks.authoring.engine import estimate_authoring
    from formalimg.models.pricing import price_of

    outlook = estimate_authoring(plan, writing, out, checker=checking, prompts=prompts)
    cost = "at an unknown price" if outlook.cost is None else f"about ${outlook.cost:.4f}"
    notes = dict.fromkeys(note for party in (writing, checking) if party and (note := price_of(party).note))
    cost += f" ({', '.join(notes)})" if notes else ""
    echo(f"{outlook.places:,} to write, at least {outlook.questions:,} questions to ask of {writing.name}, {cost}")
    if outlook.first:
        echo("the first would be:")
        for line in outlook.first.splitlines():
            echo(f"  {line}".rstrip())


def _show(written: AuthoringResult, plan: AuthoringPlan) -> None:
    """Print a summary of all attempts and the missing items."""
    from formalimg.benchmarks.authoring.outcomes import REASONS
    from formalimg.benchmarks.authoring.task import authoring_of
    from formalimg.benchmarks.registry import suite

    rows = [("accepted", written.accepted), ("not yet settled", written.unsettled)]
    rows += [(reason, written.rejections.get(reason, 0)) for reason in REASONS]
    echo(f"{'attempts':<28}{written.tried:>8,}")
    for name, count in rows:
        if count:
            echo(f"  {name:<26}{count:>8,}  {count / written.tried:>6.1%}")
    echo("cost: unknown" if written.cost is None else f"cost: ${written.cost:.4f}")
    if written.outstanding:
        echo(f"{written.outstanding:,} answers did not come: the same command asks for them again")
    unit = authoring_of(plan.suite).unit(plan)
    for level, count in written.missing.items():
        name = unit or f"{suite(plan.suite).level}={level}"
        echo(f"{name}: {count:,} missing after {plan.attempts} attempts each: raise --attempts to continue")
    if written.path is not None:
        echo(f"{len(written.items):,} item{'s' * (len(written.items) != 1)} in {written.path}")
