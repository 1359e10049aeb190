"""Creation of a rating study: choice of images, assignment to raters, order, and attention checks."""

from __future__ import annotations

import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, assign_images, checks_per_rater, choose_images
from formalimg.human_eval.attention_checks import check_item, unrelated_item
from formalimg.human_eval.correction import LabelPrecision, draw_first, judge_of_run
from formalimg.human_eval.correction_sample import CorrectionSample, ItemSample
from formalimg.human_eval.database import PlannedTask, StudyPlan, write_study
from formalimg.human_eval.item_correction import ItemDraw, ItemFrame, draw_items
from formalimg.human_eval.pairs import image_pairs, plan_pairs
from formalimg.human_eval.protocol import RatingProtocol, steps_for
from formalimg.human_eval.rateable_images import RateableImage, rateable_images
from formalimg.human_eval.rules import CHECKS, StudyRules, usual_checks
from formalimg.runs.manifest import require_images
from formalimg.runs.plan import question_key
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import ComplianceRule
from formalimg.types import Item

BORDERLINE = (0.3, 0.7)
"""Scores between which a judge is least sure, both included."""

_ROUNDING = 1e-9
"""Scores are weighted means: 0.7 may come as 0.7000000000000001."""


class NewStudy(NamedTuple):
    """A new study."""

    folder: Path  # the folder of the study
    # the secret part of each rater's link, by pseudonym. It is returned only here: the study stores a digest, so that
    # nobody with access to the folder can answer in a rater's name
    links: Mapping[str, str]
    # how wide the corrected interval will be, for a study that corrects the judge of one run
    precision: LabelPrecision | None = None
    # the items, and how precise the differences will be, for a study that corrects several runs
    draw: ItemDraw | None = None
    checks: int = 0  # number of attention checks of each rater


@dataclass(frozen=True)
class _Candidates:
    """Items and images that can be shown."""

    items: Mapping[tuple[str, str], Item[object]]
    images: Mapping[Candidate, RateableImage]
    without: Mapping[str, int]


def create_study(
    folder: str | Path,
    runs: Sequence[StoredRun],
    protocol: RatingProtocol,
    *,
    raters: int,
    per_image: int,
    levels: Collection[int] | None = None,
    per_level: int | None = None,
    checks: float | None = 0.0,
    seed: int = 0,
    borderline: bool = False,
    labels: int | None = None,
    rules: StudyRules | None = None,
    rule: ComplianceRule = "majority",
    instructions: bool = False,
    completion_url: str = "",
    made_with: str = "",
) -> NewStudy:
    """Create a rating study: a folder with the images to rate, the assignment to raters, and their answers.

    Every image gets the same number of ratings, nobody sees an image twice, and shares differ by one at most. Each
    rater has their own order. Raters are called `rater-1`, `rater-2` …: the study does not know who they are. Raters
    are blind to models: images and tasks are named by random tokens.

    Args:
        folder: the new folder.
        runs: runs of one suite. Their images stay where they are, and must not change.
        protocol: how raters judge; see `steps_for`.
        raters: number of raters.
        per_image: number of ratings per image.
        levels: only images of these levels; None for all.
        per_level: number of images per run and level, of the same items for all runs; None for all.
        checks: minimum share of attention checks among the tasks of a rater; None for `CHECKS`, or fewer where the
            suite allows no more. A check is an image beside the prompt of another item: one that the rater does not
            see otherwise or, where there is none, saw before. The study knows which they are, raters do not.
        seed: determines choice, assignment and order; tokens and links are random.
        borderline: take the images whose score lies in `BORDERLINE`, where raters tell most about a threshold; others
            only fill up `per_level`, so that all runs have as many.
        labels: to correct the judge of one run: draw so many of its judged images at random, more of those levels and
            judge answers where labels tell most. Of several runs: draw so many items, the same for all, at random
            within levels. The study knows how likely each was drawn.
        rules: who is excluded, stated beforehand; how many checks may be missed follows from their number, if it is not
            said.
        rule: how Likert ratings of an image become a label, stated beforehand: most are 4 or more, or their mean is.
        instructions: whether raters first see instructions and practice.
        completion_url: where raters go when they have finished, such as a page of their platform.
        made_with: the version of formalimg, for the record.

    Raises:
        FormalimgError: if the folder exists, the runs do not belong together or cannot be rated by this protocol, or
            there are too few or too many raters, or too few images.
    """
    require_together(runs)
    if labels is not None:
        _require_correctable(runs, protocol, per_level, borderline=borderline)
    if protocol == "boxes":
        if checks:
            raise FormalimgError("the protocol boxes has no attention checks: leave them out")
        checks = 0.0
    there = _gather(runs, protocol, levels)
    rng = random.Random(seed)
    preferred = _borderline(there, runs) if borderline else frozenset[Candidate]()
    candidates = [it for it in there.images if not borderline or per_level is not None or it in preferred]
    sample: CorrectionSample | ItemSample | None = None
    precision, draw = None, None
    if labels is None:
        chosen = choose_images(candidates, per_level, rng, preferred)
    elif len(runs) == 1:
        judge = judge_of_run(runs[0].manifest, runs[0].folder)
        chosen, sample, precision = draw_first(judged_images(there.images), labels, judge, rng)
    else:
        draw = draw_items(item_frame(runs, there.images, seed), labels, rng)
        chosen, sample = [image for images in draw.items for image in images], draw.sample
    if not chosen:
        raise FormalimgError("there are no images to rate: generate some first, or choose other levels")
    for image in chosen:
        steps_for(there.items[image.run, image.item], protocol)  # raises if the protocol does not apply
    if protocol == "ab":
        planned, each = _plan_pairs(chosen, there, raters, per_image, checks, rng)
    else:
        units = draw.items if draw else [(image,) for image in chosen]
        planned, each = _plan_images(units, there, raters, per_image, checks, protocol, rng)
    idle = sum(not own for own in planned)
    if idle:
        raise FormalimgError(f"{idle} of {raters} raters would have no images: use fewer raters, or more images")
    tasks = [task for own in planned for task in own]
    links = {f"rater-{number}": secrets.token_urlsafe(24) for number in range(1, raters + 1)}
    plan = StudyPlan(
        protocol,
        runs,
        chosen,
        there.images,
        there.without,
        tasks,
        links,
        per_image,
        tuple(sorted(levels or ())),
        per_level or 0,
        (CHECKS if each else 0.0) if checks is None else float(checks),
        seed,
        made_with,
        borderline,
        sample,
        rules=rules and rules.settled(protocol, each),
        rule=rule if protocol == "likert" else "",
        instructions=instructions,
        completion_url=completion_url,
    )
    return NewStudy(write_study(plan, Path(folder)), links, precision, draw, each)


