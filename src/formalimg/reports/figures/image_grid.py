"""Grid of example images: one image per run and level, framed in green if it passes and in red if it fails."""

from __future__ import annotations

import io
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.reports.comparison_model import run_names
from formalimg.reports.figures.svg import QUIET, WIDTH, Figure, Markup, element, fit_text, join, text_at
from formalimg.reports.report_images import Thumbnail, make_thumbnail
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.runs.reader import Judged
from formalimg.types import Benchmark, RunRecord

PASSED, FAILED = "#2a9d4a", "#d03a34"
_GAP, _LINE, _FRAME = 2.5, 9.0, 1.4
_MAX_SIDE = 56.0  # The side of an image in points, where there are few levels
_PIXELS = 160


def image_grids(runs: Sequence[RunRecord]) -> dict[str, Figure]:
    """Return the image grid of each suite by name, skipping suites in which no image has a verdict.

    For each level it is the first item that most runs have an image and a verdict for, so that the images of a column
    are of the same words.
    """
    grids = {}
    for name in dict.fromkeys(run.manifest.suite for run in runs):
        suite_runs = [run for run in runs if run.manifest.suite == name]
        # The items whose first image has a verdict, with their levels.
        judged_items = [
            {image.item: image.level for image in run.outcomes() if image.passed is not None and not image.sample}
            for run in suite_runs
        ]
        counts: dict[int, Counter[str]] = {}
        for items in judged_items:
            for item, level in items.items():
                counts.setdefault(level, Counter())[item] += 1
        chosen = {level: items.most_common(1)[0][0] for level, items in sorted(counts.items())}
        rows = []
        for run_name, run, items in zip(run_names(suite_runs), suite_runs, judged_items, strict=True):
            keys = [(item, 0) for item in chosen.values() if item in items]
            if keys:
                rows.append((run_name, {judged.outcome.level: judged for judged in run.judged(keys)}))
        if rows:
            grids[name] = _draw_grid(find_suite(name), rows, chosen)
    return grids


def _draw_grid(suite: Benchmark, rows: Sequence[tuple[str, dict[int, Judged]]], chosen: dict[int, str]) -> Figure:
    levels = sorted(chosen)
    step = min(_MAX_SIDE + _GAP, WIDTH / len(levels))
    side = step - _GAP
    parts = [text_at(level_word(suite) or "level", 0, _LINE - 2, color=QUIET)]
    parts += [
        text_at(level_head(suite, level), number * step + side / 2, 2 * _LINE - 2, "middle")
        for number, level in enumerate(levels)
    ]
    top = 2 * _LINE + 1
    for run_name, images in rows:
        parts.append(text_at(fit_text(run_name, WIDTH), 0, top + _LINE - 3))
        top += _LINE
        parts += [
            _draw_image(images[level], number * step, top, side, f"{run_name}, {level_name(suite, level)}")
            for number, level in enumerate(levels)
            if level in images
        ]
        top += side + _GAP
    items = ", ".join(f"{item} ({level_name(suite, level)})" for level, item in chosen.items())
    note = (
        "One image of each run and level, all of a column for the same item. Green frame: it satisfies the "
        f"instruction; red frame: it fails. Items: {items}."
    )
    return Figure(f"{suite.name}-examples", f"{suite.title}: example images, by level", note, top, join(parts))


def _draw_image(judged: Judged, x: float, y: float, side: float, name: str) -> Markup:
    """Draw an image in its frame, or an empty frame if the file cannot be shown."""
    passed = bool(judged.outcome.passed)
    inner = side - 2 * _FRAME
    parts = [element("title", f"{name}, item {judged.outcome.item}: {'passes' if passed else 'fails'}")]
    address = _jpeg_address(judged)
    if address:
        bounds = {"x": x + _FRAME, "y": y + _FRAME, "width": inner, "height": inner}
        parts.append(element("image", href=address, preserveAspectRatio="xMidYMid meet", **bounds))
    frame = {"x": x + _FRAME / 2, "y": y + _FRAME / 2, "width": side - _FRAME, "height": side - _FRAME}
    color = PASSED if passed else FAILED
    parts.append(element("rect", fill="none", stroke=color, stroke_width=f"{_FRAME:g}", **frame))
    return element("g", parts)


def _jpeg_address(judged: Judged) -> str:
    """Return a small version of the image as a JPEG data URL, which every SVG and PDF viewer can show."""
    from PIL import Image

    thumbnail = make_thumbnail(judged.image, _PIXELS) if judged.image is not None else ""
    if not isinstance(thumbnail, Thumbnail):
        return ""
    page = io.BytesIO()
    with Image.open(io.BytesIO(thumbnail.data)) as image:
        image.convert("RGB").save(page, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(page.getvalue()).decode('ascii')}"
