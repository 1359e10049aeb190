"""Render a comparison as terminal text, Markdown, LaTeX, CSV, JSON or HTML, and write HTML report files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

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
from formalimg.types import RunRecord, Table

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.studies import HumanStudy
    from formalimg.reports.page import Printed
    from formalimg.reports.page_images import Images, SuiteImages

_MEGABYTE = 1_000_000
_ROOM_FOR_REMARK = 1000


def render(
    comparison: Comparison,
    format: Format,  # noqa: A002  # what users call it
    *,
    details: bool = False,
    studied: Sequence[HumanStudy] = (),
) -> str:
    """Return the comparison as text in the given format.

    Args:
        comparison: what `compare` returned.
        format: `terminal` (as wide as the terminal), `md`, `latex` (booktabs), `csv` (one line per run and number),
            `json` (everything), or `html` (one page, without images; `write_html` adds them).
        details: whether a terminal also shows the tables below the main one; the other formats always have them.
        studied: human ratings of the images, as `formalimg.human_eval.agreement.study_human_ratings` returned them.
    """
    # Renderers are imported here, so that the table after a run is made faster.
    match format:
        case "terminal":
            texts = [terminal_text(comparison, details=details)]
            if studied:
                texts += ["Compared with people\n", terminal_plain_text(render_terminal(_study_tables(studied)))]
            return "\n".join(texts)
        case "md":
            from formalimg.reports.tables.markup import render_markdown

            texts = []
            for section in comparison.sections:
                texts.append(render_markdown(main_table(section, comparison)))
                texts += [render_markdown(table, 3) for table in section.shown_tables]
            if studied:
                texts.append("## Compared with people\n")
                texts += [render_markdown(table, 3) for table in _study_tables(studied)]
            return "\n".join(texts)
        case "latex":
            from formalimg.reports.tables.markup import render_latex

            tables = [
                table
                for section in comparison.sections
                for table in (main_table(section, comparison), *section.shown_tables)
            ]
            return "\n".join(text for table in (*tables, *_study_tables(studied)) for text in render_latex(table))
        case "csv":
            from formalimg.reports.export import comparison_csv

            return comparison_csv(comparison, studied)
        case "json":
            from formalimg.reports.export import comparison_json

            return comparison_json(comparison, studied)
        case "html":
            from formalimg.reports.page import html_page

            return html_page(comparison, studied=studied)
    raise FormalimgError(f"unknown format {format!r}: use one of {', '.join(get_args(Format))}")


def _study_tables(studies: Sequence[HumanStudy]) -> list[Table]:
    if not studies:
        return []
    from formalimg.human_eval.agreement.studies import tables_of_study

    return [table for study in studies for table in tables_of_study(study)]


def terminal_text(
    comparison: Comparison, width: int | None = None, *, details: bool = False, has_claims: bool = True
) -> str:
    """Return the comparison as plain text, as wide as the terminal by default."""
    return terminal_plain_text(terminal_table(comparison, details=details, has_claims=has_claims), width)


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
    """Write a self-contained HTML report of the runs, with claims, numbers and failures visible at first.

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
        studied: human ratings of the images, as `formalimg.human_eval.agreement.study_human_ratings` returned them.
        printed: the parts to print: `open` for those that are not folded, `all` for all.
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
    """Write the HTML report of an existing comparison."""
    # here, so that the table after a run is made faster
    from formalimg.reports.page import html_page
    from formalimg.reports.page_images import LinkedImage, image_loader, remove_other_images, suite_images, write_images

    path = Path(path)
    folder = path.with_name(f"{path.stem}_files")
    load = image_loader(images, folder)

    def build_page(count: int, remark: str) -> tuple[bytes, dict[str, SuiteImages]]:
        examples = {
            section.suite.name: suite_images(section, runs, count, load, has_grid=images != "none")
            for section in comparison.sections
        }
        return html_page(comparison, examples, studied, remark, printed).encode(), examples

    data, examples = _fit_size(build_page, gallery, most_megabytes)
    linked = {
        example.thumbnail
        for suite in examples.values()
        for example in suite.all
        if isinstance(example.thumbnail, LinkedImage)
    }
    if images == "folder":
        write_images(folder, linked)
    atomic_write(path, [data])
    if images == "folder":
        remove_other_images(folder, linked)


def _fit_size(
    build_page: Callable[[int, str], tuple[bytes, dict[str, SuiteImages]]], images: int, max_megabytes: float
) -> tuple[bytes, dict[str, SuiteImages]]:
    """Return the page and its images, with as many images per run as the size limit allows."""
    limit = int(max_megabytes * _MEGABYTE)
    count, (data, examples) = images, build_page(images, "")
    if len(data) <= limit:
        return data, examples
    bare = len(build_page(0, "")[0])
    if bare + _ROOM_FOR_REMARK > limit:
        raise FormalimgError(
            f"the page has {bare / _MEGABYTE:.1f} MB even without images: allow it more, or report fewer runs at once"
        )
    while len(data) > limit:
        # Images differ in size, so this may take a few steps; each has at least one image less.
        count = min(count - 1, count * (limit - bare) // (len(data) - bare))
        fewer = f"{count_noun(count, 'image')} of each run instead of {images:,}"
        data, examples = build_page(count, f"{fewer}, to keep the page below {max_megabytes:g} MB.")
    return data, examples
