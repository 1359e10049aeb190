"""Making a study: which images, shown to whom, in which order, beside which words."""

from __future__ import annotations

import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, assign, checks_per_rater, choose, other_words
from formalimg.human_eval.database import PlannedTask, StudyPlan, write_study
from formalimg.human_eval.protocol import Protocol, steps_for
from formalimg.runs import ImageLocation, StoredRun
from formalimg.scenes import Scene, SceneError
from formalimg.suites import Item


class MadeStudy(NamedTuple):
    """A new study.

    Attributes:
        folder: where it lies.
        links: the secret part of each rater's link, by pseudonym. It is told here and nowhere else: the study keeps
            a digest only, so that whoever gets hold of its folder cannot answer in anybody's name.
    """

    folder: Path
    links: Mapping[str, str]


@dataclass(frozen=True)
class _Gathered:
    """Everything that could be shown."""

    items: Mapping[tuple[str, str], Item[object]]
    images: Mapping[Candidate, Rateable]
    without: Mapping[str, int]


def make_study(
    folder: str | Path,
    runs: Sequence[StoredRun],
    protocol: Protocol,
    *,
    raters: int,
    per_image: int,
    levels: Collection[int] | None = None,
    per_level: int | None = None,
    checks: float = 0.0,
    seed: int = 0,
    made_with: str = "",
) -> MadeStudy:
    """Makes a study: a folder from which people are asked about images of runs, and that keeps their answers.

    Every image gets the same number of ratings, nobody sees an image twice, and shares differ by one at most. Each
    rater has an order of their own. Raters are called `rater-1`, `rater-2` …: the study does not know who they are.
    What they see tells nothing of models; images and tasks are called by random tokens.

    Args:
        folder: where to make it; must not be there yet.
        runs: runs of one suite. Their images stay where they are, and must not change.
        protocol: how people judge; see `steps_for`.
        raters: how many people there are.
        per_image: how many of them look at each image.
        levels: only images of these levels; None for all.
        per_level: so many images of each run and level, of the same items for all runs; None for all.
        checks: the least share of attention checks in what each rater sees. A check is an image that the rater does
            not see otherwise, beside the words of another item. The study knows which they are, raters do not.
        seed: from which choice, assignment and order follow. Tokens and links do not.
        made_with: the version of formalimg, for the records.

    Raises:
        FormalimgError: if the folder is there already, the runs do not belong together or have nothing to be rated by
            this protocol, or there are too few or too many raters, or too few images.
    """
    _require_together(runs)
    if protocol == "boxes" and checks:
        raise FormalimgError("there are no attention checks for boxes: leave them out")
    there = _gather(runs, protocol, levels)
    rng = random.Random(seed)
    chosen = choose(list(there.images), per_level, rng)
    if not chosen:
        raise FormalimgError("there are no images to be rated: make some first, or ask for other levels")
    for image in chosen:
        steps_for(there.items[image.run, image.item], protocol)  # refuses what cannot be asked
    shares = assign(chosen, raters, per_image, rng)
    idle = sum(not share for share in shares)
    if idle:
        raise FormalimgError(
            f"{idle} of {raters} raters would have nothing to look at: take fewer raters, or more images"
        )
    each = checks_per_rater(max(map(len, shares)), checks)
    words = list({image.item: there.items[image.run, image.item] for image in sorted(chosen)}.values())
    tasks = []
    for rater, share in enumerate(shares, 1):
        shown = [PlannedTask(rater, it, there.items[it.run, it.item], False) for it in share]
        shown += [PlannedTask(rater, *check, True) for check in _checks(share, there, words, each, protocol, rng)]
        rng.shuffle(shown)
        tasks += shown
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
        float(checks),
        seed,
        made_with,
    )
    return MadeStudy(write_study(plan, Path(folder)), links)


