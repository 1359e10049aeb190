"""Creating, resuming and growing studies for `formalimg annotate`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.human_eval.correction import LabelPrecision
    from formalimg.human_eval.manifest import StudyConfig
    from formalimg.human_eval.rules import StudyRules

RATERS = 5
"""Raters per image in the studies of the papers."""

LABELS = 100
"""Labels that correct a judge to about ±8 points."""


class StudyPages(NamedTuple):
    """What raters of a new study see around the images, and the rules that they are told."""

    rules: StudyRules
    instructions: bool
    completion_url: str


def study_pages(
    place: Path,
    max_missed: float | None,
    min_seconds: float | None,
    instructions: bool | None,
    completion_url: str | None,
) -> StudyPages:
    """Return the settings of a new study; refuse others for one that exists, whose rules were stated beforehand."""
    from formalimg.human_eval.manifest import is_study, read_study_manifest
    from formalimg.human_eval.rules import StudyRules

    if is_study(place):
        there = read_study_manifest(place)
        settled = {
            "--max-missed": (max_missed, there.rules and there.rules.max_missed),
            "--min-seconds": (min_seconds, there.rules and there.rules.min_seconds),
            "--instructions": (instructions, there.instructions),
            "--completion-url": (completion_url, there.completion_url),
        }
        late = next((name for name, (new, old) in settled.items() if new is not None and new != old), None)
        if late is not None:
            raise FormalimgError(f"{late} is settled before the first answer, otherwise for {place}: leave it out")
    if completion_url is not None and not completion_url.startswith(("https://", "http://")):
        raise FormalimgError(f"{completion_url!r} is no address of a web page: begin it with https://")
    usual = StudyRules()
    rules = StudyRules(
        usual.max_missed if max_missed is None else max_missed,
        usual.min_seconds if min_seconds is None else min_seconds,
    )
    return StudyPages(rules, instructions is not False, completion_url or "")


def create_or_resume(place: Path, config: StudyConfig, page: StudyPages, *, for_correction: bool) -> Mapping[str, str]:
    """Create the study and return its links; none if it exists already with the same configuration."""
    from formalimg import __version__
    from formalimg.human_eval.correction import correction_protocol
    from formalimg.human_eval.manifest import read_study_manifest, require_same_config
    from formalimg.human_eval.study_builder import create_study
    from formalimg.runs.reader import open_run

    if place.exists():
        manifest = read_study_manifest(place)
        require_same_config(place, manifest, config)
        if for_correction and manifest.correction is None:
            raise FormalimgError(f"{place} is a study that was not drawn for correction: choose another with --study")
        return {}
    raters = config.raters or RATERS
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in config.runs]
        protocol = config.protocol
        if for_correction and protocol is None and runs:
            protocol = correction_protocol(runs[0].manifest.suite)
        if protocol is None:
            raise FormalimgError("choose how raters judge: --protocol likert, questions, scores, boxes or ab")
        labels = (config.labels or LABELS) if for_correction else None
        made = create_study(
            place,
            runs,
            protocol,
            raters=raters,
            per_image=config.per_image or raters,
            levels=config.levels,
            per_level=config.per_level,
            checks=config.checks,
            seed=config.seed or 0,
            borderline=bool(config.borderline),
            labels=labels,
            rules=page.rules,
            instructions=page.instructions,
            completion_url=page.completion_url,
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


def grow_study(place: Path, more: int | None) -> None:
    """Add images to the study, if asked to, and those of an interrupted command in any case; say what it changes."""
    from formalimg.human_eval.study_growth import add_images, finish_growth

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
