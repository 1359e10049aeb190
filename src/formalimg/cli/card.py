"""`formalimg share card`: write the model-card section of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from formalimg.cli.commands import argument, option
from formalimg.cli.output import FiguresAs, figure_formats
from formalimg.cli.streams import echo, print_data


def card_command(
    run: Annotated[Path, argument("RUN", "A run folder.")],
    out: Annotated[Path | None, option("FILE", "The file to write. Default: standard output.")] = None,
    figures: Annotated[
        Path | None,
        option(
            "FOLDER", "Write its figures into this folder. Default: with --out, `figures` beside the file; else none."
        ),
    ] = None,
    figures_as: FiguresAs = "png",
    judge: Annotated[str | None, option("JUDGE", "Whose verdicts, by name or number. Default: the last.")] = None,
    heading: Annotated[int, option("N", "Level of its heading.", min=1, max=5)] = 2,
) -> None:
    """Write a section for a model card: the numbers, figures, what fails, and how to reproduce it.

    It is Markdown, as model pages show it. Captions have no options in them.
    """
    from contextlib import closing

    from formalimg._util.io import atomic_write_text
    from formalimg.human_eval.agreement.rated_images import find_judge
    from formalimg.reports.sharing.cards import model_card
    from formalimg.runs.reader import open_run

    folder = figures if figures is not None or out is None else out.parent / "figures"
    formats = figure_formats(folder, figures_as)
    with closing(open_run(run)) as opened:
        chosen = None if judge is None else find_judge(opened, judge)
    beside = None if out is None else out.parent
    made = model_card(run, judge=chosen, figures=folder, beside=beside, formats=formats or ("png",), heading=heading)
    if out is None:
        print_data(made.text)
        return
    echo(atomic_write_text(out, made.text))
    for path in made.figures:
        echo(path)