def _plan_images(
    units: Sequence[tuple[Candidate, ...]],
    there: _Candidates,
    raters: int,
    per_image: int,
    checks: float | None,
    protocol: RatingProtocol,
    rng: random.Random,
) -> tuple[list[list[PlannedTask]], int]:
    """Return the tasks of each rater, in their order, and how many of them are attention checks at least.

    The images of a unit go to the same raters: who is strict is then strict with all of them.
    """
    chosen = [image for unit in units for image in unit]
    shares = [[image for unit in own for image in unit] for own in assign_images(units, raters, per_image, rng)]
    most = max(map(len, shares))
    wanted = usual_checks(most, protocol) if checks is None else checks_per_rater(most, checks)
    words = list({image.item: there.items[image.run, image.item] for image in sorted(chosen)}.values())
    found, fewest = [], wanted
    for rater, share in enumerate(shares, 1):
        shown = [PlannedTask(rater, it, there.items[it.run, it.item], False) for it in share]
        own = _checks(share, there, words, wanted, protocol, rng)
        if len(own) < wanted and checks is not None:
            raise FormalimgError(_TOO_FEW_CHECKS.format(wanted, "s" * (wanted > 1), len(own)))
        fewest = min(fewest, len(own))
        shown += [PlannedTask(rater, *check, True) for check in own]
        rng.shuffle(shown)
        found.append(_rated_first(shown))
    return found, fewest


_TOO_FEW_CHECKS = (
    "{} attention check{} must have as many images beside prompts that certainly do not match, and there are {}: ask "
    "for fewer checks, or leave the option out"
)


def _rated_first(shown: list[PlannedTask]) -> list[PlannedTask]:
    """Return the tasks in an order in which an image is rated before an attention check shows it once more."""
    place = {task.image: number for number, task in enumerate(shown) if not task.is_check}
    for number, task in enumerate(shown):
        rated = place.get(task.image, -1)
        if task.is_check and rated > number:
            shown[number], shown[rated] = shown[rated], shown[number]
            place[task.image] = number
    return shown


