"""Write results as tables, text files, images and figures, with the options that control the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from formalimg.cli.commands import option
from formalimg.cli.streams import echo, print_data, print_table
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.console import RenderableType

    from formalimg.human_eval.agreement.study_tables import StudyFormat
    from formalimg.reports.figures.svg import Figure, FigureFormat
    from formalimg.runs.reader import StoredRun


def require_image_name(path: Path) -> None:
    """Raise an error if the path is not suitable for an image file."""
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg", ".webp"):
        raise FormalimgError(f"cannot draw into {path}: give a name such as out.png")
    if not path.parent.is_dir():
        raise FormalimgError(f"cannot draw into {path}: the folder {path.parent} does not exist")


def save_image(image: Image, path: Path) -> None:
    """Save an image in the format given by the file suffix."""
    try:
        image.save(path)
    except OSError as error:
        raise FormalimgError(f"cannot write the image {path}: {error.strerror}") from error


_FORMATS_BY_SUFFIX: dict[str, StudyFormat] = {".md": "md", ".csv": "csv", ".json": "json", ".txt": "terminal"}


OutputFormat = Annotated[
    Literal["terminal", "md", "csv", "json"] | None,
    option("csv and json are complete. Default: by the suffix of --out (md, csv, json, txt), else terminal."),
]
OutputFile = Annotated[Path | None, option("FILE", "The file to write. Default: standard output.")]


def output_format(format: StudyFormat | None, out: Path | None, content: str) -> StudyFormat:  # noqa: A002
    """Return the requested output format, or infer it from the file suffix."""
    if format or not out:
        return format or "terminal"
    form = _FORMATS_BY_SUFFIX.get(out.suffix.lower())
    if form is None:
        *suffixes, last = _FORMATS_BY_SUFFIX
        advice = f"end the name in {', '.join(suffixes)} or {last}, or give --format"
        raise FormalimgError(f"no known format for {content} in the file name {out}: {advice}")
    return form


def write_output(
    form: StudyFormat, out: Path | None, text: Callable[[], str], table: Callable[[], RenderableType]
) -> None:
    """Write text to a file and print its path, or print the text or terminal table."""
    from formalimg._util.io import atomic_write

    if out is not None:
        atomic_write(out, [text().encode()])
        echo(out)
    elif form == "terminal":
        print_table(table())
    else:
        print_data(text())


@contextmanager
def open_runs(folders: Sequence[Path], judge: str | None) -> Iterator[list[StoredRun]]:
    """Open run folders with a judge selected by name or number, or with the last judge if None."""
    from formalimg.human_eval.agreement.rated_images import find_judge
    from formalimg.runs.reader import open_run

    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in folders]
        if judge is not None:
            chosen = [find_judge(run, judge) for run in runs]
            runs = [opened.enter_context(closing(open_run(*pair))) for pair in zip(folders, chosen, strict=True)]
        yield runs


Figures = Annotated[Path | None, option("FOLDER", "Also write figures for papers into this folder.")]
FiguresAs = Annotated[str, option("FORMATS", "Formats of figures: any of svg, png, pdf, separated by commas.")]


def figure_formats(figures: Path | None, listed: str) -> tuple[FigureFormat, ...]:
    """Parse and validate the figure formats. Return an empty tuple if no figures are requested."""
    if figures is None:
        return ()
    from formalimg.reports.figures.svg import parse_figure_formats  # here, so that other commands start faster

    return parse_figure_formats(listed)


def write_figures(drawings: Sequence[Figure], folder: Path, formats: Sequence[FigureFormat], empty_reason: str) -> None:
    """Write figures and print a summary on standard error.

    Raises:
        FormalimgError: if there are none, for the given reason; or if they cannot be written.
    """
    from formalimg.reports.figures.svg import write_figures

    if not drawings:
        raise FormalimgError(f"nothing to draw: {empty_reason}")
    written = write_figures(drawings, folder, formats)
    echo(f"{len(drawings)} figures in {len(written)} files in {folder}", err=True)
