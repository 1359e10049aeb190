"""Creation of rating studies from the images of runs or from external ratings."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, PlannedTask, RunItems, choose_images, plan_images, plan_pairs
from formalimg.human_eval.attention_checks import CHECKS, StudyRules
from formalimg.human_eval.correction import (
    CorrectionSample,
    ItemDraw,
    ItemFrame,
    ItemSample,
    LabelPrecision,
    draw_first,
    draw_items,
)
from formalimg.human_eval.database import RateableImage, describe_run, write_study
from formalimg.human_eval.manifest import StudyManifest
from formalimg.human_eval.protocol import RatingProtocol, steps_for, suggest_runs
from formalimg.runs.manifest import require_images
from formalimg.runs.plan import question_key
from formalimg.runs.reader import StoredRun
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.stats.agreement import ComplianceRule
from formalimg.types import Item

BORDERLINE = (0.3, 0.7)  # Scores between which a judge is least sure, both included
_ROUNDING = 1e-9  # Scores are weighted means: 0.7 may come as 0.7000000000000001


class NewStudy(NamedTuple):
    """A newly created study."""

    folder: Path  # the folder of the study
    # the secret part of each rater's link, by pseudonym. It is returned only here: the study stores a digest, so that
    # nobody with access to the folder can answer in a rater's name
    links: Mapping[str, str]
    # how wide the corrected interval will be, for a study that corrects the judge of one run
    precision: LabelPrecision | None = None
    # the items, and how precise the differences will be, for a study that corrects several runs
    draw: ItemDraw | None = None
    checks: int = 0  # number of attention checks of each rater


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
    """Create a rating study: a folder with the images to rate, their assignment to raters, and the answers.

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
        borderline: prefer images whose score lies in `BORDERLINE`, where ratings tell most about a threshold; others
            only fill up `per_level`, so that all runs have equally many.
        labels: to correct the judge of one run, the number of its judged images to sample, more from levels and judge
            answers where labels tell most; for several runs, the number of items to sample within levels, the same for
            all. Sampling probabilities are stored.
        rules: the rules for excluding raters, fixed beforehand; by default, the permitted misses follow from the number
            of checks.
        rule: how Likert ratings become a label, fixed beforehand: whether most, or their mean, are 4 or more.
        instructions: whether raters first see instructions and practice.
        completion_url: where raters go when they have finished, such as a page of their platform.
        made_with: the version of formalimg, for the record.
    """
    _require_together(runs)
    if labels is not None:
        _require_correctable(protocol, is_random=per_level is None and not borderline)
    if protocol == "boxes":
        if checks:
            raise FormalimgError("the protocol boxes has no attention checks: leave them out")
        checks = 0.0
    items, images, missing = _gather_images(runs, protocol, levels)
    rng = random.Random(seed)
    sample: CorrectionSample | ItemSample | None = None
    precision, draw = None, None
    if labels is None:
        preferred = _find_borderline(images, runs) if borderline else frozenset[Candidate]()
        candidates = [image for image in images if not borderline or per_level is not None or image in preferred]
        chosen = choose_images(candidates, per_level, rng, preferred)
    elif len(runs) == 1:
        chosen, sample, precision = draw_first(select_judged(images), labels, judge_of_run(runs[0]), rng)
    else:
        draw = draw_items(build_item_frame(runs, images, seed), labels, rng)
        chosen, sample = [image for unit in draw.items for image in unit], draw.sample
    if not chosen:
        raise FormalimgError("there are no images to rate: generate some first, or choose other levels")
    for image in chosen:
        steps_for(items[image.run, image.item], protocol)  # raises if the protocol does not apply
    if protocol == "ab":
        tasks, fewest_checks = plan_pairs(chosen, items, raters, per_image, checks, rng)
    else:
        units = draw.items if draw else [(image,) for image in chosen]
        tasks, fewest_checks = plan_images(units, images, items, raters, per_image, checks, protocol, rng)
    idle = sum(not share for share in tasks)
    if idle:
        raise FormalimgError(f"{idle} of {raters} raters would have no images: use fewer raters, or more images")
    path = Path(folder)
    manifest = StudyManifest(
        protocol=protocol,
        suite=runs[0].manifest.suite,
        raters=raters,
        per_image=per_image,
        levels=tuple(sorted(levels or ())),
        per_level=per_level or 0,
        checks=(CHECKS if fewest_checks else 0.0) if checks is None else float(checks),
        seed=seed,
        created=_current_second(),
        made_with=made_with,
        runs=tuple(describe_run(run, path, images, chosen, missing[run.folder.resolve().name]) for run in runs),
        borderline=borderline,
        correction=sample,
        instructions=instructions,
        completion_url=completion_url,
        rules=rules and rules.settled(protocol, fewest_checks),
        rule=rule if protocol == "likert" else "",
    )
    links = write_study(path, manifest, images, chosen, [task for share in tasks for task in share])
    return NewStudy(path, links, precision, draw, fewest_checks)


def write_rated_study(
    folder: Path,
    runs: Sequence[StoredRun],
    ratings: Mapping[tuple[str, str, int], Mapping[str, int]],
    source: str,
    made_with: str = "",
) -> None:
    """Write a study from external Likert ratings, keyed by run, item and sample, then by rater."""
    rated = [run for run in runs if any(name == run.folder.resolve().name for name, *_ in ratings)]
    if not rated:
        raise FormalimgError("no image of these runs has a rating: name the rated runs")
    _require_together(rated)
    raters = sorted({rater for by_rater in ratings.values() for rater in by_rater})
    images: dict[Candidate, RateableImage] = {}
    missing: dict[str, int] = {}
    tasks: list[PlannedTask] = []
    answers: list[int] = []
    for run in rated:
        name, made = run.folder.resolve().name, run.made()
        items = {item.id: item for item in run.suite_items()}
        outcomes = run.outcomes()
        missing[name] = sum((outcome.item, outcome.sample) not in made for outcome in outcomes)
        for outcome in outcomes:
            item, sample, level = outcome.item, outcome.sample, outcome.level
            by_rater = ratings.get((name, item, sample))
            if by_rater is None or (item, sample) not in made:
                continue
            image = Candidate(name, item, sample, level)
            digest = made[item, sample].sha256
            images[image] = RateableImage(item, sample, level, f"images/{digest[:16]}.webp", digest, None)
            for number, rater in enumerate(raters, 1):
                if rater in by_rater:
                    tasks.append(PlannedTask(number, image, items[item], False))
                    answers.append(by_rater[rater])
    chosen = list(images)
    manifest = StudyManifest(
        protocol="likert",
        suite=rated[0].manifest.suite,
        raters=len(raters),
        per_image=max(map(len, ratings.values())),
        levels=(),
        per_level=0,
        checks=0.0,
        seed=0,
        created=_current_second(),
        made_with=made_with,
        runs=tuple(describe_run(run, folder, images, chosen, missing[run.folder.resolve().name]) for run in rated),
        imported=source,
        rule="majority",
    )
    write_study(folder, manifest, images, chosen, tasks, answers)


def _current_second() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _require_correctable(protocol: RatingProtocol, *, is_random: bool) -> None:
    if not is_random:
        raise FormalimgError("images that correct a judge are drawn at random: leave out --per-level and --borderline")
    if protocol == "ab":
        raise FormalimgError("which of two images is better is no label: use --protocol likert")
    if protocol == "boxes":
        raise FormalimgError("boxes are no labels of whole images: use --protocol likert")


def _require_together(runs: Sequence[StoredRun]) -> None:
    suites = sorted({run.manifest.suite for run in runs})
    if len(suites) != 1:
        raise FormalimgError(
            f"a study is about runs of one suite, not of {', '.join(suites) or 'none'}: name such runs"
        )
    names = [run.folder.resolve().name for run in runs]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise FormalimgError(f"two of the runs are called {duplicate}: rename one of the folders")
    layouts = next((run for run in runs if run.manifest.task != "image"), None)
    if layouts is not None:
        raise FormalimgError(f"{layouts.folder} holds layouts, not images: name runs with images")


def _gather_images(
    runs: Sequence[StoredRun], protocol: RatingProtocol, levels: Collection[int] | None
) -> tuple[RunItems, dict[Candidate, RateableImage], dict[str, int]]:
    """Return all items, the images that can be shown, and the number of missing images per run."""
    items: dict[tuple[str, str], Item[object]] = {}
    images: dict[Candidate, RateableImage] = {}
    missing: dict[str, int] = {}
    for run in runs:
        require_images(run.manifest, run.folder)
        name = run.folder.resolve().name
        items |= {(name, item.id): item for item in run.suite_items()}
        rateable, missing[name] = rateable_images(run, levels, grounded=protocol == "boxes")
        images |= {Candidate(name, image.item, image.sample, image.level): image for image in rateable}
    absent = sorted({*(levels or ())} - {candidate.level for candidate in images})
    if absent:
        raise FormalimgError(f"there are no images of level {absent[0]}: ask for other levels")
    return items, images, missing


def rateable_images(
    run: StoredRun, levels: Collection[int] | None, *, grounded: bool
) -> tuple[list[RateableImage], int]:
    """Return the existing images of the given levels, and the number of planned images that are missing."""
    made = run.made()
    images: list[RateableImage] = []
    missing = 0
    for judged in run.judged():
        outcome = judged.outcome
        if levels is not None and outcome.level not in levels:
            continue
        before = made.get((outcome.item, outcome.sample))
        if before is None or judged.image is None:
            missing += 1
            continue
        if not judged.image.is_file():
            raise FormalimgError(f"{judged.image} is missing: run `formalimg run --no-judge` to make it again")
        scene = judged.verdict.evidence.get("scene") if grounded else None
        try:
            scene = None if scene is None else Scene.from_json(scene).to_json()
        except SceneError as error:
            raise FormalimgError(
                f"the stored scene of {judged.image} is invalid ({error}): judge the run again"
            ) from error
        image = (outcome.item, outcome.sample, outcome.level, f"images/{judged.image.name}", before.sha256)
        images.append(RateableImage(*image, scene, outcome.score, outcome.passed))
    if grounded and images and not any(image.grounded is not None for image in images):
        raise FormalimgError(
            f"no grounder has judged the images of {run.folder}: {suggest_runs('boxes')} that a grounder has judged"
        )
    return images, missing


def _find_borderline(images: Mapping[Candidate, RateableImage], runs: Sequence[StoredRun]) -> frozenset[Candidate]:
    for run in runs:
        name = run.folder.resolve().name
        if all(image.score is None for candidate, image in images.items() if candidate.run == name):
            raise FormalimgError(f"no judge has scored the images of {run.folder}: judge the run first")
    low, high = BORDERLINE[0] - _ROUNDING, BORDERLINE[1] + _ROUNDING
    borderline = frozenset(
        candidate for candidate, image in images.items() if image.score is not None and low <= image.score <= high
    )
    if not borderline:
        raise FormalimgError(
            f"no image has a score from {BORDERLINE[0]} to {BORDERLINE[1]}: leave --borderline out, or name other runs"
        )
    return borderline


def judge_of_run(run: StoredRun) -> str:
    """Return the name of the judge of a run, or raise an error if there is none."""
    if run.manifest.judge is None:
        raise FormalimgError(f"nobody has judged the images of {run.folder}: use `formalimg judge`, then draw images")
    return run.manifest.judge.name


def select_judged(images: Mapping[Candidate, RateableImage]) -> dict[Candidate, bool]:
    """Select the images judged as passing or failing, with that answer."""
    return {candidate: image.passed for candidate, image in images.items() if image.passed is not None}


def build_item_frame(runs: Sequence[StoredRun], images: Mapping[Candidate, RateableImage], seed: int) -> ItemFrame:
    """Build the item frame of several runs, checking that they share the same questions."""
    questions: dict[str, str] = {}
    for run in runs:
        judge_of_run(run)
        for item in run.suite_items():
            if questions.setdefault(item.id, question_key(item)) != question_key(item):
                raise FormalimgError(
                    f"item {item.id} of {run.folder} is not that of {runs[0].folder}: name runs of the same items"
                )
    names = [run.folder.resolve().name for run in runs]
    verdicts = {candidate: image.passed for candidate, image in images.items()}
    return ItemFrame.of(names, get_suite(runs[0].manifest.suite), verdicts, seed)
