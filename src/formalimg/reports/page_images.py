"""Example images of runs: thumbnails and image files of pages, a gallery, the most telling failures, and a grid."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote

from formalimg._util.io import atomic_write
from formalimg.benchmarks.registry import suite as find_suite
from formalimg.errors import FormalimgError
from formalimg.reports.comparison_model import run_names
from formalimg.reports.figures.svg import QUIET, WIDTH, Figure, Markup, element, fit_text, join, text_at
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.reports.telling_failures import MAX_TELLING, telling_failures
from formalimg.runs.database import PlannedItem
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.inspection import inspect
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged
from formalimg.types import Benchmark, RunRecord, Unscored

if TYPE_CHECKING:
    from formalimg.reports.comparison_model import Section

MAX_SIDE = 320  # The longer side of images inside a page, in pixels


class PageImage(Protocol):
    """An image that a page can show, with its URL and its size in pixels."""

    @property
    def address(self) -> str: ...  # noqa: D102
    @property
    def width(self) -> int: ...  # noqa: D102
    @property
    def height(self) -> int: ...  # noqa: D102


class Thumbnail(NamedTuple):
    """A thumbnail as a WebP file, with its size in pixels."""

    data: bytes
    width: int
    height: int

    @property
    def address(self) -> str:
        """The image as a data URL."""
        return f"data:image/webp;base64,{base64.b64encode(self.data).decode('ascii')}"


def make_thumbnail(path: ImageLocation, max_side: int = MAX_SIDE) -> Thumbnail | str:
    """Return a thumbnail of an image, decoded as for judges, or the reason why it cannot be shown."""
    from PIL import Image

    try:
        image = inspect(path.read_bytes())
    except FileNotFoundError:
        return "the file of the image is missing"
    except OSError as error:
        return f"the file of the image cannot be read: {error.strerror}"
    if isinstance(image, Unscored):
        too_large = image.reason == "too large"
        return "the image is too large to be shown" if too_large else "the file cannot be read as an image"
    small = image.pil
    small.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    page = io.BytesIO()
    small.save(page, "WEBP", quality=72, method=4)
    return Thumbnail(page.getvalue(), small.width, small.height)


# Where the images of a page are: small ones inside it, larger ones in a folder beside it, or nowhere
Images: TypeAlias = Literal["embed", "folder", "none"]

_MAX_FOLDER_SIDE = 1024
_OURS = re.compile(r"[0-9a-f]{24}\.webp")


class LinkedImage(NamedTuple):
    """An image in the folder of a page, with the size at which the page shows it."""

    folder: str
    width: int
    height: int
    data: bytes

    @property
    def name(self) -> str:
        """The file name, derived from the image content so that it is safe to use as a path."""
        return f"{sha256(self.data).hexdigest()[:24]}.webp"

    @property
    def address(self) -> str:
        """The URL of the image on the page."""
        return f"{quote(self.folder)}/{self.name}"


def image_loader(images: Images, folder: Path) -> Callable[[ImageLocation], PageImage | str]:
    """Return a function that loads images for a page and reads each file once."""

    def beside(path: ImageLocation) -> LinkedImage | str:
        small = make_thumbnail(path, _MAX_FOLDER_SIDE)
        if not isinstance(small, Thumbnail):
            return small
        shrunk = min(1.0, MAX_SIDE / max(small.width, small.height))
        width, height = (max(1, round(side * shrunk)) for side in (small.width, small.height))
        return LinkedImage(folder.name, width, height, small.data)

    match images:
        case "embed":
            return cache(make_thumbnail)
        case "folder":
            return cache(beside)
        case "none":
            return lambda path: ""


def write_images(folder: Path, images: Collection[LinkedImage]) -> None:
    """Write the images of a page to a folder."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FormalimgError(
            f"cannot create the folder {folder} for the images of the page: {error.strerror}"
        ) from error
    for image in images:
        atomic_write(folder / image.name, [image.data])


def remove_other_images(folder: Path, images: Collection[LinkedImage]) -> None:
    """Remove the images of an earlier version of the page, leaving all other files in place."""
    needed = {image.name for image in images}
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path.name not in needed:
            path.unlink(missing_ok=True)


# --- galleries

_UNSCORED_SHARE = 6  # At most one in this many images is an unscored one, unless there are no others


