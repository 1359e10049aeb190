"""Reports as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.reporting.comparing import compare
from formalimg.reporting.exhibits import exhibits_of
from formalimg.reporting.figures import counted
from formalimg.reporting.html import Gallery, html_page
from formalimg.reporting.image_files import (
    Images,
    InFolder,
    folder_beside,
    remove_other_images,
    showing,
    write_images,
)
from formalimg.runs import RunRecord
from formalimg.stats import Missing
from formalimg.suites import Profile

if TYPE_CHECKING:
    from formalimg.analysis import StudyOfPeople

_MEGABYTE = 1_000_000
_ROOM_FOR_REMARK = 1000


class _Page(NamedTuple):
    """The bytes of a page, and the images that it shows."""

    whole: bytes
    shown: Gallery


def write_html(
    runs: Sequence[RunRecord],
    path: str | Path,
    *,
    missing: Missing = "exclude",
    epsilon: float | None = None,
    references: bool = False,
    gallery: int = 24,
    images: Images = "embed",
    most_megabytes: float = 15,
    profile: Profile = "paper",
    threshold: float = 0.5,
    studied: Sequence[StudyOfPeople] = (),
) -> None:
    """Write one self-contained page about these runs: curves, tables, failures, and a gallery of images.

    Args:
        runs: the runs; those of one suite share a section.
        path: the file. It appears whole or not at all.
        missing: as for `compare`.
        epsilon: as for `compare`.
        references: as for `compare`.
        gallery: how many images of each run are shown.
        images: `embed` puts small images into the page, `folder` larger ones into a folder beside it
            (`report_files` for `report.html`), and `none` shows prompts and reasons alone.
        most_megabytes: how large the page may be. Where it would be larger, fewer images are shown, and it says so.
        profile: as for `compare`.
        threshold: as for `compare`.
        studied: what people say about the images, as `formalimg.analysis.study_people` gave it back.

    Raises:
        FormalimgError: if it cannot be written, or is too large even without images.
    """
    comparison = compare(
        runs, missing=missing, epsilon=epsilon, references=references, profile=profile, threshold=threshold
    )
    path = Path(path)
    folder = folder_beside(path)
    show = showing(images, folder)

    def page(count: int, remark: str) -> _Page:
        shown = {
            section.suite.name: {
                number: exhibits_of(run, count, show)
                for number, run in enumerate(run for run in runs if run.manifest.suite == section.suite.name)
            }
            for section in comparison.sections
        }
        return _Page(html_page(comparison, shown, studied, remark).encode(), shown)

    whole, shown = _small_enough(page, gallery, most_megabytes)
    beside = {
        exhibit.thumbnail
        for by_run in shown.values()
        for exhibits in by_run.values()
        for exhibit in exhibits
        if isinstance(exhibit.thumbnail, InFolder)
    }
    if images == "folder":
        write_images(folder, beside)
    atomic_write(path, [whole])
    if images == "folder":
        remove_other_images(folder, beside)


def _small_enough(page: Callable[[int, str], _Page], wanted: int, most_megabytes: float) -> _Page:
    """The page with as many images of each run as it has room for."""
    most = int(most_megabytes * _MEGABYTE)
    count, made = wanted, page(wanted, "")
    bare = len(page(0, "").whole) if len(made.whole) > most else 0
    if bare + _ROOM_FOR_REMARK > most and len(made.whole) > most:
        raise FormalimgError(
            f"the page has {bare / _MEGABYTE:.1f} MB even without images: allow it more, or report fewer runs at once"
        )
    while len(made.whole) > most:
        # Images differ in size, so this may take a few steps; each has at least one image less.
        count = min(count - 1, count * (most - bare) // (len(made.whole) - bare))
        fewer = f"{counted(count, 'image')} of each run instead of {wanted:,}"
        remark = f"{fewer}, to keep the page below {most_megabytes:g} MB."
        made = page(count, remark)
    return made
