"""`formalimg score`: score images against prompts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg.cli import options
from formalimg.cli.commands import SECTIONS, argument, option
from formalimg.cli.options import PriceOptions, require_prices
from formalimg.cli.run_output import default_budget, default_runs, dollars, exit_if_stopped, print_estimated_calls
from formalimg.cli.streams import echo, print_data, print_json, print_table, warn
from formalimg.errors import OverBudgetError

if TYPE_CHECKING:
    from formalimg.scoring.scores import Scores
    from formalimg.scoring.scoring import Scoring

_WHAT, _, _JUDGE, _, _WHERE = SECTIONS


def score_command(
    images: Annotated[list[Path] | None, argument("IMAGE", "Images: files, or folders of them.")] = None,
    prompt: Annotated[str | None, option("TEXT", "What every image should show.", panel=_WHAT)] = None,
    prompts_file: Annotated[
        Path | None,
        option(
            "FILE",
            "A prompt for each image: one per line in the order of the images, or JSONL, JSON or CSV with image "
            "and prompt.",
            panel=_WHAT,
        ),
    ] = None,
    form: Annotated[
        Literal["auto", "formula", "questions", "whole"],
        option(
            "--as",
            "What a prompt becomes: a formula, yes/no questions, or one question; auto: the first possible.",
            panel=_WHAT,
        ),
    ] = "auto",
    questions: Annotated[
        Path | None,
        option(
            "FILE",
            "Your own questions, asked of every image: one per line, or JSONL, JSON or CSV with question, id, "
            "parents, expected.",
            panel=_WHAT,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        option(
            "--judge -j JUDGE",
            "A chat model that can see, or detector/MODEL. Default: that of FORMALIMG_JUDGE or formalimg.toml.",
            panel=_JUDGE,
        ),
    ] = None,
    judge_option: Annotated[list[str] | None, options.key_value_option("-J", "judge", _JUDGE)] = None,
    writer: Annotated[
        str | None,
        option(
            "MODEL",
            "The chat model that writes the questions. Default: the judge, if it is a chat model.",
            panel=_JUDGE,
        ),
    ] = None,
    writer_option: Annotated[list[str] | None, options.key_value_option("-W", "writer", _JUDGE)] = None,
    budget: options.Budget = None,
    price: options.Prices = None,
    no_preflight: options.NoPreflight = False,
    dry_run: options.DryRun = False,
    format: Annotated[  # noqa: A002  # what users call it
        Literal["terminal", "json", "csv", "md"], option("json has every part of every score.")
    ] = "terminal",
    runs: options.RunsFolder = None,
    out: Annotated[
        Path | None,
        option("DIR", "The run folder. Default: one in --runs that belongs to these images and prompts.", panel=_WHERE),
    ] = None,
) -> None:
    """Score images by what a prompt asks for: any image, any prompt.

    The same command again resumes, and asks nothing twice. Exit code 1 if nothing could be scored.
    """
    from formalimg.runs.defaults.settings import default_judge  # here, so that help comes up faster
    from formalimg.runs.progress import run_progress
    from formalimg.scoring.prompt_items import FREE_PROMPTS
    from formalimg.scoring.scoring import open_scoring, question_text
    from formalimg.scoring.user_inputs import pair_images, read_questions

    own_questions = None if questions is None else read_questions(questions)
    if own_questions is not None and prompts_file is None:
        prompt = prompt or question_text(own_questions)
    pairs = pair_images(images or [], prompt, prompts_file)
    judge_options = options.read_options(judge_option)
    if judge is None:
        default = default_judge(FREE_PROMPTS, "these images", making=False)
        if default is not None:
            warn(str(default))
            judge, judge_options = default.name, {**default.options, **judge_options}
    prices = PriceOptions(price, {"judge": [judge] if judge else [], "writer": [writer] if writer else []})
    judge_options |= prices.option("judge", judge) if judge else {}
    scoring = open_scoring(
        pairs,
        judge,
        judge_options=judge_options,
        form=form,
        writer=writer,
        writer_options=options.read_options(writer_option) | (prices.option("writer", writer) if writer else {}),
        questions=own_questions,
    )
    budget = default_budget(budget)
    folder = out or scoring.builder.folder(default_runs(runs))
    needed_writer = scoring.builder.writer if scoring.builder.unwritten(folder) else None
    require_prices(budget, [scoring.judge, *([needed_writer.chat] if needed_writer else [])])
    if dry_run:
        _print_estimate(scoring, folder)
        return
    try:
        with run_progress(f"score, {scoring.judge.name}") as on_progress:
            preflight = False if no_preflight else None
            scores = scoring.execute(folder, budget, on_progress, preflight=preflight, on_notice=warn)
    except OverBudgetError as error:
        warn(f"stopped: {error}")
        raise typer.Exit(130) from None
    print_estimated_calls(scores.progress.estimated)
    for warning in scores.warnings:
        warn(warning)
    _print_scores(scores, format)
    done = scores.progress
    exit_if_stopped(done.stopped, folder, over_budget=done.over_budget, gave_up=done.gave_up)
    warn(f"run in {folder}: `formalimg view {folder}` shows every answer")
    if all(score.passed is None for score in scores):
        warn("nothing was scored: the last column says why, image by image")
        raise typer.Exit(1)


def _print_estimate(scoring: Scoring, folder: Path) -> None:
    from formalimg.runs.prepared_run import estimate
    from formalimg.scoring.prompt_items import TYPICAL_QUESTIONS

    built, unwritten = scoring.builder.estimated(folder), scoring.builder.unwritten(folder)
    forms = [item.tags[0] for item in built.items.values() if item.prompt not in unwritten]
    estimated = estimate(scoring.config(built, None), folder, scoring.judge)
    echo(f"{scoring.judge.name}, in {folder}:")
    echo(f"  prompts by formula         {forms.count('formula'):>7,}")
    echo(f"  prompts by known questions {len(forms) - forms.count('formula'):>7,}")
    if scoring.builder.writer is not None:
        writer = scoring.builder.writer.chat.name
        echo(f"  prompts to take apart      {len(unwritten):>7,}  by {writer}, {TYPICAL_QUESTIONS} questions assumed")
    echo(f"  images to judge            {estimated.verdicts:>7,}")
    echo(f"  requests to the judge      {estimated.questions:>7,}  {dollars(estimated.judge_cost)}")


def _print_scores(scores: Scores, form: Literal["terminal", "json", "csv", "md"]) -> None:
    from formalimg.reports.tables.format import csv_text
    from formalimg.reports.tables.terminal import render_terminal
    from formalimg.scoring.scores import score_table, summarize_scores

    if form == "terminal":
        print_table(render_terminal([score_table(scores)]))
    elif form == "md":
        print_data(scores.table())
    elif form == "csv":
        columns = ("image", "prompt", "form", "passed", "score", "reason", "item")
        print_data(csv_text(columns, ({name: getattr(score, name) for name in columns} for score in scores)))
    else:
        summary = summarize_scores(scores)._asdict()
        parts = [asdict(score) for score in scores]
        print_json({"folder": str(scores.folder), "summary": summary, "scores": parts})
