"""`formalimg annotate`: collect human ratings in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from formalimg._util.text import visible
from formalimg.cli.commands import argument, option
from formalimg.cli.options import LOOPBACK, Host, OpenBrowser, Port, read_levels, require_web_extra
from formalimg.cli.streams import echo, print_table
from formalimg.cli.study_creation import (
    LABELS,
    RATERS,
    create_or_resume,
    default_study_name,
    grow_study,
    study_pages,
)
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.human_eval.study import Study


def annotate_command(
    folders: Annotated[
        list[Path],
        argument(
            "RUN|STUDY",
            "Run folders of one suite, for a study of their images; or the folder of a study, to resume it.",
        ),
    ],
    protocol: Annotated[
        Literal["likert", "questions", "scores", "boxes", "ab"] | None,
        option(
            "How raters judge: five points; the image as a whole, then yes or no to each question of the item; "
            "scores from 0 to 1 for each; correcting boxes, classes and colours (knolling, natural); or which of two "
            "images of different runs is better (ab)."
        ),
    ] = None,
    study: Annotated[
        Path | None,
        option(
            "DIR",
            "The folder of the study: created if it does not exist, resumed if it does. Default: "
            "studies/RUN-PROTOCOL, for one run; studies/RUN+RUN-correction with --for-correction.",
        ),
    ] = None,
    raters: Annotated[
        int | None,
        option(
            f"Number of raters. Default: {RATERS}, as in the study of the FormalImg paper; 1 with --for-correction.",
            min=1,
        ),
    ] = None,
    per_image: Annotated[int | None, option("Raters per image. Default: all; 1 with --for-correction.", min=1)] = None,
    levels: Annotated[str | None, option("Which levels, as in 1-10 or 1,2,5. Default: all.")] = None,
    per_level: Annotated[
        int | None,
        option("Images per run and level, sampled at random, of the same items for all runs. Default: all.", min=1),
    ] = None,
    borderline: Annotated[
        bool,
        option(
            "--borderline",
            "Take the images whose score lies between 0.3 and 0.7; with --per-level, others only fill up.",
        ),
    ] = False,
    for_correction: Annotated[
        bool,
        option(
            "--for-correction",
            "Draw images of one run at random, where their labels correct its judge most; of several runs, the "
            "same items for all, so that their differences are corrected. Says how precise that will be; see "
            "`formalimg report --human`.",
        ),
    ] = False,
    labels: Annotated[
        int | None,
        option(
            "N",
            "With --for-correction: how many images to label; of several runs, how many items, in all of them. "
            f"Default: {LABELS}.",
            min=1,
        ),
    ] = None,
    more: Annotated[
        int | None,
        option(
            "N",
            "Add so many images to a study for correction, where they narrow the corrected interval most; of "
            "several runs, items, where they narrow the differences that are not certain yet.",
            min=1,
        ),
    ] = None,
    checks: Annotated[
        float | None,
        option(
            "Share of attention checks among the tasks of a rater, as in 0.05: images the rater does not see "
            "otherwise, if there are such, shown with a prompt that does not fit. Default: 0.05, and as many as tell "
            "careful raters from those who answer at random; 0 for none.",
            min=0,
            max=0.5,
        ),
    ] = None,
    max_missed: Annotated[
        float | None,
        option(
            "SHARE",
            "The rule of a new study: raters who miss more than this share of their attention checks are "
            "excluded. Default: as many as careful raters need, 1 of 6 or 2 of 11.",
            min=0,
            max=1,
        ),
    ] = None,
    min_seconds: Annotated[
        float | None,
        option(
            "S",
            "The rule of a new study: raters whose median time for an image is shorter are excluded. Default: "
            "no such rule.",
            min=0,
        ),
    ] = None,
    instructions: Annotated[
        bool | None,
        option("--instructions/--no-instructions", "Begin with instructions, examples and practice. Default: yes."),
    ] = None,
    completion_url: Annotated[
        str | None,
        option("URL", "Where raters of a new study go when they have finished: the completion page of their platform."),
    ] = None,
    links_to: Annotated[
        Path | None,
        option("DIR", "Write the links that are made now, with completion codes, as files for recruiting platforms."),
    ] = None,
    seed: Annotated[int | None, option("Seed of sampling, assignment and order. Default: 0.")] = None,
    new_links: Annotated[
        bool, option("--new-links", "Make new links for all raters; the old ones no longer work.")
    ] = False,
    new_link: Annotated[list[str] | None, option("RATER", "Make a new link for this rater, as in rater-2.")] = None,
    status: Annotated[bool, option("--status", "Show the progress of the raters, and exit.")] = False,
    export: Annotated[Path | None, option("DIR", "Write the answers so far as CSV and JSONL, and exit.")] = None,
    leave_out: Annotated[
        list[str] | None, option("RATER", "With --export: a rater whose answers are excluded, as in rater-2.")
    ] = None,
    port: Port = 8422,
    host: Host = LOOPBACK,
    browser: OpenBrowser = True,
) -> None:
    """Collect human ratings in the browser: a study with one link per rater, and their answers as files.

    Links are shown once, when they are created. Every answer is stored at once: stop and resume at any time.
    """
    from formalimg.human_eval.manifest import StudyConfig, is_study  # here, so that other commands start faster
    from formalimg.human_eval.study import open_study

    resumes = study is None and len(folders) == 1 and is_study(folders[0])
    study_folder = (
        folders[0] if resumes else study or _default_folder(folders, "correction" if for_correction else protocol)
    )
    runs = () if resumes else tuple(folders)
    if labels is not None and not for_correction:
        raise FormalimgError("--labels is the size of a study for correction: give --for-correction with it")
    if more is not None and (for_correction or not is_study(study_folder)):
        raise FormalimgError("--more adds images to a study that exists: name its folder, without --for-correction")
    if leave_out and not export:
        raise FormalimgError("--leave-out excludes raters from exported files: give --export DIR with it")
    if status or export:
        _show_status(study_folder, export, leave_out or [])
        return
    numbers = None if levels is None else read_levels(levels)
    config = StudyConfig(
        runs, protocol, raters, per_image, numbers, per_level, checks, seed, borderline or None, labels
    )
    with require_web_extra("rating images"):
        from formalimg.web.annotation import serve_study
    page = study_pages(study_folder, max_missed, min_seconds, instructions, completion_url)
    links = create_or_resume(study_folder, config, page, for_correction=for_correction)
    grow_study(study_folder, more)
    with open_study(study_folder) as opened:
        again = [progress.rater for progress in opened.progress()] if new_links else new_link or []
        links = {**links, **{rater: opened.new_link(rater) for rater in again}}

        if links_to is not None and not links:
            raise FormalimgError("--links-to writes links that are made now: give --new-links with it")
        links_shown = False

        def on_ready(address: str, addresses: Mapping[str, str]) -> None:
            nonlocal links_shown
            links_shown = True
            _show_links(opened, address, addresses)
            if links_to is not None:
                from formalimg.human_eval.study_export import write_recruitment

                for path in write_recruitment(addresses, opened.completion_codes(), links_to):
                    echo(path)

        try:
            serve_study(opened, links, host=host, port=port, open_browser=browser, on_ready=on_ready)
        except FormalimgError as error:
            if links and not links_shown:
                raise FormalimgError(f"{error}, and --new-links: the links just created were not shown") from error
            raise
    echo(f"{study_folder} is stored; `formalimg annotate {study_folder}` resumes it")


def _default_folder(folders: Sequence[Path], suffix: str | None) -> Path:
    """Return the default study folder, which is outside of the runs folder."""
    name = default_study_name(folders, suffix) if suffix and (len(folders) == 1 or suffix == "correction") else ""
    if not name:
        missing = next((folder for folder in folders if not folder.exists()), None)
        if missing is not None:
            raise FormalimgError(f"{missing} does not exist: name the folder of a study, or of runs")
        raise FormalimgError(
            "name the folder of the study with --study DIR; or name one run and a --protocol, or an existing study"
        )
    return Path("studies") / name


def _show_links(study: Study, address: str, addresses: Mapping[str, str]) -> None:
    manifest = study.manifest
    images = sum(run.images for run in manifest.runs)
    size = (
        f"{images:,} image{'s' * (images != 1)}, {manifest.per_image} rater{'s' * (manifest.per_image != 1)} for each"
        f"{' pair' * (manifest.protocol == 'ab')}"
    )
    echo(f"{study.folder}: {manifest.protocol}, {size}")
    if manifest.rules is not None and manifest.checks:
        echo(manifest.rules.in_words())
    for rater, link in addresses.items():
        echo(f"{rater:<10}{link}")
    if addresses:
        echo("These links are shown only now: send each to one person.")
    if len(addresses) < manifest.raters:
        subject = "Other raters" if addresses else "Raters"
        echo(f"{subject} keep the links they have. Only digests are stored: --new-links creates new ones for all.")
    echo(f"{'progress':<10}{address}  (Ctrl+C ends it)")


def _show_status(study_folder: Path, export: Path | None, leave_out: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from formalimg.human_eval.records import read_study, summarize_raters
    from formalimg.human_eval.study_export import export_study

    raters = summarize_raters(read_study(study_folder))
    table = Table(box=None, pad_edge=False)
    table.add_column("rater")
    for head in ("finished", "of", "minutes", "checks passed"):
        table.add_column(head, justify="right")
    for rater in raters:
        passed = f"{rater.checks_passed} of {rater.checks}" if rater.checks else "–"
        passed += " (excluded)" if rater.excluded else ""
        table.add_row(
            Text(visible(rater.rater, one_line=True)),
            f"{rater.finished:,}",
            f"{rater.of:,}",
            f"{rater.seconds / 60:,.1f}",
            passed,
        )
    print_table(table)
    if export is not None:
        written = export_study(study_folder, export, leave_out=leave_out)
        for path in written.files:
            echo(path)
        if written.unfinished:
            echo(f"{written.unfinished:,} ratings are still to come")
