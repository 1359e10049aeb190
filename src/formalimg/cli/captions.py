"""`formalimg items captions`: count visual concepts in captions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from formalimg.cli.commands import argument, option
from formalimg.cli.options import DryRun, Prompts, key_value_option, read_options
from formalimg.cli.output import Figures, FiguresAs, figure_formats, write_figures
from formalimg.cli.streams import echo, print_data, print_table, progress_bar
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.study_tables import OwnStudy
    from formalimg.types import ChatModel

_BETWEEN_STEPS = 100  # Captions between two updates of the progress bar, since an update takes longer than a caption


def captions_command(
    file: Annotated[
        Path, argument("FILE", "Captions: one on each line, or a .jsonl, .csv or .tsv with a field for them.")
    ],
    model: Annotated[
        str | None,
        option(
            "--model -m MODEL", "A chat model that reads the captions, as the paper did. Default: a lexicon, offline."
        ),
    ] = None,
    model_options: Annotated[list[str] | None, key_value_option("-M", "chat model")] = None,
    column: Annotated[
        str | None, option("FIELD", "The field with the captions. Default: caption, prompt or text.")
    ] = None,
    limit: Annotated[int | None, option("N", "Only the first N captions. Default: all.", min=1)] = None,
    out: Annotated[Path | None, option("DIR", "A folder for study.json and what was found in each caption.")] = None,
    format: Annotated[  # noqa: A002  # what users call it
        Literal["terminal", "json", "csv"], option("Output format.")
    ] = "terminal",
    prompts: Prompts = None,
    dry_run: DryRun = False,
    figures: Figures = None,
    figures_as: FiguresAs = "svg,png",
) -> None:
    """Count which kinds of visual concepts captions mention.

    With a model and --out, run the same command again to resume. Exit code 1 if some captions remain unanswered.
    """
    from formalimg.human_eval.agreement.study_tables import find_study  # here, so that other commands start faster

    if model is None and (model_options or prompts or dry_run):
        raise FormalimgError("-M, --prompts and --dry-run are for a chat model: name it with --model")
    formats = figure_formats(figures, figures_as)
    code = find_study("captions")
    chat_model = _open_model(model, model_options)
    if chat_model is not None and dry_run:
        _show_estimate(code, file, chat_model, column, limit, out, prompts)
        return
    try:
        with _progress(code, file, column, limit, 1 if model else _BETWEEN_STEPS) as on_progress:
            study = code.make(
                file, model=chat_model, column=column, limit=limit, out=out, prompts=prompts, on_progress=on_progress
            )
    except KeyboardInterrupt:
        stored = (
            f"all answers so far are stored in {out}; run the same command again to resume" if model and out else ""
        )
        echo(f"stopped; {stored or 'nothing was written'}", err=True)
        raise typer.Exit(130) from None
    if figures is not None:
        from formalimg.reports.figures.studies import study_figures

        write_figures(study_figures(study), figures, formats, "no caption names an object")
    _show(code, study, format)
    if out is not None:
        echo(f"all results are in {out}", err=True)
    if study.unanswered:
        raise typer.Exit(1)


@contextmanager
def _progress(
    code: OwnStudy, file: Path, column: str | None, limit: int | None, step: int
) -> Iterator[Callable[[int], None]]:
    if code.cases is None or not file.is_file():  # a pipe can be read only once
        yield lambda done: None
        return
    total = code.cases(file, column=column, limit=limit)
    with progress_bar("reading captions", total) as on_progress:
        yield lambda done: on_progress(done) if done % step == 0 or done == total else None


def _open_model(model: str | None, options: list[str] | None) -> ChatModel | None:
    if model is None:
        return None
    from formalimg.models.registry import open_chat_model

    return open_chat_model(model, read_options(options))


def _show(code: OwnStudy, study: Any, form: Literal["terminal", "json", "csv"]) -> None:
    if form == "terminal":
        print_table(code.table(study))
        if "model" in study.asked:
            echo("cost: unknown" if study.cost is None else f"cost: ${study.cost:.4f}")
    else:
        print_data(code.text(study, form))


def _show_estimate(
    code: OwnStudy,
    file: Path,
    model: ChatModel,
    column: str | None,
    limit: int | None,
    out: Path | None,
    prompts: Path | None,
) -> None:
    if code.estimate is None:
        raise FormalimgError("what this would cost cannot be estimated: leave --dry-run out")
    estimate = code.estimate(file, model, column=column, limit=limit, out=out, prompts=prompts)
    cost = "at an unknown price" if estimate.cost is None else f"about ${estimate.cost:.4f}"
    echo(f"{estimate.captions:,} captions, {estimate.to_ask:,} questions to ask of {model.name}, {cost}")
    if estimate.first:
        echo("the first would be:")
        for line in estimate.first.splitlines():
            echo(f"  {line}".rstrip())
