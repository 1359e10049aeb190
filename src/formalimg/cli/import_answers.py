"""`formalimg import`: convert external answers and ratings to runs and studies."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Literal

import typer

from formalimg import __version__
from formalimg.cli.commands import GroupedCommand, argument, option
from formalimg.cli.streams import echo

import_app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Import answers and ratings that were made elsewhere: they become runs and studies without images.",
)


@import_app.command("answers", cls=GroupedCommand, short_help="Make runs of answers to questions about images.")
def import_answers_command(
    file: Annotated[
        Path,
        argument(
            "FILE",
            "The answers: a table (CSV, TSV, JSONL, JSON) with item, model, sample, question and answer, or a "
            "released file of DSG.",
        ),
    ],
    items: Annotated[Path, option("PATH", "The items with their questions, such as dsg-1k-anns.csv.")],
    suite: Annotated[str, option("SUITE", "The suite of the items.")] = "questions",
    judge: Annotated[str, option("NAME", "Who answered. Default: the name of the file.")] = "",
    model: Annotated[str, option("NAME", "The image model, if the file has no such column.")] = "",
    only: Annotated[str, option("PREFIX", "Only items whose id begins so, such as tifa160.")] = "",
    together: Annotated[
        bool, option("--together", "One run of all image models, each a sample. Default: a run for each.")
    ] = False,
    zeroing: Annotated[
        Literal["direct", "transitive"] | None,
        option(
            "A question fails with a parent whose own answer fails it, or with any above. Default: as in the "
            "items; DSG is direct."
        ),
    ] = None,
    other_answers: Annotated[
        Literal["no", "unscored"] | None,
        option(
            "What an answer is that says neither yes nor no. Default: no for DSG's files, as in their code, else "
            "the image is unscored."
        ),
    ] = None,
    out: Annotated[Path, option("DIR", "The folder for the runs.")] = Path("runs"),
) -> None:
    """Make runs of answers to questions about images, one for each image model.

    Images without an answer to every question are unscored. The same command for another judge adds its verdicts to the
    same runs.
    """
    from formalimg.benchmarks.loader import load
    from formalimg.human_eval.importing.answers import (
        import_answers,  # here, so that other commands start faster
        read_answers,
    )

    result = import_answers(
        read_answers(file),
        load(suite, items),
        out,
        judge=judge,
        model=model,
        only=only,
        together=together,
        zeroing=zeroing,
        other_answers=other_answers,
        made_with=f"formalimg {__version__}",
    )
    for note in result.notes:
        echo(note, err=True)
    for run in result.runs:
        echo(f"{run.folder}: {run.model}, {run.images:,} image{'s' * (run.images != 1)}, {run.scored:,} scored")
    folders = result.runs[0].folder if len(result.runs) == 1 else out / "*"
    echo(f"`formalimg report {folders}` compares them; there are no images to show", err=True)


@import_app.command("ratings", cls=GroupedCommand, short_help="Make a study of Likert ratings.")
def import_ratings_command(
    file: Annotated[
        Path,
        argument(
            "FILE",
            "The ratings, 1 to 5: a table (CSV, TSV, JSONL, JSON) with model, item, sample, rater and rating, or "
            "the Likert file of DSG.",
        ),
    ],
    runs: Annotated[list[Path], argument("RUN", "The runs of the rated images, imported or not.")],
    out: Annotated[Path, option("DIR|CSV", "The new study; a table of ratings if the name ends in .csv.")],
    images: Annotated[int | None, option("N", "Only the ratings of N images, drawn at random.", min=1)] = None,
    seed: Annotated[int, option("N", "With --images: the seed of the draw.")] = 0,
) -> None:
    """Make a study of Likert ratings, for `agree --ratings` and `report`.

    Raters become rater-1, rater-2 and so on.
    """
    from formalimg.human_eval.importing.rating_studies import import_ratings, read_ratings
    from formalimg.runs.reader import open_run

    with ExitStack() as stack:
        opened = [stack.enter_context(closing(open_run(run))) for run in runs]
        result = import_ratings(
            read_ratings(file), opened, out, images=images, seed=seed, made_with=f"formalimg {__version__}"
        )
    for note in result.notes:
        echo(note, err=True)
    echo(f"{result.place}: {result.images:,} images, {result.ratings:,} ratings by {result.raters:,} raters")


@import_app.command("rubrics", cls=GroupedCommand, short_help="Make runs of ratings by several criteria.")
def import_rubrics_command(
    file: Annotated[
        Path,
        argument(
            "FILE",
            "The verdicts: a table (CSV, TSV, JSONL, JSON) with model, item, judge, and a column from 1 to 5 for "
            "each criterion.",
        ),
    ],
    items: Annotated[Path, option("FILE", "The prompts: a table with id and prompt.")],
    images: Annotated[
        Path | None,
        option(
            "DIR",
            "The folder of the images, MODEL/ITEM.png, so that other judges can look at them. Default: runs "
            "without images.",
        ),
    ] = None,
    criteria: Annotated[str, option("A,B", "The columns of the criteria. Default: all that hold ratings only.")] = "",
    together: Annotated[
        bool, option("--together", "One run of all image models, each a sample. Default: a run for each.")
    ] = False,
    out: Annotated[Path, option("DIR", "The folder for the runs.")] = Path("runs"),
) -> None:
    """Make runs of rubric verdicts: several criteria from 1 to 5 for each image, by one judge or more.

    Each judge at each temperature becomes a judge of the run, for `agree --judges`. N/A is no part of a verdict, and an
    image without ratings is unscored.
    """
    from formalimg.human_eval.importing.rubric_runs import import_rubrics, read_rubrics
    from formalimg.scoring.prompt_items import read_prompt_items

    names = [name for name in (part.strip() for part in criteria.split(",")) if name]
    made_with = f"formalimg {__version__}"
    result = import_rubrics(
        read_rubrics(file, names), read_prompt_items(items), out, images=images, together=together, made_with=made_with
    )
    for note in result.notes:
        echo(note, err=True)
    for run in result.runs:
        echo(f"{run.folder}: {run.model}, {run.images:,} image{'s' * (run.images != 1)}, {run.scored:,} scored")
    echo(f"`formalimg agree {result.runs[0].folder} --judges 1 2` compares two judges", err=True)
