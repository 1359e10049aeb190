"""Reports: render a comparison as terminal text, Markdown, LaTeX, CSV, JSON or HTML, and write HTML report files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.formats import Format
from formalimg.reports.main_table import main_table
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.terminal import render_terminal, terminal_plain_text
from formalimg.reports.terminal_report import terminal_table
from formalimg.stats.observations import MissingPolicy, Profile
from formalimg.types import RunRecord

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.studies import HumanStudy
    from formalimg.reports.examples import SuiteImages
    from formalimg.reports.page import Printed
    from formalimg.reports.report_images import Images

_MEGABYTE = 1_000_000
_ROOM_FOR_REMARK = 1000


def render(
    comparison: Comparison,
    format: Format,  # noqa: A002  # what users call it
    *,
    details: bool = False,
    studied: Sequence[HumanStudy] = (),
) -> str:
    """Return the comparison as text in a format.

    Args:
        comparison: what `compare` returned.
        format: `terminal` (as wide as the terminal), `md`, `latex` (booktabs), `csv` (one line per run and number),
            `json` (everything), or `html` (one page, without images; `write_html` adds them).
        details: whether a terminal also shows the tables below the main one; the other formats always have them.
        studied: human ratings of the images, as `formalimg.human_eval.agreement.study_people` returned them.
    """
    # Renderers are imported here, so that the table after a run is made faster.
    from formalimg.reports.ratings import rating_data, rating_lines, rating_tables

    rated = [table for study in studied for table in rating_tables(study)]
    match format:
        case "terminal":
            texts = [terminal_text(comparison, details=details)]
            if rated:
                texts += ["Compared with people\n", terminal_plain_text(render_terminal(rated))]
            return "\n".join(texts)
        case "md":
            from formalimg.reports.tables.markdown import render_markdown

            texts = [
                text
                for section in comparison.sections
                for text in (
                    render_markdown(main_table(section, comparison)),
                    *(render_markdown(table, 3) for table in section.shown_tables),
                )
            ]
            if rated:
                texts += ["## Compared with people\n", *(render_markdown(table, 3) for table in rated)]
            return "\n".join(texts)
        case "latex":
            from formalimg.reports.tables.latex import render_latex

            tables = (
                table
                for section in comparison.sections
                for table in (main_table(section, comparison), *section.shown_tables)
            )
            return "\n".join(text for table in (*tables, *rated) for text in render_latex(table))
        case "csv":
            from formalimg.reports.export import CSV_COLUMNS, comparison_csv
            from formalimg.reports.tables.data_formats import csv_text

            lines = (line for study in studied for line in rating_lines(study))
            return comparison_csv(comparison) + csv_text(CSV_COLUMNS, lines, header=False)
        case "json":
            from formalimg.reports.export import comparison_json

            return comparison_json(comparison, **({"compared_with_people": rating_data(studied)} if studied else {}))
        case "html":
            from formalimg.reports.page import html_page

            return html_page(comparison, studied=studied)
    raise FormalimgError(f"unknown format {format!r}: use one of {', '.join(get_args(Format))}")


def terminal_text(comparison: Comparison, width: int | None = None, *, details: bool = False) -> str:
    """Return the comparison as plain text; by default as wide as the terminal."""
    return terminal_plain_text(terminal_table(comparison, details=details), width)


def plain_table(comparison: Comparison, width: int | None = None) -> str:
    """Return the table of each suite as plain text, for `print`; by default as wide as the terminal."""
    return terminal_plain_text(terminal_table(comparison, has_claims=False), width)


class _SizedPage(NamedTuple):
    """The bytes of a page, and the images that it shows."""

    data: bytes
    shown: dict[str, SuiteImages]


def write_html(
    runs: Sequence[RunRecord],
    path: str | Path,
    *,
    missing: MissingPolicy = "exclude",
    epsilon: float | None = None,
    references: bool = False,
    gallery: int = 24,
    images: Images = "embed",
    most_megabytes: float = 15,
    profile: Profile | None = None,
    threshold: float = 0.5,
    studied: Sequence[HumanStudy] = (),
    printed: Printed = "open",
) -> None:
    """Write one self-contained page about these runs: claims, numbers and failures; the rest is folded.

    Args:
        runs: the runs; those of one suite share a section.
        path: the file. It is written atomically.
        missing: as for `compare`.
        epsilon: as for `compare`.
        references: as for `compare`.
        gallery: how many images of each run are shown.
        images: `embed` puts small images into the page, `folder` larger ones into a folder beside it
            (`report_files` for `report.html`), and `none` shows prompts and reasons alone.
        most_megabytes: the maximal size of the page. Where it would be larger, fewer images are shown, and it says so.
        profile: as for `compare`.
        threshold: as for `compare`.
        studied: human ratings of the images, as `formalimg.human_eval.agreement.study_people` returned them.
        printed: what is printed of it: `open` for what is open, `all` for all parts.

    Raises:
        FormalimgError: if it cannot be written, or is too large even without images.
    """
    comparison = compare(
        runs, missing=missing, epsilon=epsilon, references=references, profile=profile, threshold=threshold
    )
    write_page(
        comparison,
        runs,
        path,
        gallery=gallery,
        images=images,
        most_megabytes=most_megabytes,
        studied=studied,
        printed=printed,
    )


def write_page(
    comparison: Comparison,
    runs: Sequence[RunRecord],
    path: str | Path,
    *,
    gallery: int = 24,
    images: Images = "embed",
    most_megabytes: float = 15,
    studied: Sequence[HumanStudy] = (),
    printed: Printed = "open",
) -> None:
    """Write the page of a comparison that has been made: as `write_html`, which makes it first."""
    # here, so that the table after a run is made faster
    from formalimg.reports.examples import suite_images
    from formalimg.reports.page import html_page
    from formalimg.reports.report_images import (
        LinkedImage,
        image_folder,
        image_loader,
        remove_other_images,
        write_images,
    )

    path = Path(path)
    folder = image_folder(path)
    load = image_loader(images, folder)

    def page(count: int, remark: str) -> _SizedPage:
        shown = {
            section.suite.name: suite_images(section, runs, count, load, has_grid=images != "none")
            for section in comparison.sections
        }
        return _SizedPage(html_page(comparison, shown, studied, remark, printed).encode(), shown)

    data, shown = _fit_size(page, gallery, most_megabytes)
    beside = {
        example.thumbnail
        for of_suite in shown.values()
        for example in of_suite.all
        if isinstance(example.thumbnail, LinkedImage)
    }
    if images == "folder":
        write_images(folder, beside)
    atomic_write(path, [data])
    if images == "folder":
        remove_other_images(folder, beside)


def _fit_size(page: Callable[[int, str], _SizedPage], images: int, max_megabytes: float) -> _SizedPage:
    """Return the page with as many images of each run as its maximal size allows."""
    limit = int(max_megabytes * _MEGABYTE)
    count, made = images, page(images, "")
    bare = len(page(0, "").data) if len(made.data) > limit else 0
    if bare + _ROOM_FOR_REMARK > limit and len(made.data) > limit:
        raise FormalimgError(
            f"the page has {bare / _MEGABYTE:.1f} MB even without images: allow it more, or report fewer runs at once"
        )
    while len(made.data) > limit:
        # Images differ in size, so this may take a few steps; each has at least one image less.
        count = min(count - 1, count * (limit - bare) // (len(made.data) - bare))
        fewer = f"{count_noun(count, 'image')} of each run instead of {images:,}"
        made = page(count, f"{fewer}, to keep the page below {max_megabytes:g} MB.")
    return made