def _plan_pairs(
    chosen: Sequence[Candidate],
    there: _Candidates,
    raters: int,
    per_image: int,
    checks: float | None,
    rng: random.Random,
) -> tuple[list[list[PlannedTask]], int]:
    pairs = image_pairs(chosen)
    most = -(-len(pairs) * per_image // raters)
    wanted = usual_checks(most, "ab") if checks is None else checks_per_rater(most, checks)
    planned, fewest = plan_pairs(pairs, there.items, raters, per_image, wanted, rng)
    if fewest < wanted and checks is not None:
        raise FormalimgError(_TOO_FEW_CHECKS.format(wanted, "s" * (wanted > 1), fewest))
    return planned, fewest


def _require_correctable(
    runs: Sequence[StoredRun], protocol: RatingProtocol, per_level: int | None, *, borderline: bool
) -> None:
    if per_level is not None or borderline:
        raise FormalimgError("images that correct a judge are drawn at random: leave out --per-level and --borderline")
    if protocol == "ab":
        raise FormalimgError("which of two images is better is no label: use --protocol likert")
    if protocol == "boxes":
        raise FormalimgError("boxes are no labels of whole images: use --protocol likert")


def judged_images(images: Mapping[Candidate, RateableImage]) -> dict[Candidate, bool]:
    """Return the images that the judge answered for, with its answers."""
    return {it: image.passed for it, image in images.items() if image.passed is not None}


def item_frame(runs: Sequence[StoredRun], images: Mapping[Candidate, RateableImage], seed: int) -> ItemFrame:
    """Return the items of several runs, from which those to be labelled are drawn."""
    asked: dict[str, str] = {}
    for run in runs:
        judge_of_run(run.manifest, run.folder)
        for item in run.suite_items():
            if asked.setdefault(item.id, question_key(item)) != question_key(item):
                raise FormalimgError(
                    f"item {item.id} of {run.folder} is not that of {runs[0].folder}: name runs of the same items"
                )
    names = [run.folder.resolve().name for run in runs]
    verdicts = {candidate: image.passed for candidate, image in images.items()}
    return ItemFrame.of(names, suite(runs[0].manifest.suite), verdicts, seed)


def require_together(runs: Sequence[StoredRun]) -> None:
    """Check that a study can be about these runs."""
    suites = sorted({run.manifest.suite for run in runs})
    if len(suites) != 1:
        raise FormalimgError(
            f"a study is about runs of one suite, not of {', '.join(suites) or 'none'}: name such runs"
        )
    names = [run.folder.resolve().name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FormalimgError(f"two of the runs are called {twice}, which makes them ambiguous: rename a folder")
    layouts = next((run for run in runs if run.manifest.task != "image"), None)
    if layouts is not None:
        raise FormalimgError(f"{layouts.folder} holds layouts, not images: name runs with images")


def _gather(runs: Sequence[StoredRun], protocol: RatingProtocol, levels: Collection[int] | None) -> _Candidates:
    items: dict[tuple[str, str], Item[object]] = {}
    images: dict[Candidate, RateableImage] = {}
    without: dict[str, int] = {}
    for run in runs:
        require_images(run.manifest, run.folder)
        name = run.folder.resolve().name
        items |= {(name, item.id): item for item in run.suite_items()}
        found, missing = rateable_images(run, levels, grounded=protocol == "boxes")
        images |= {Candidate(name, it.item, it.sample, it.level): it for it in found}
        without[name] = missing
    there = {candidate.level for candidate in images}
    absent = sorted(set(levels or ()) - there)
    if absent:
        raise FormalimgError(f"there are no images of level {absent[0]}: ask for other levels")
    return _Candidates(items, images, without)


def _borderline(there: _Candidates, runs: Sequence[StoredRun]) -> frozenset[Candidate]:
    """Return the images with a borderline score."""
    for run in runs:
        name = run.folder.resolve().name
        if all(image.score is None for candidate, image in there.images.items() if candidate.run == name):
            raise FormalimgError(f"no judge has scored the images of {run.folder}: judge the run first")
    low, high = BORDERLINE[0] - _ROUNDING, BORDERLINE[1] + _ROUNDING
    found = [it for it, image in there.images.items() if image.score is not None and low <= image.score <= high]
    if not found:
        raise FormalimgError(
            f"no image has a score from {BORDERLINE[0]} to {BORDERLINE[1]}: leave --borderline out, or name other runs"
        )
    return frozenset(found)


def _checks(
    share: Sequence[Candidate],
    there: _Candidates,
    words: Sequence[Item[object]],
    wanted: int,
    protocol: RatingProtocol,
    rng: random.Random,
) -> list[tuple[Candidate, Item[object]]]:
    """Return images, each with a prompt that does not match: first those that the rater does not see otherwise.

    By Likert ratings any prompt will do: where none of the study is known not to match, it is one of ours.
    """
    if not wanted:
        return []
    spare = sorted(set(there.images) - set(share))
    rng.shuffle(spare)
    again = sorted(share)
    rng.shuffle(again)
    found: dict[Candidate, Item[object]] = {}
    for image in [*spare, *again]:
        other = unrelated_item(there.items[image.run, image.item], words, protocol, rng)
        if other is not None:
            found[image] = other
            if len(found) == wanted:
                return [*found.items()]
    for image in [*spare, *again] if protocol == "likert" else ():
        if image in found or len(found) == wanted:
            continue
        other = check_item(there.items[image.run, image.item], {item.id for item in found.values()}, rng)
        if other is not None:
            found[image] = other
    return [*found.items()]
