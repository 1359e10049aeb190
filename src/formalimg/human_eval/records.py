"""Answers of a rating study, read while raters may still be answering."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.human_eval.database import open_for_reading, rating_errors
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import AnswerValue, RatingStep
from formalimg.stats import complies

_TASKS = """
    SELECT id, name, run, pictures.item, sample, level, grounded, asked.item, steps, is_check, finished.at
    FROM tasks JOIN raters ON raters.number = rater JOIN pictures ON token = picture
    JOIN asked ON asked.number = asked LEFT JOIN finished ON finished.task = id
    ORDER BY pictures.position, raters.number
"""


class GivenAnswer(NamedTuple):
    """An answer: step, value, time it took in seconds, and when it was given (UTC)."""

    step: str
    value: AnswerValue
    seconds: float
    at: str


@dataclass(frozen=True)
class RatedTask:
    """An image, a rater, and the rater's answers.

    Attributes:
        rater: the pseudonym.
        run, item, sample, level: identify the image.
        words_of: the item whose prompt was shown; another one for attention checks.
        is_check: whether it is an attention check.
        steps: the questions.
        history: all answers, in order.
        finished: when the rater finished it, in UTC; empty if unfinished.
        grounded: the scene to be corrected; None if there is none.
    """

    rater: str
    run: str
    item: str
    sample: int
    level: int
    words_of: str
    is_check: bool
    steps: tuple[RatingStep, ...]
    history: tuple[GivenAnswer, ...]
    finished: str
    grounded: object = None

    @property
    def answers(self) -> dict[str, GivenAnswer]:
        """Return the last answer to each step."""
        return {answer.step: answer for answer in self.history}

    @property
    def seconds(self) -> float:
        """Return the total time of all answers, including those corrected later."""
        return sum(answer.seconds for answer in self.history)


@dataclass(frozen=True)
class StudyRecord:
    """The current state of a study.

    Attributes:
        manifest: its settings.
        tasks: all tasks, in the order of runs, items, samples and raters.
    """

    manifest: StudyManifest
    tasks: tuple[RatedTask, ...]


def read_study(folder: str | Path) -> StudyRecord:
    """Read the current state of a study, without locking or writing.

    Raises:
        FormalimgError: if it is not a study, or of another version of formalimg.
    """
    folder = Path(folder)
    manifest = read_study_manifest(folder)
    with rating_errors(folder), closing(open_for_reading(folder)) as database:
        database.execute("BEGIN")  # both queries see the same moment
        rows = database.execute(_TASKS).fetchall()
        answers: dict[str, list[GivenAnswer]] = {}
        for task, step, value, *when in database.execute(
            "SELECT task, step, value, seconds, at FROM answers ORDER BY number"
        ):
            answers.setdefault(task, []).append(GivenAnswer(step, json.loads(value), *when))
    parsed: dict[str, tuple[RatingStep, ...]] = {}
    return StudyRecord(manifest, tuple(_task(row, answers, parsed) for row in rows))


def _task(
    row: Sequence[Any], said: dict[str, list[GivenAnswer]], asked: dict[str, tuple[RatingStep, ...]]
) -> RatedTask:
    id_, rater, run, item, sample, level, grounded, words_of, steps, is_check, finished = row
    if steps not in asked:
        asked[steps] = tuple(RatingStep(**step) for step in json.loads(steps))
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
    """Likert ratings of an image, as in the human study of FormalImg: a mean of 4 or more passes.

    Attributes:
        run, item, sample, level: identify the image.
        ratings: the ratings so far, in the order of the raters.
        wanted: number of ratings that it will get.
    """

    run: str
    item: str
    sample: int
    level: int
    ratings: tuple[int, ...]
    wanted: int

    @property
    def mean(self) -> float | None:
        """Return the mean rating; None if there are none."""
        return sum(self.ratings) / len(self.ratings) if self.ratings else None

    @property
    def passed(self) -> bool | None:
        """Return whether the mean is 4 or more; None while ratings are missing."""
        return None if len(self.ratings) < self.wanted else complies(self.ratings)


def mean_ratings(tasks: Sequence[RatedTask]) -> list[Compliance]:
    """Return the ratings of each image, in the order of the tasks, without attention checks."""
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
    assert isinstance(points, int)  # nothing else is ever stored
    return points
