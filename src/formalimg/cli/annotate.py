"""`formalimg annotate`: collect human ratings in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg._util.text import visible
from formalimg.cli.options import LOOPBACK, Host, OpenBrowser, Port, read_levels, require_web_extra
from formalimg.cli.output import print_table
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.human_eval import LabelPrecision, Study, StudyConfig

_RATERS = 5
"""Raters per image in the studies of the papers."""

_LABELS = 100
"""Labels that correct a judge to about ±8 points."""


def annotate_command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|STUDY",
            help="Run folders of one suite, for a study of their images; or the folder of a study, to resume it.",
            show_default=False,
        ),
    ],
    protocol: Annotated[
        Literal["likert", "questions", "scores", "boxes"] | None,
        typer.Option(
            help="How raters judge: five points; the image as a whole, then yes or no to each question (conceptmix); "
            "scores from 0 to 1 (cf-world); or correcting boxes, classes and colours (knolling, natural).",
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the study: created if it does not exist, resumed if it does. Default: "
            "studies/RUN-PROTOCOL, for one run.",
            show_default=False,
        ),
    ] = None,
    raters: Annotated[
        int | None, typer.Option(min=1, help=f"Number of raters. Default: {_RATERS}.", show_default=False)
    ] = None,
    per_image: Annotated[
        int | None, typer.Option(min=1, help="Raters per image. Default: all.", show_default=False)
    ] = None,
    levels: Annotated[
        str | None, typer.Option(help="Which levels, as in 1-10 or 1,2,5. Default: all.", show_default=False)
    ] = None,
    per_level: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Images per run and level, sampled at random, of the same items for all runs. Default: all.",
            show_default=False,
        ),
    ] = None,
    borderline: Annotated[
        bool,
        typer.Option(
            "--borderline",
            help="Take the images whose score lies between 0.3 and 0.7; with --per-level, others only fill up.",
        ),
    ] = False,
    for_correction: Annotated[
        bool,
        typer.Option(
            "--for-correction",
            help="Draw images of one run at random, where their labels correct its judge most, and say how precise "
            "the corrected rate will be; see `formalimg report --human`. Default folder: studies/RUN-correction.",
        ),
    ] = False,
    labels: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"With --for-correction: how many images to label. Default: {_LABELS}.",
            show_default=False,
        ),
    ] = None,
    more: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Add so many images to a study for correction, where they narrow the corrected interval most.",
            show_default=False,
        ),
    ] = None,
    checks: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=0.5,
            help="Share of attention checks among the tasks of a rater, as in 0.05: images the rater does not see "
            "otherwise, shown with a prompt that does not fit. Default: none.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of sampling, assignment and order. Default: 0.", show_default=False),
    ] = None,
    new_links: Annotated[
        bool, typer.Option("--new-links", help="Make new links for all raters; the old ones no longer work.")
    ] = False,
    new_link: Annotated[
        list[str] | None,
        typer.Option(metavar="RATER", help="Make a new link for this rater, as in rater-2.", show_default=False),
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Show the progress of the raters, and exit.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the answers so far as CSV and JSONL, and exit.", show_default=False),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RATER",
            help="With --export: a rater whose answers are excluded, as in rater-2.",
            show_default=False,
        ),
    ] = None,
    port: Port = 8422,
    host: Host = LOOPBACK,
    browser: OpenBrowser = True,
) -> None:
    """Collect human ratings in the browser: a study with one link per rater, and their answers as files.

    Links are shown once, when they are created. Every answer is stored at once: stop and resume at any time.
    """
    from formalimg.human_eval import StudyConfig, is_study, open_study  # here, so that other commands start faster

    resumes = study is None and len(folders) == 1 and is_study(folders[0])
    place = folders[0] if resumes else study or _default_folder(folders, "correction" if for_correction else protocol)
    runs = () if resumes else tuple(folders)
    if labels is not None and not for_correction:
        raise FormalimgError("--labels is the size of a study for correction: give --for-correction with it")
    if more is not None and (for_correction or not is_study(place)):
        raise FormalimgError("--more adds images to a study that exists: name its folder, without --for-correction")
    if leave_out and not export:
        raise FormalimgError("--leave-out excludes raters from exported files: give --export DIR with it")
    if status or export:
        _show_status(place, export, leave_out or [])
        return
    shown = None if levels is None else read_levels(levels)
    config = StudyConfig(runs, protocol, raters, per_image, shown, per_level, checks, seed, borderline or None, labels)
    with require_web_extra("rating images"):
        from formalimg.web import serve_study
    links = _create_or_resume(place, config, for_correction=for_correction)
    _grow(place, more)
    with open_study(place) as opened:
        again = [it.rater for it in opened.progress()] if new_links else new_link or []
        links = {**links, **{rater: opened.new_link(rater) for rater in again}}

        links_shown = False

        def on_ready(address: str, addresses: Mapping[str, str]) -> None:
            nonlocal links_shown
            links_shown = True
            _show_links(opened, address, addresses)

        try:
            serve_study(opened, links, host=host, port=port, open_browser=browser, on_ready=on_ready)
        except FormalimgError as error:
            if links and not links_shown:
                raise FormalimgError(f"{error}, and --new-links: the links just created were not shown") from error
            raise
    echo(f"{place} is stored; `formalimg annotate {place}` resumes it")


def _default_folder(folders: Sequence[Path], suffix: str | None) -> Path:
    """Return the default study folder of one run: outside the runs folder, since a study is not a run."""
    if len(folders) != 1 or suffix is None:
        missing = next((folder for folder in folders if not folder.exists()), None)
        if missing is not None:
            raise FormalimgError(f"{missing} does not exist: name the folder of a study, or of runs")
        raise FormalimgError(
            "name the folder of the study with --study DIR; or name one run and a --protocol, or an existing study"
        )
    return Path("studies") / f"{folders[0].resolve().name}-{suffix}"


def _create_or_resume(place: Path, config: StudyConfig, *, for_correction: bool) -> Mapping[str, str]:
    """Create the study and return its links; none if it exists already with the same configuration."""
    from formalimg import __version__
    from formalimg.human_eval import correction_protocol, create_study, read_study_manifest, require_same_config
    from formalimg.runs import open_run

    if place.exists():
        manifest = read_study_manifest(place)
        require_same_config(place, manifest, config)
        if for_correction and manifest.correction is None:
            raise FormalimgError(f"{place} is a study that was not drawn for correction: choose another with --study")
        return {}
    raters = config.raters or _RATERS
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in config.runs]
        protocol = config.protocol
        if for_correction and protocol is None and runs:
            protocol = correction_protocol(runs[0].manifest.suite)
        if protocol is None:
            raise FormalimgError("choose how raters judge: --protocol likert, questions, scores or boxes")
        labels = (config.labels or _LABELS) if for_correction else None
        made = create_study(
            place,
            runs,
            protocol,
            raters=raters,
            per_image=config.per_image or raters,
            levels=config.levels,
            per_level=config.per_level,
            checks=config.checks or 0.0,
            seed=config.seed or 0,
            borderline=bool(config.borderline),
            labels=labels,
            made_with=__version__,
        )
    if made.precision is not None:
        echo(_precision_line(made.precision, labels or 0))
    return made.links


def _precision_line(precision: LabelPrecision, asked: int) -> str:
    """Return how wide the corrected interval will be, also with other numbers of labels."""
    few = f" (all that have a verdict, of {asked:,} asked for)" if precision.labels < asked else ""
    others = "; ".join(f"{number:,} labels would give ±{_points(of)}" for number, of in precision.others.items())
    return (
        f"{precision.labels:,} labels{few} will give the corrected Overall to about ±{_points(precision.half_width)} "
        f"points{f' ({others})' if others else ''}"
    )


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _grow(place: Path, more: int | None) -> None:
    """Add images to the study, if asked to, and those of an interrupted command in any case; say what it changes."""
    from formalimg.human_eval import add_images, finish_growth

    if more is None:
        late = finish_growth(place)
        if late:
            echo(f"{late:,} images of an interrupted --more were added to {place}")
        return
    grown = add_images(place, more)
    if grown.precision is None:
        echo(
            f"{grown.added:,} images of an interrupted --more were added to {place}, and no others: ask again for more"
        )
        return
    (now,) = grown.precision.others.values()
    few = "" if grown.added == more else ", all that were left"
    echo(
        f"{grown.added:,} images were added{few} ({grown.images:,} in all, {grown.labelled:,} labelled): the corrected "
        f"Overall is known to about ±{_points(now)} points now, and to about ±{_points(grown.precision.half_width)} "
        "with all labels"
    )


def _show_links(study: Study, address: str, addresses: Mapping[str, str]) -> None:
    manifest = study.manifest
    images = sum(run.images for run in manifest.runs)
    shown = (
        f"{images:,} image{'s' * (images != 1)}, {manifest.per_image} rater{'s' * (manifest.per_image != 1)} for each"
    )
    echo(f"{study.folder}: {manifest.protocol}, {shown}")
    for rater, link in addresses.items():
        echo(f"{rater:<10}{link}")
    if addresses:
        echo("These links are shown only now: send each to one person.")
    if len(addresses) < manifest.raters:
        who = "Other raters" if addresses else "Raters"
        echo(f"{who} keep the links they have. Only digests are stored: --new-links creates new ones for all.")
    echo(f"{'progress':<10}{address}  (Ctrl+C ends it)")


def _show_status(place: Path, export: Path | None, leave_out: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from formalimg.human_eval import export_study, read_study, summarize_raters

    raters = summarize_raters(read_study(place))
    table = Table(box=None, pad_edge=False)
    table.add_column("rater")
    for head in ("finished", "of", "minutes", "checks passed"):
        table.add_column(head, justify="right")
    for rater in raters:
        passed = f"{rater.checks_passed} of {rater.checks}" if rater.checks else "–"
        table.add_row(
            Text(visible(rater.rater, one_line=True)),
            f"{rater.finished:,}",
            f"{rater.of:,}",
            f"{rater.seconds / 60:,.1f}",
            passed,
        )
    print_table(table)
    if export is not None:
        written = export_study(place, export, leave_out=leave_out)
        for path in written.files:
            echo(path)
        if written.unfinished:
            echo(f"{written.unfinished:,} ratings are still to come")
