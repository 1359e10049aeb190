"""Figures as SVG elements, with all text escaped that was not built as markup here, and figure files."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, TypeAlias, get_args
from unicodedata import east_asian_width

from formalimg._util.installing import install_line
from formalimg._util.io import atomic_write
from formalimg._util.text import printable
from formalimg.errors import FormalimgError
from formalimg.reports.tables.format import shorten_text

_VOID = frozenset({"br", "img", "input", "meta"})


class Markup(str):
    """A string of markup that needs no escaping, recognized by Jinja2."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup for template engines."""
        return self


def element(name: str, /, *children: str | Markup | Iterable[Markup], **attributes: object) -> Markup:
    """Build an element, omitting attributes that are None or False and writing `class_` and `data_run` as HTML does."""
    tag = f"<{name}{''.join(map(_attribute_text, attributes, attributes.values()))}>"
    return Markup(tag if name in _VOID else f"{tag}{join(*children)}</{name}>")


def join(*children: str | Markup | Iterable[Markup]) -> Markup:
    """Concatenate children, escaping plain text."""
    return Markup("".join(map(_child_text, children)))


def escape_text(text: str) -> Markup:
    """Escape plain text, replacing characters that are not allowed on a page with a dot."""
    return Markup(escape(printable(text)))


def _child_text(child: str | Markup | Iterable[Markup]) -> str:
    if isinstance(child, Markup):
        return child
    return escape_text(child) if isinstance(child, str) else "".join(map(_child_text, child))


def _attribute_text(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.1f}".removesuffix(".0")
    return f' {name}="{escape_text(str(value))}"'


WIDTH = 238.0  # In points: the width of a column of a two-column paper
FONT_SIZE = 7.0
INK, QUIET, RULE = "#1c1e21", "#63676d", "#deddd7"

_BROAD, _NARROW = 1.0, 0.53
"""The width of letters of size 1. The font of the reader is unknown: rather too wide than too narrow."""


class Figure(NamedTuple):
    """A figure of a report."""

    name: str  # what its file is called, without the ending, such as `knolling-rates`
    title: str  # what it shows
    note: str  # how its figures were made and what its marks mean; for the caption
    height: float  # in points. All are `WIDTH` wide
    inside: Markup  # what is drawn

    def svg(self, unit: Literal["pt", ""] = "pt") -> str:
        """Return the figure as a self-contained SVG file without external styles, fonts or network access."""
        size = {"width": f"{WIDTH:g}{unit}", "height": f"{self.height:g}{unit}"}
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{self.element(xmlns="http://www.w3.org/2000/svg", **size)}\n'

    def __repr__(self) -> str:
        return f"<Figure {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        """Return the figure for notebooks, with its caption and on white in every theme."""
        image = self.element(width="640", style="max-width: 100%; height: auto; border-radius: 4px")
        return str(join(image, element("p", self.note, style="max-width: 640px; font-size: 12px; opacity: 0.7")))

    def element(self, **attributes: str) -> Markup:
        """Return the figure as a page element, which fills the available width by default."""
        return element(
            "svg",
            element("title", self.title),
            element("desc", self.note),
            element("rect", width=WIDTH, height=self.height, fill="#ffffff"),
            self.inside,
            **attributes,
            viewBox=f"0 0 {WIDTH:g} {self.height:g}",
            role="img",
            font_family="sans-serif",
            font_size=FONT_SIZE,
            fill=INK,
        )


def text_width(text: str) -> float:
    """Return the approximate width of text, in points."""
    return FONT_SIZE * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    return _BROAD if east_asian_width(letter) in "WF" else _NARROW


def fit_text(text: str, room: float) -> str:
    """Shorten text to fit on a line of the given width."""
    line = " ".join(text.split())
    if text_width(line) <= room:
        return line
    # Letter by letter from the beginning: names may have thousands of them.
    widths = accumulate(map(_letter_width, line))
    count = sum(1 for _ in takewhile(lambda width: FONT_SIZE * (width + _letter_width("…")) <= room, widths))
    return f"{line[:count].rstrip()}…"


def text_at(
    text: str, x: float, y: float, anchor: Literal["start", "middle", "end"] = "start", *, color: str = INK
) -> Markup:
    """Draw a line of text."""
    return element("text", text, x=x, y=y, text_anchor=anchor, fill=color)


def vertical_text(text: str, x: float, y: float) -> Markup:
    """Draw a line of vertical text that reads upwards, centred at the given point."""
    return element("text", text, text_anchor="middle", transform=f"translate({x:.1f} {y:.1f}) rotate(-90)")


def draw_line(
    ends: Sequence[float], color: str = RULE, width: float = 0.5, dash: str = "", opacity: float = 1
) -> Markup:
    """Draw a straight line from (x1, y1) to (x2, y2)."""
    return element(
        "path",
        d="M{:.2f} {:.2f}L{:.2f} {:.2f}".format(*ends),
        fill="none",
        stroke=color,
        stroke_width=f"{width:g}",
        stroke_dasharray=dash or None,
        stroke_opacity=f"{opacity:g}" if opacity < 1 else None,
    )


def draw_rect(x: float, y: float, width: float, height: float, **attributes: str) -> Markup:
    """Draw a rectangle."""
    sides = {"x": x, "y": y, "width": width, "height": height}
    return element("rect", **{name: f"{value:.2f}" for name, value in sides.items()}, **attributes)


def draw_polyline(
    points: Iterable[tuple[float, float] | None], color: str, width: float, dash: str = ""
) -> list[Markup]:
    """Draw a line through points, broken at each None."""
    path, command = "", "M"
    for point in points:
        if point is not None:
            path += "{}{:.2f} {:.2f}".format(command, *point)
        command = "M" if point is None else "L"
    if not path:
        return []
    stroke = {"stroke": color, "stroke_width": f"{width:g}", "stroke_dasharray": dash or None}
    return [element("path", d=path, fill="none", stroke_linejoin="round", **stroke)]


def short_names(names: Sequence[str], max_length: int) -> list[str]:
    """Shorten names to `max_length`, removing their common prefix first where needed.

    If they were only cut at the end, the names of several versions of one model would look the same.
    """
    long = {name for name in names if len(name) > max_length}
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False)) if len(long) > 1 else ()
    whole_words = re.match(r".*[/\-_ ,]", "".join(letters[0] for letters in alike))
    common = len(whole_words[0]) if whole_words else 0
    return [shorten_text(f"…{name[common:]}" if common and name in long else name, max_length) for name in names]


def slug(text: str) -> str:
    """Convert text to part of a file name: letters from a to z, digits, and dashes for everything else."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