def _require_together(runs: Sequence[StoredRun]) -> None:
    suites = sorted({run.manifest.suite for run in runs})
    if len(suites) != 1:
        raise FormalimgError(
            f"a study is about runs of one suite, not of {', '.join(suites) or 'none'}: name such runs"
        )
    names = [run.folder.resolve().name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FormalimgError(f"two of the runs are called {twice}, and nothing tells them apart: rename a folder")
    layouts = next((run for run in runs if run.manifest.task != "image"), None)
    if layouts is not None:
        raise FormalimgError(f"{layouts.folder} holds layouts, which nobody can look at: name runs with images")


def _gather(runs: Sequence[StoredRun], protocol: Protocol, levels: Collection[int] | None) -> _Gathered:
    items: dict[tuple[str, str], Item[object]] = {}
    images: dict[Candidate, Rateable] = {}
    without: dict[str, int] = {}
    for run in runs:
        name = run.folder.resolve().name
        items |= {(name, item.id): item for item in run.suite_items()}
        found, missing = rateable_images(run, levels, grounded=protocol == "boxes")
        images |= {Candidate(name, it.item, it.sample, it.level): it for it in found}
        without[name] = missing
    there = {candidate.level for candidate in images}
    absent = sorted(set(levels or ()) - there)
    if absent:
        raise FormalimgError(f"there are no images of level {absent[0]}: ask for other levels")
    return _Gathered(items, images, without)


def _checks(
    share: Sequence[Candidate],
    there: _Gathered,
    words: Sequence[Item[object]],
    wanted: int,
    protocol: Protocol,
    rng: random.Random,
) -> list[tuple[Candidate, Item[object]]]:
    """Images that a rater does not see otherwise, each with words that do not fit."""
    if not wanted:
        return []
    spare = sorted(set(there.images) - set(share))
    rng.shuffle(spare)
    found: list[tuple[Candidate, Item[object]]] = []
    for image in spare:
        other = other_words(there.items[image.run, image.item], words, protocol, rng)
        if other is not None:
            found.append((image, other))
            if len(found) == wanted:
                return found
    need = "check needs" if wanted == 1 else "checks need"
    raise FormalimgError(
        f"{wanted} attention {need} as many images that the rater does not see otherwise, beside words that do not "
        f"fit, and there are {len(found)}: take fewer images per level, ratings per image, or checks"
    )


class Rateable(NamedTuple):
    """An image that is there.

    Attributes:
        item, sample, level: which it is.
        file: its path inside the run folder, with slashes.
        sha256: the digest of its bytes.
        grounded: what the judge saw in it, in the grounding format; None if nobody needs it, or the judge could not
            tell.
    """

    item: str
    sample: int
    level: int
    file: str
    sha256: str
    grounded: dict[str, object] | None


def rateable_images(run: StoredRun, levels: Collection[int] | None, *, grounded: bool) -> tuple[list[Rateable], int]:
    """The images of these levels that are there, and how many of those that were planned are not.

    Args:
        run: the run.
        levels: only images of these levels; None for all.
        grounded: whether what the judge saw is needed.

    Raises:
        FormalimgError: if a file is gone, or nobody has said what is in the images though it is needed.
    """
    made = run.made()
    found: list[Rateable] = []
    missing = 0
    for judged in run.judged():
        item, level, sample, *_ = judged.outcome
        if levels is not None and level not in levels:
            continue
        before = made.get((item, sample))
        if before is None or judged.image is None:
            missing += 1
            continue
        if not judged.image.is_file():
            raise FormalimgError(f"{judged.image} is gone: let `formalimg generate` make it again")
        file = f"images/{judged.image.name}"
        seen = judged.verdict.evidence.get("scene") if grounded else None
        scene = None if seen is None else _checked(seen, judged.image)
        found.append(Rateable(item, sample, level, file, before.sha256, scene))
    if grounded and found and not any(image.grounded is not None for image in found):
        raise FormalimgError(
            f"nobody has found boxes in the images of {run.folder}: take runs of knolling or natural that a grounder "
            "has judged"
        )
    return found, missing


def _checked(seen: object, image: ImageLocation) -> dict[str, object]:
    try:
        return Scene.from_json(seen).to_json()
    except SceneError as error:
        raise FormalimgError(f"what the judge saw in {image} is no scene ({error}): judge the run again") from error
