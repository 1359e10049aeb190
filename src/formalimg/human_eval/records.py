"""What people have said in a study, for readers; people may go on answering meanwhile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.human_eval.database import open_for_reading, told
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import Step, Value
from formalimg.stats import complies

_TASKS = """
    SELECT id, name, run, pictures.item, sample, level, grounded, asked.item, steps, is_check, finished.at
    FROM tasks JOIN raters ON raters.number = rater JOIN pictures ON token = picture
    JOIN asked ON asked.number = asked LEFT JOIN finished ON finished.task = id
    ORDER BY pictures.position, raters.number
"""


class GivenAnswer(NamedTuple):
    """An answer: to which step, what, after how many seconds, and when (UTC)."""

    step: str
    value: Value
    seconds: float
    at: str


@dataclass(frozen=True)
class RatedTask:
    """An image before one rater, and what the rater said.

    Attributes:
        rater: the pseudonym.
        run, item, sample, level: which image it is.
        words_of: the item whose words stood beside; another one for attention checks.
        is_check: whether it is an attention check.
        steps: what was asked.
        history: all answers, in the order in which they came.
        finished: when the rater finished it, in UTC; empty if that is still to come.
        grounded: what a judge saw in the image, where boxes are corrected; None if it could not tell.
    """

    rater: str
    run: str
    item: str
    sample: int
    level: int
    words_of: str
    is_check: bool
    steps: tuple[Step, ...]
    history: tuple[GivenAnswer, ...]
    finished: str
    grounded: object = None

    @property
    def answers(self) -> dict[str, GivenAnswer]:
        """The answers that count, by the name of the step: the last of each."""
        return {answer.step: answer for answer in self.history}

    @property
    def seconds(self) -> float:
        """How long all answers took together, also those that were corrected later."""
        return sum(answer.seconds for answer in self.history)


@dataclass(frozen=True)
class StudyRecord:
    """A study as it stands.

    Attributes:
        card: what was asked.
        tasks: all tasks, in the order of runs, items, samples and raters.
    """

    manifest: StudyManifest
    tasks: tuple[RatedTask, ...]


def read_study(folder: str | Path) -> StudyRecord:
    """A study as it stands. Never locks, never writes.

    Raises:
        FormalimgError: if it is no study, or one of another version of formalimg.
    """
    folder = Path(folder)
    manifest = read_study_manifest(folder)
    with told(folder), closing(open_for_reading(folder)) as database:
        database.execute("BEGIN")  # both queries see the same moment
        rows = database.execute(_TASKS).fetchall()
        said: dict[str, list[GivenAnswer]] = {}
        for task, step, value, *when in database.execute(
            "SELECT task, step, value, seconds, at FROM answers ORDER BY number"
        ):
            said.setdefault(task, []).append(GivenAnswer(step, json.loads(value), *when))
    asked: dict[str, tuple[Step, ...]] = {}
    return StudyRecord(manifest, tuple(_task(row, said, asked) for row in rows))


def _task(row: Sequence[Any], said: dict[str, list[GivenAnswer]], asked: dict[str, tuple[Step, ...]]) -> RatedTask:
    id_, rater, run, item, sample, level, grounded, words_of, steps, is_check, finished = row
    if steps not in asked:
        asked[steps] = tuple(Step(**step) for step in json.loads(steps))
    return RatedTask(
        rater,
        run,
        item,
        sample,
        level,
        words_of,
        bool(is_check),
        asked[steps],
        tuple(said.get(id_, ())),
        finished or "",
        None if grounded is None else json.loads(grounded),
    )


class Compliance(NamedTuple):
    """What people gave to an image.

    Attributes:
        run, item, sample, level: which image it is.
        ratings: what was given so far, in the order of the raters.
        wanted: how many ratings it is to get.
    """

    run: str
    item: str
    sample: int
    level: int
    ratings: tuple[int, ...]
    wanted: int

    @property
    def mean(self) -> float | None:
        """The mean of the ratings; None if there are none."""
        return sum(self.ratings) / len(self.ratings) if self.ratings else None

    @property
    def passed(self) -> bool | None:
        """Is the mean 4 or more? None as long as ratings are missing."""
        return None if len(self.ratings) < self.wanted else complies(self.ratings)


def sum_up_ratings(tasks: Sequence[RatedTask]) -> list[Compliance]:
    """What people gave to each image, in the order of the tasks; checks are left aside."""
    by_image: dict[tuple[str, str, int, int], list[RatedTask]] = {}
    for task in tasks:
        if not task.is_check:
            by_image.setdefault((task.run, task.item, task.sample, task.level), []).append(task)
    return [
        Compliance(*image, tuple(_points(task) for task in those if task.finished), len(those))
        for image, those in by_image.items()
    ]


def _points(task: RatedTask) -> int:
    points = task.answers["compliance"].value
    assert isinstance(points, int)  # nothing else is ever kept
    return points