@dataclass(frozen=True)
class ExampleImage:
    """One image of a gallery."""

    item: PlannedItem
    judged: Judged  # the image with its verdict
    thumbnail: PageImage | str  # the small image; or why it cannot be shown; empty where images are left out on purpose


@dataclass(frozen=True)
class SuiteImages:
    """The images that a page shows for a suite."""

    # the images of the gallery, by the run's position in its section
    examples: Mapping[int, Sequence[ExampleImage]] = field(default_factory=dict)
    # the most telling failures, each with the run's position; they are in the gallery too
    telling: Sequence[tuple[int, ExampleImage]] = ()
    grid: Figure | None = None  # example images by level

    @property
    def all(self) -> Iterator[ExampleImage]:
        """All images of the gallery."""
        return chain.from_iterable(self.examples.values())


def suite_images(
    section: Section,
    runs: Sequence[RunRecord],
    count: int,
    load_image: Callable[[ImageLocation], PageImage | str],
    *,
    has_grid: bool,
) -> SuiteImages:
    """Return the images that a page shows for the runs of a section, leaving out baselines."""
    if not count:
        return SuiteImages()
    suite_runs = [run for run in runs if run.manifest.suite == section.suite.name]
    rated = {number: suite_runs[number] for number, row in enumerate(section.rows) if row in section.rated}
    failures = telling_failures(rated, min(count, MAX_TELLING))
    examples = {}
    for number, run in rated.items():
        first = [failure.key for failure in failures if failure.run == number]
        chosen = [(outcome.item, outcome.sample) for outcome in choose_images(run.outcomes(), count, first)]
        examples[number] = [
            ExampleImage(
                run.items[judged.outcome.item],
                judged,
                "no image" if judged.image is None else load_image(judged.image),
            )
            for judged in (run.judged(chosen) if chosen else ())
        ]
    by_key = {
        (number, example.judged.outcome.item, example.judged.outcome.sample): example
        for number, images in examples.items()
        for example in images
    }
    telling = [(failure.run, by_key[key]) for failure in failures if (key := (failure.run, *failure.key)) in by_key]
    grids = image_grids([*rated.values()]) if has_grid else {}
    return SuiteImages(examples, telling, grids.get(section.suite.name))


def choose_images(
    outcomes: Sequence[ImageOutcome], count: int, first: Collection[tuple[str, int]] = ()
) -> list[ImageOutcome]:
    """Return up to `count` outcomes, half failures and half passes plus a few unscored, spread over the levels.

    Each kind is spread over the levels, the unscored over their reasons. Images that do not exist yet are left out.
    """
    by_level = [[image for image in outcomes if image.passed is passed] for passed in (False, True)]
    failed, passed = (list(_round_robin(images, lambda image: image.level)) for images in by_level)
    failed.sort(key=lambda image: (image.item, image.sample) not in first)
    without = [image for image in outcomes if image.passed is None and image.reason != "no image"]
    rest = max(0, count - len(failed) - len(passed))
    unscored = list(_round_robin(without, lambda image: image.reason))[: max(rest, -(-count // _UNSCORED_SHARE))]
    room = count - len(unscored)
    chosen = failed[: max(room // 2 + room % 2, room - len(passed))]
    chosen += passed[: room - len(chosen)]
    return sorted(
        [*chosen, *unscored][:count], key=lambda image: (bool(image.passed), image.passed is None, image.level)
    )


def _round_robin(outcomes: Iterable[ImageOutcome], group: Callable[[ImageOutcome], Hashable]) -> Iterator[ImageOutcome]:
    groups: dict[Hashable, deque[ImageOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(group(outcome), deque()).append(outcome)
    while groups:
        for key in list(groups):
            yield groups[key].popleft()
            if not groups[key]:
                del groups[key]


# --- a grid: one image per run and level, framed in green if it passes and in red if it fails

PASSED, FAILED = "#2a9d4a", "#d03a34"
_GAP, _LINE, _FRAME = 2.5, 9.0, 1.4
_MAX_SIDE = 56.0  # The side of an image in points, where there are few levels
_PIXELS = 160


def image_grids(runs: Sequence[RunRecord]) -> dict[str, Figure]:
    """Return the image grid of each suite by name, skipping suites in which no image has a verdict.

    For each level, it shows the first item for which most runs have an image and a verdict, so that the images of a
    column have the same prompt.
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
    return f"data:image/jpeg;base64,{base64.b64encode(page.getvalue()).decode('ascii')}"
