"""Answers of a rating study, read while raters may still be answering."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.strict_json import (
    MAX_NAME,
    StoredValueError,
    stored_integer,
    stored_number,
    stored_text,
    wrong_value,
)
from formalimg._util.text import truncate
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.database import open_for_reading, rating_errors
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import MAX_SECONDS, AnswerValue, RatingStep
from formalimg.human_eval.tasks import is_answer_of, parse_answer, parse_grounded, parse_steps, stored_time, with_other
from formalimg.stats.agreement import ComplianceRule, complies

_TASKS = """
    SELECT id, name, pictures.run, pictures.item, pictures.sample, pictures.level, pictures.grounded, asked.item, steps,
        is_check, finished.at, beside.run, beside.item, beside.sample
    FROM tasks JOIN raters ON raters.number = rater JOIN pictures ON pictures.token = picture
    LEFT JOIN pictures AS beside ON beside.token = {other}
    JOIN asked ON asked.number = asked LEFT JOIN finished ON finished.task = id
    ORDER BY pictures.position, raters.number
"""


class GivenAnswer(NamedTuple):
    """An answer: step, value, time it took in seconds, and when it was given (UTC)."""

    step: str
    value: AnswerValue
    seconds: float
    at: str


class OtherImage(NamedTuple):
    """The image on the right, where two are compared: run, item and sample."""

    run: str
    item: str
    sample: int


@dataclass(frozen=True)
class RatedTask:
    """An image, a rater, and the rater's answers."""

    rater: str  # the pseudonym
    run: str  # identify the image
    item: str
    sample: int
    level: int
    words_of: str  # the item whose prompt was shown; another one for attention checks
    is_check: bool  # whether it is an attention check
    steps: tuple[RatingStep, ...]  # the questions
    history: tuple[GivenAnswer, ...]  # all answers, in order
    finished: str  # when the rater finished it, in UTC; empty if unfinished
    grounded: object = None  # the scene to be corrected; None if there is none
    # the image on the right, where two are compared: the first is on the left. Else None
    other: OtherImage | None = None

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
    """The current state of a study."""

    manifest: StudyManifest  # its settings
    tasks: tuple[RatedTask, ...]  # all tasks, in the order of runs, items, samples and raters


def read_study(folder: str | Path) -> StudyRecord:
    """Read the current state of a study, without locking or writing."""
    folder = Path(folder)
    manifest = read_study_manifest(folder)
    with rating_errors(folder), closing(open_for_reading(folder)) as database:
        database.execute("BEGIN")  # both queries see the same moment
        rows = database.execute(with_other(_TASKS, manifest.schema)).fetchall()
        answers: dict[str, list[GivenAnswer]] = {}
        for task, step, value, *when in database.execute(
            "SELECT task, step, value, seconds, at FROM answers ORDER BY number"
        ):
            answers.setdefault(stored_text(task, "task", MAX_NAME), []).append(_answer(step, value, *when))
        tasks = tuple(_task(row, answers) for row in rows)
        raters, runs = (
            {f"rater-{number}" for number in range(1, manifest.raters + 1)},
            {it.name for it in manifest.runs},
        )
        for task in tasks:
            shown = {task.run, task.other.run if task.other else task.run}
            if task.rater not in raters or not shown <= runs:
                raise wrong_value("rater, run", (task.rater, task.run))
        return StudyRecord(manifest, tasks)


def _answer(step: object, value: object, seconds: object, at: object) -> GivenAnswer:
    return GivenAnswer(
        stored_text(step, "step", MAX_NAME),
        parse_answer(value),
        stored_number(seconds, "seconds", 0, MAX_SECONDS),
        stored_time(at),
    )


def _task(row: Sequence[Any], said: dict[str, list[GivenAnswer]]) -> RatedTask:
    id_, rater, run, item, sample, level, grounded, words_of, steps, is_check, finished, *other = row
    asked, history = parse_steps(stored_text(steps, "steps")), tuple(said.get(stored_text(id_, "id", MAX_NAME), ()))
    kinds = {step.name: step.kind for step in asked}
    for answer in history:
        if not is_answer_of(kinds.get(answer.step), answer.value):
            raise wrong_value("value", answer.value)
    done = "" if finished is None else stored_time(finished)
    if done and kinds.keys() != {answer.step for answer in history}:
        raise StoredValueError(f"the finished task {truncate(ascii(id_), 40, 20)} lacks answers")
    return RatedTask(
        stored_text(rater, "name", MAX_NAME),
        stored_text(run, "run", MAX_NAME),
        stored_text(item, "item", MAX_NAME),
        stored_integer(sample, "sample"),
        stored_integer(level, "level"),
        stored_text(words_of, "item", MAX_NAME),
        bool(stored_integer(is_check, "is_check", 0, 1)),
        asked,
        history,
        done,
        parse_grounded(grounded),
        None if other[0] is None else _other(*other),
    )


def _other(run: object, item: object, sample: object) -> OtherImage:
    return OtherImage(
        stored_text(run, "run", MAX_NAME), stored_text(item, "item", MAX_NAME), stored_integer(sample, "sample")
    )


class Compliance(NamedTuple):
    """Likert ratings of an image, and whether it passes."""

    run: str  # identify the image
    item: str
    sample: int
    level: int
    ratings: tuple[int, ...]  # the ratings so far, in the order of the raters
    wanted: int  # number of ratings that it will get, without those of raters who cannot tell
    rule: ComplianceRule  # how the ratings become a label

    @property
    def mean(self) -> float | None:
        """Return the mean rating; None if there are none."""
        return sum(self.ratings) / len(self.ratings) if self.ratings else None

    @property
    def passed(self) -> bool | None:
        """Return whether it passes by the rule; None while ratings are missing, and for a tie."""
        return None if not self.ratings or len(self.ratings) < self.wanted else complies(self.ratings, self.rule)


def mean_ratings(tasks: Sequence[RatedTask], rule: ComplianceRule) -> list[Compliance]:
    """Return the ratings of each image, in the order of the tasks, without attention checks."""
    by_image: dict[tuple[str, str, int, int], list[RatedTask]] = {}
    for task in tasks:
        if not task.is_check:
            by_image.setdefault((task.run, task.item, task.sample, task.level), []).append(task)
    return [
        Compliance(*image, tuple(points), len(those) - sum(_cannot_tell(task) for task in those), rule)
        for image, those in by_image.items()
        for points in [[_points(task) for task in those if task.finished and not _cannot_tell(task)]]
    ]


def _cannot_tell(task: RatedTask) -> bool:
    return bool(task.finished) and task.answers["compliance"].value == CANNOT_TELL


def _points(task: RatedTask) -> int:
    points = task.answers["compliance"].value
    assert isinstance(points, int)  # nothing else is ever stored
    return points
