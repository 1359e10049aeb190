"""Studies of ratings that were given elsewhere: written whole, with all answers, and with nobody left to ask."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate
from formalimg.human_eval.database import PlannedTask, StudyPlan, write_study
from formalimg.human_eval.rateable_images import RateableImage
from formalimg.human_eval.study_builder import require_together
from formalimg.runs.reader import StoredRun


class RatedImageName(NamedTuple):
    """A rated image: the name of its run folder, its item and its sample."""

    run: str
    item: str
    sample: int


def write_rated_study(
    folder: Path,
    runs: Sequence[StoredRun],
    ratings: Mapping[RatedImageName, Mapping[str, int]],
    source: str,
    made_with: str = "",
) -> None:
    """Write a study of Likert ratings that were given elsewhere.

    Raters become `rater-1` and so on, in the order of their names: a study does not know who they are.
    """
    rated = [run for run in runs if any(image.run == run.folder.resolve().name for image in ratings)]
    if not rated:
        raise FormalimgError("no image of these runs has a rating: name the rated runs")
    require_together(rated)
    raters = sorted({rater for given in ratings.values() for rater in given})
    images: dict[Candidate, RateableImage] = {}
    without: dict[str, int] = {}
    tasks: list[PlannedTask] = []
    answers: list[int] = []
    for run in rated:
        name, made = run.folder.resolve().name, run.made()
        items = {item.id: item for item in run.suite_items()}
        outcomes = run.outcomes()
        without[name] = sum((one.item, one.sample) not in made for one in outcomes)
        for one in outcomes:
            given = ratings.get(RatedImageName(name, one.item, one.sample))
            if given is None or (one.item, one.sample) not in made:
                continue
            image = Candidate(name, one.item, one.sample, one.level)
            digest = made[one.item, one.sample].sha256
            images[image] = RateableImage(one.item, one.sample, one.level, f"images/{digest[:16]}.webp", digest, None)
            for number, rater in enumerate(raters, 1):
                if rater in given:
                    tasks.append(PlannedTask(number, image, items[one.item], False))
                    answers.append(given[rater])
    plan = StudyPlan(
        protocol="likert",
        runs=rated,
        chosen=list(images),
        images=images,
        without_image=without,
        tasks=tasks,
        links={f"rater-{number}": secrets.token_urlsafe(24) for number in range(1, len(raters) + 1)},
        per_image=max(map(len, ratings.values())),
        levels=(),
        per_level=0,
        checks=0.0,
        seed=0,
        made_with=made_with,
        answers=answers,
        imported=source,
        rule="majority",
    )
    write_study(plan, folder)
