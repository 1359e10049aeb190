"""The grid of example images: one for each run and level, with a green frame if it passes and a red one if it fails."""

from __future__ import annotations

import io
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from formalimg.benchmarks.registry import suite
from formalimg.reports.comparison_model import run_names
from formalimg.reports.figures.svg import QUIET, WIDTH, Figure, Markup, element, fit_text, join, text_at
from formalimg.reports.report_images import Thumbnail, make_thumbnail
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.runs.reader import Judged
from formalimg.types import Benchmark, RunRecord

PASSED, FAILED = "#2a9d4a", "#d03a34"
_GAP, _LINE, _FRAME = 2.5, 9.0, 1.4
_MOST_SIDE = 56.0
"""The side of an image in points, where there are few levels."""
_PIXELS = 160


class _GridRow(NamedTuple):
    """A run, and its image of each level that has one."""

    name: str
    images: dict[int, Judged]


def image_grids(runs: Sequence[RunRecord]) -> dict[str, Figure]:
    """Return the grid of each suite of these runs, by its name; none for suites without an image that has a verdict.

    For each level it is the first item that most runs have an image and a verdict for, so that the images of a column
    are of the same words.
    """
    grids = {}
    for name in dict.fromkeys(run.manifest.suite for run in runs):
        those = [run for run in runs if run.manifest.suite == name]
        judged = [_judged_items(run) for run in those]
        chosen = _chosen_items(judged)
        rows = [
            _GridRow(called, {one.outcome.level: one for one in run.judged([(item, 0) for item in found])})
            for called, run, items in zip(run_names(those), those, judged, strict=True)
            if (found := [item for item in chosen.values() if item in items])
        ]
        if rows:
            grids[name] = _grid(suite(name), rows, chosen)
    return grids


def _judged_items(run: RunRecord) -> dict[str, int]:
    """Return the items whose first image has a verdict, with their levels."""
    return {one.item: one.level for one in run.outcomes() if one.passed is not None and not one.sample}


def _chosen_items(judged: Sequence[dict[str, int]]) -> dict[int, str]:
    """Return an item for each level: the first of those that most runs have a verdict for."""
    counts: dict[int, Counter[str]] = {}
    for items in judged:
        for item, level in items.items():
            counts.setdefault(level, Counter())[item] += 1
    return {level: items.most_common(1)[0][0] for level, items in sorted(counts.items())}


def _grid(about: Benchmark, rows: Sequence[_GridRow], chosen: dict[int, str]) -> Figure:
    levels = sorted(chosen)
    step = min(_MOST_SIDE + _GAP, WIDTH / len(levels))
    side = step - _GAP
    parts = [text_at(level_word(about) or "level", 0, _LINE - 2, color=QUIET)]
    parts += [
        text_at(level_head(about, level), place * step + side / 2, 2 * _LINE - 2, "middle")
        for place, level in enumerate(levels)
    ]
    top = 2 * _LINE + 1
    for row in rows:
        parts.append(text_at(fit_text(row.name, WIDTH), 0, top + _LINE - 3))
        top += _LINE
        for place, level in enumerate(levels):
            if level in row.images:
                parts.append(
                    _cell(row.images[level], place * step, top, side, f"{row.name}, {level_name(about, level)}")
                )
        top += side + _GAP
    items = ", ".join(f"{item} ({level_name(about, level)})" for level, item in chosen.items())
    note = (
        "One image of each run and level, all of a column for the same item. Green frame: it satisfies the "
        f"instruction; red frame: it fails. Items: {items}."
    )
    return Figure(f"{about.name}-examples", f"{about.title}: example images, by level", note, top, join(parts))


def _cell(judged: Judged, x: float, y: float, side: float, name: str) -> Markup:
    """Return an image in its frame; an empty frame if the file cannot be shown."""
    passed = bool(judged.outcome.passed)
    inner = side - 2 * _FRAME
    drawn = []
    address = _jpeg_address(judged)
    if address:
        place = {"x": x + _FRAME, "y": y + _FRAME, "width": inner, "height": inner}
        drawn.append(element("image", href=address, preserveAspectRatio="xMidYMid meet", **place))
    frame = {"x": x + _FRAME / 2, "y": y + _FRAME / 2, "width": side - _FRAME, "height": side - _FRAME}
    color = PASSED if passed else FAILED
    drawn.append(element("rect", fill="none", stroke=color, stroke_width=f"{_FRAME:g}", **frame))
    title = f"{name}, item {judged.outcome.item}: {'passes' if passed else 'fails'}"
    return element("g", element("title", title), drawn)


def _jpeg_address(judged: Judged) -> str:
    """Return a small version of the image as a data URL; JPEG, which every reader of SVG and PDF can show."""
    from PIL import Image

    small = make_thumbnail(judged.image, _PIXELS) if judged.image is not None else ""
    if not isinstance(small, Thumbnail):
        return ""
    page = io.BytesIO()
    with Image.open(io.BytesIO(small.data)) as image:
        image.convert("RGB").save(page, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(page.getvalue()).decode('ascii')}"
