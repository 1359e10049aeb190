"""Create, resume and extend studies for `formalimg annotate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.human_eval.attention_checks import StudyRules
    from formalimg.human_eval.correction import ItemDraw, LabelPrecision, PairOutlook
    from formalimg.human_eval.manifest import StudyConfig
    from formalimg.human_eval.protocol import RatingProtocol
    from formalimg.human_eval.study_extension import GrownStudy

RATERS = 5  # Raters per image in the study of the FormalImg paper, for studies that replicate it
LABELS = 100  # Labels that correct a judge to about ±8 points; of several runs, items
_MAX_PAIRS = 3  # How many differences are announced: those that are the hardest to tell
_MAX_NAME = 100  # Characters of the default name of a study
_ONE_RATER = (
    "One rater an image: for the same number of ratings, 500 images with one rater each have about 3.8 times less "
    "variance than 100 images with five."
)


class StudyPages(NamedTuple):
    """The rules, instructions and completion link shown to raters of a new study."""

    rules: StudyRules
    instructions: bool
    completion_url: str


def study_pages(
    folder: Path,
    max_missed: float | None,
    min_seconds: float | None,
    instructions: bool | None,
    completion_url: str | None,
) -> StudyPages:
    """Return the page settings of a study, raising an error if they differ from those of an existing study."""
    from formalimg.human_eval.attention_checks import StudyRules
    from formalimg.human_eval.manifest import is_study, read_study_manifest

    if is_study(folder):
        manifest = read_study_manifest(folder)
        settled = {
            "--max-missed": (max_missed, manifest.rules and manifest.rules.max_missed),
            "--min-seconds": (min_seconds, manifest.rules and manifest.rules.min_seconds),
            "--instructions": (instructions, manifest.instructions),
            "--completion-url": (completion_url, manifest.completion_url),
        }
        late = next((name for name, (value, stored) in settled.items() if value is not None and value != stored), None)
        if late is not None:
            raise FormalimgError(f"{late} is settled before the first answer, otherwise for {folder}: leave it out")
    if completion_url is not None and not completion_url.startswith(("https://", "http://")):
        raise FormalimgError(f"{completion_url!r} is not the address of a web page: it must begin with https://")
    rules = StudyRules(max_missed, min_seconds or 0.0)
    return StudyPages(rules, instructions is not False, completion_url or "")


def create_or_resume(folder: Path, config: StudyConfig, page: StudyPages, *, for_correction: bool) -> Mapping[str, str]:
    """Create a study and return its links, or return no links if the same study already exists."""
    from formalimg import __version__
    from formalimg.human_eval.attention_checks import min_checks
    from formalimg.human_eval.manifest import read_study_manifest, require_same_config
    from formalimg.human_eval.protocol import rating_rules
    from formalimg.human_eval.study_builder import create_study
    from formalimg.runs.reader import open_run

    if folder.exists():
        manifest = read_study_manifest(folder)
        require_same_config(folder, manifest, config)
        if for_correction and manifest.correction is None:
            raise FormalimgError(f"{folder} is a study that was not drawn for correction: choose another with --study")
        return {}
    # More images are worth more than more raters; published studies had five, who all saw every image.
    per_image = config.per_image or (1 if for_correction else config.raters or RATERS)
    raters = config.raters or per_image
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in config.runs]
        protocol = config.protocol
        if for_correction and protocol is None and runs:
            protocol = rating_rules(runs[0].manifest.suite).label
        if protocol is None:
            raise FormalimgError("choose how raters judge: --protocol likert, questions, scores, boxes or ab")
        labels = (config.labels or LABELS) if for_correction else None
        made = create_study(
            folder,
            runs,
            protocol,
            raters=raters,
            per_image=per_image,
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
    if made.draw is not None:
        echo(_items_line(made.draw, labels or 0))
    if config.checks is None and made.checks < min_checks(protocol):
        echo(_few_checks_line(page.rules.settled(protocol, made.checks), protocol))
    if for_correction and per_image == 1 and config.per_image is None:
        echo(_ONE_RATER)
    return made.links


def _precision_line(precision: LabelPrecision, requested: int) -> str:
    """Describe the expected width of the corrected interval, including for other numbers of labels."""
    few = f" (all that have a verdict, of {requested:,} asked for)" if precision.labels < requested else ""
    alternatives = "; ".join(
        f"{number:,} labels would give ±{_points(width)}" for number, width in precision.others.items()
    )
    return (
        f"{precision.labels:,} labels{few} will give the corrected Overall to about ±{_points(precision.half_width)} "
        f"points{f' ({alternatives})' if alternatives else ''}"
    )


def _few_checks_line(rules: StudyRules, protocol: RatingProtocol) -> str:
    """Describe how many random raters would remain in a study with too few attention checks."""
    from formalimg.human_eval.attention_checks import min_checks

    share = f"{100 * rules.clickers_kept:.0f} %" if rules.checks else "all"
    needed = min_checks(protocol)
    checks = f"{rules.checks} check{'s' * (rules.checks != 1)}"
    return (
        f"The study is too small for {needed} attention checks a rater: with {checks} {share} of clickers (who "
        "answer at random) stay"
    )


def _items_line(draw: ItemDraw, requested: int) -> str:
    """Describe the number of images and the expected precision of the closest differences."""
    items, images = len(draw.items), sum(map(len, draw.items))
    few = f" (all that have images, of {requested:,} asked for)" if items < requested else ""
    counts = f"{items:,} items{few}, {images:,} images"
    if not draw.outlooks:
        return counts
    alternatives = "; ".join(f"±{_points(width)} with {number:,} items" for number, width in draw.others.items())
    first, *rest = draw.outlooks[:_MAX_PAIRS]
    differences = [
        f"{_pair(first)} to about ±{_points(first.half_width)} points{f' ({alternatives})' if alternatives else ''}"
    ]
    differences += [f"{_pair(pair)} to about ±{_points(pair.half_width)}" for pair in rest]
    return f"{counts}: labels will give the difference {', '.join(differences)}{_at_once(draw)}"


def _pair(pair: PairOutlook) -> str:
    return f"{pair.first} − {pair.second}"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def default_study_name(runs: Sequence[Path], suffix: str) -> str:
    """Return the default study name for the given runs, or an empty string if it would be too long."""
    name = f"{'+'.join(run.resolve().name for run in runs)}-{suffix}"
    return name if len(name) <= _MAX_NAME else ""


def grow_study(folder: Path, more: int | None) -> None:
    """Add images to a study, or complete an interrupted extension, and print the effect on precision."""
    from formalimg.human_eval.study_extension import add_images, finish_growth

    if more is None:
        late = finish_growth(folder)
        if late:
            echo(f"{late:,} images of an interrupted --more were added to {folder}")
        return
    grown = add_images(folder, more)
    if grown.draw is not None:
        echo(_growth_line(grown, grown.draw, more))
        return
    if grown.precision is None:
        echo(
            f"{grown.added:,} images of an interrupted --more were added to {folder}, and no others: ask again for more"
        )
        return
    (now,) = grown.precision.others.values()
    few = "" if grown.added == more else ", all that were left"
    echo(
        f"{grown.added:,} images were added{few} ({grown.images:,} in all, {grown.labelled:,} labelled): the corrected "
        f"Overall is known to about ±{_points(now)} points now, and to about ±{_points(grown.precision.half_width)} "
        "with all labels"
    )


def _growth_line(grown: GrownStudy, draw: ItemDraw, requested: int) -> str:
    """Describe the number of added items and the precision of the differences that are still uncertain."""
    few = "" if grown.added == requested else ", all that were left"
    images = sum(map(len, draw.items))
    counts = (
        f"{grown.added:,} items with {images:,} images were added{few} ({grown.images:,} items in all, "
        f"{grown.labelled:,} labelled)"
    )
    uncertain = [pair for pair in draw.outlooks if not pair.is_certain]
    texts = [
        f"{_pair(pair)} is known to about ±{_points(pair.now)} points now, and to about "
        f"±{_points(pair.half_width)} with all labels"
        if pair.now is not None
        else f"{_pair(pair)} will be known to about ±{_points(pair.half_width)} points with all labels"
        for pair in (uncertain or draw.outlooks)[:_MAX_PAIRS]
    ]
    certain = "all differences are certain already; " if draw.outlooks and not uncertain else ""
    return f"{counts}{': ' if texts else ''}{certain}{'; '.join(texts)}{_at_once(draw)}"


def _at_once(draw: ItemDraw) -> str:
    return f" (95 %, all {len(draw.outlooks)} pairs at once)" if len(draw.outlooks) > 1 else ""
