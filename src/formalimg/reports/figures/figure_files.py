"""Figure files: write figures as SVG, PNG or PDF."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias, get_args

from formalimg._util.installing import install_line
from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.reports.figures.svg import Figure


def slug(text: str) -> str:
    """Convert text to part of a file name: letters from a to z, digits, and dashes for everything else."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


FigureFormat: TypeAlias = Literal["svg", "png", "pdf"]  # SVG and PDF are scalable; PNG is for slides and pages
_DOTS_PER_INCH = 300
_POINTS_PER_INCH = 72


def parse_figure_formats(listed: str) -> tuple[FigureFormat, ...]:
    """Parse a comma-separated list of figure formats, such as `svg,pdf`."""
    formats: dict[str, FigureFormat] = {form: form for form in get_args(FigureFormat)}
    named = [name for name in re.split(r"[\s,]+", listed.lower()) if name]
    wrong = [name for name in named if name not in formats]
    if wrong or not named:
        raise FormalimgError(f"figures cannot be written as {listed!r}: name some of {', '.join(formats)}, with commas")
    if "pdf" in named and find_spec("vl_convert") is None:
        raise FormalimgError(
            f"figures as pdf need the library vl-convert-python: {install_line('figures')}; svg and png do not"
        )
    return tuple(dict.fromkeys(formats[name] for name in named))


def write_figures(
    drawings: Sequence[Figure], folder: str | Path, formats: Sequence[FigureFormat] = ("svg", "png")
) -> tuple[Path, ...]:
    """Write figures to a folder, creating it if needed and overwriting files of the same name.

    Args:
        drawings: what `drawings_of`, `drawings_of_study` or `drawings_of_items` gave back; of several of one name, the
            later ones are numbered.
        folder: where to.
        formats: `svg`, `png` (300 dots per inch), `pdf` (needs the extra `figures`).

    Returns:
        The files.

    Raises:
        FormalimgError: if a format is not to be had, or the folder cannot be written to.
    """
    checked = parse_figure_formats(",".join(formats))
    into = Path(folder)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write figures into {into}: {error.strerror}; name a folder") from error
    written = []
    counts = Counter[str]()
    for drawing in drawings:
        counts[drawing.name] += 1
        name = drawing.name if counts[drawing.name] == 1 else f"{drawing.name}-{counts[drawing.name]}"
        for form in checked:
            path = into / f"{name}.{form}"
            atomic_write(path, [_WRITERS[form](drawing)])
            written.append(path)
    return tuple(written)


def _svg_bytes(drawing: Figure) -> bytes:
    return drawing.svg().encode()


def _png_bytes(drawing: Figure) -> bytes:
    import resvg_py
    from PIL import Image, ImageFont

    letters = ImageFont.load_default(10)
    with TemporaryDirectory() as folder:
        # Letters that come along, so that images are the same everywhere; signs that they lack are taken from
        # the fonts of the machine.
        font = Path(folder) / "letters.ttf"
        font.write_bytes(letters.font_bytes if isinstance(letters, ImageFont.FreeTypeFont) else b"")
        painted = resvg_py.svg_to_bytes(
            svg_string=drawing.svg(""),
            background="#ffffff",  # where the last row of pixels is but half covered
            zoom=_DOTS_PER_INCH / _POINTS_PER_INCH,
            font_files=[str(font)],
            sans_serif_family=letters.getname()[0] if isinstance(letters, ImageFont.FreeTypeFont) else None,
        )
    page = io.BytesIO()
    with Image.open(io.BytesIO(painted)) as image:
        image.convert("RGB").save(page, "PNG", dpi=(_DOTS_PER_INCH, _DOTS_PER_INCH), optimize=True)
    return page.getvalue()


def _pdf_bytes(drawing: Figure) -> bytes:
    # One unit of the drawing becomes one point of the page.
    page: bytes = import_module("vl_convert").svg_to_pdf(drawing.svg(""))
    return page


_WRITERS: Mapping[FigureFormat, Callable[[Figure], bytes]] = {"svg": _svg_bytes, "png": _png_bytes, "pdf": _pdf_bytes}
