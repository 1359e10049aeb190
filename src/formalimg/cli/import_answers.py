"""`formalimg import`: convert external answers and ratings to runs and studies."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Literal

import typer

from formalimg import __version__
from formalimg.cli.commands import GroupedCommand
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
        typer.Argument(
            metavar="FILE",
            help="The answers: a table (CSV, TSV, JSONL, JSON) with item, model, sample, question and answer, or a "
            "released file of DSG.",
            show_default=False,
        ),
    ],
    items: Annotated[
        Path,
        typer.Option(
            metavar="PATH", help="The items with their questions, such as dsg-1k-anns.csv.", show_default=False
        ),
    ],
    suite: Annotated[str, typer.Option(metavar="SUITE", help="The suite of the items.")] = "questions",
    judge: Annotated[
        str, typer.Option(metavar="NAME", help="Who answered. Default: the name of the file.", show_default=False)
    ] = "",
    model: Annotated[
        str,
        typer.Option(metavar="NAME", help="The image model, if the file has no such column.", show_default=False),
    ] = "",
    only: Annotated[
        str,
        typer.Option(metavar="PREFIX", help="Only items whose id begins so, such as tifa160.", show_default=False),
    ] = "",
    together: Annotated[
        bool,
        typer.Option("--together", help="One run of all image models, each a sample. Default: a run for each."),
    ] = False,
    zeroing: Annotated[
        Literal["direct", "transitive"] | None,
        typer.Option(
            help="A question fails with a parent whose own answer fails it, or with any above. Default: as in the "
            "items; DSG is direct.",
            show_default=False,
        ),
    ] = None,
    other_answers: Annotated[
        Literal["no", "unscored"] | None,
        typer.Option(
            help="What an answer is that says neither yes nor no. Default: no for DSG's files, as in their code, else "
            "the image is unscored.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the runs.")] = Path("runs"),
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

    found = import_answers(
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
    for note in found.notes:
        echo(note, err=True)
    for run in found.runs:
        echo(f"{run.folder}: {run.model}, {run.images:,} image{'s' * (run.images != 1)}, {run.scored:,} scored")
    folders = found.runs[0].folder if len(found.runs) == 1 else out / "*"
    echo(f"`formalimg report {folders}` compares them; there are no images to show", err=True)


@import_app.command("ratings", cls=GroupedCommand, short_help="Make a study of Likert ratings.")
def import_ratings_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The ratings, 1 to 5: a table (CSV, TSV, JSONL, JSON) with model, item, sample, rater and rating, or "
            "the Likert file of DSG.",
            show_default=False,
        ),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="The runs of the rated images, imported or not.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR|CSV", help="The new study; a table of ratings if the name ends in .csv.", show_default=False
        ),
    ],
    images: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only the ratings of N images, drawn at random.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="With --images: the seed of the draw.")] = 0,
) -> None:
    """Make a study of Likert ratings, for `agree --ratings` and `report`.

    Raters become rater-1, rater-2 and so on.
    """
    from formalimg.human_eval.importing.rating_studies import import_ratings, read_ratings
    from formalimg.runs.reader import open_run

    with ExitStack() as stack:
        opened = [stack.enter_context(closing(open_run(run))) for run in runs]
        found = import_ratings(
            read_ratings(file), opened, out, images=images, seed=seed, made_with=f"formalimg {__version__}"
        )
    for note in found.notes:
        echo(note, err=True)
    echo(f"{found.place}: {found.images:,} images, {found.ratings:,} ratings by {found.raters:,} raters")


@import_app.command("rubrics", cls=GroupedCommand, short_help="Make runs of ratings by several criteria.")
def import_rubrics_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The verdicts: a table (CSV, TSV, JSONL, JSON) with model, item, judge, and a column from 1 to 5 for "
            "each criterion.",
            show_default=False,
        ),
    ],
    items: Annotated[
        Path, typer.Option(metavar="FILE", help="The prompts: a table with id and prompt.", show_default=False)
    ],
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the images, MODEL/ITEM.png, so that other judges can look at them. Default: runs "
            "without images.",
            show_default=False,
        ),
    ] = None,
    criteria: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="The columns of the criteria. Default: all that hold ratings only.", show_default=False
        ),
    ] = "",
    together: Annotated[
        bool,
        typer.Option("--together", help="One run of all image models, each a sample. Default: a run for each."),
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the runs.")] = Path("runs"),
) -> None:
    """Make runs of rubric verdicts: several criteria from 1 to 5 for each image, by one judge or more.

    Each judge at each temperature becomes a judge of the run, for `agree --judges`. N/A is no part of a verdict, and an
    image without ratings is unscored.
    """
    from formalimg.human_eval.importing.rubric_runs import import_rubrics, read_rubrics
    from formalimg.scoring.prompt_items import read_prompt_items

    names = [name for name in (part.strip() for part in criteria.split(",")) if name]
    made_with = f"formalimg {__version__}"
    found = import_rubrics(
        read_rubrics(file, names), read_prompt_items(items), out, images=images, together=together, made_with=made_with
    )
    for note in found.notes:
        echo(note, err=True)
    for run in found.runs:
        echo(f"{run.folder}: {run.model}, {run.images:,} image{'s' * (run.images != 1)}, {run.scored:,} scored")
    echo(f"`formalimg agree {found.runs[0].folder} --judges 1 2` compares two judges", err=True)