# --- files

FigureFormat: TypeAlias = Literal["svg", "png", "pdf"]  # SVG and PDF are scalable; PNG is for slides and pages
_DOTS_PER_INCH = 300
_POINTS_PER_INCH = 72


def parse_figure_formats(text: str) -> tuple[FigureFormat, ...]:
    """Parse a comma-separated list of figure formats, such as `svg,pdf`."""
    formats: dict[str, FigureFormat] = {name: name for name in get_args(FigureFormat)}
    names = dict.fromkeys(name for name in re.split(r"[\s,]+", text.lower()) if name)
    if not names or not names.keys() <= formats.keys():
        raise FormalimgError(f"figures cannot be written as {text!r}: name some of {', '.join(formats)}, with commas")
    if "pdf" in names and find_spec("vl_convert") is None:
        raise FormalimgError(
            f"figures as pdf need the library vl-convert-python: {install_line('figures')}; svg and png do not"
        )
    return tuple(formats[name] for name in names)


def write_figures(
    drawings: Sequence[Figure], folder: str | Path, formats: Sequence[FigureFormat] = ("svg", "png")
) -> tuple[Path, ...]:
    """Write figures to a folder, creating it if needed and overwriting files of the same name.

    Args:
        drawings: the result of `comparison_figures`, `study_figures` or `item_figures`; later figures of the same name
            are numbered.
        folder: the folder.
        formats: `svg`, `png` (300 dots per inch), `pdf` (needs the extra `figures`).
    """
    formats = parse_figure_formats(",".join(formats))
    into = Path(folder)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write figures into {into}: {error.strerror}; name a folder") from error
    paths = []
    counts = Counter[str]()
    for drawing in drawings:
        counts[drawing.name] += 1
        name = drawing.name if counts[drawing.name] == 1 else f"{drawing.name}-{counts[drawing.name]}"
        for form in formats:
            paths.append(into / f"{name}.{form}")
            atomic_write(paths[-1], [_figure_bytes(drawing, form)])
    return tuple(paths)


def _figure_bytes(drawing: Figure, form: FigureFormat) -> bytes:
    if form == "svg":
        return drawing.svg().encode()
    if form == "png":
        return _png_bytes(drawing)
    page: bytes = import_module("vl_convert").svg_to_pdf(drawing.svg(""))  # a unit becomes a point of the page
    return page


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
