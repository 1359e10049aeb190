"""Snapshot of the answers of a rating study, read while raters may still be answering, with summaries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from formalimg._util.strict_json import StoredValueError, stored_integer, stored_number, stored_text, wrong_value
from formalimg._util.text import truncate
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.agreement.study_tables import RaterSummary
from formalimg.human_eval.attention_checks import find_excluded, notices_mismatch
from formalimg.human_eval.database import (
    adapt_query,
    open_for_reading,
    parse_answer,
    parse_scene,
    parse_steps,
    rating_errors,
    stored_name,
    stored_time,
)
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import MAX_SECONDS, AnswerValue, RatingProtocol, RatingStep
from formalimg.stats.agreement import ComplianceRule, complies

_TASKS = """
    SELECT id, name, pictures.run, pictures.item, pictures.sample, pictures.level, pictures.grounded, asked.item, steps,
        is_check, finished.at, beside.run, beside.item, beside.sample
    FROM tasks JOIN raters ON raters.number = rater JOIN pictures ON pictures.token = picture
    LEFT JOIN pictures AS beside ON beside.token = tasks.other
    JOIN asked ON asked.number = asked LEFT JOIN finished ON finished.task = id
    ORDER BY pictures.position, raters.number
"""


class RaterAnswer(NamedTuple):
    """A rater's answer to a step: its value, duration in seconds and UTC time."""

    step: str
    value: AnswerValue
    seconds: float
    at: str


class OtherImage(NamedTuple):
    """The right-hand image of a comparison: run, item and sample."""

    run: str
    item: str
    sample: int


@dataclass(frozen=True)
class RatedTask:
    """A rating task: an image, a rater and the rater's answers."""

    rater: str  # the pseudonym
    run: str  # identify the image
    item: str
    sample: int
    level: int
    words_of: str  # the item whose prompt was shown; another one for attention checks
    is_check: bool  # whether it is an attention check
    steps: tuple[RatingStep, ...]  # the questions
    history: tuple[RaterAnswer, ...]  # all answers, in order
    finished: str  # when the rater finished it, in UTC; empty if unfinished
    grounded: object = None  # the scene to be corrected; None if there is none
    # the image on the right, where two are compared: the first is on the left. Else None
    other: OtherImage | None = None

    @property
    def answers(self) -> dict[str, RaterAnswer]:
        """The latest answer to each step."""
        return {answer.step: answer for answer in self.history}

    @property
    def seconds(self) -> float:
        """The total duration of all answers, including corrected ones."""
        return sum(answer.seconds for answer in self.history)

    @property
    def points(self) -> int | None:
        """The Likert rating; None if the task is unfinished or the rater cannot tell."""
        value = self.answers["compliance"].value if self.finished else None
        return value if isinstance(value, int) else None

    @property
    def cannot_tell(self) -> bool:
        """Whether the task is finished without a Likert rating."""
        return bool(self.finished) and self.points is None

    @property
    def preferred(self) -> str | None:
        """The run whose image the rater prefers; empty for a tie, None if the rater cannot tell."""
        value = str(self.answers["preference"].value)
        return {"left": self.run, "right": self.other.run, "tie": ""}.get(value) if self.other else None

    @property
    def runs(self) -> set[str]:
        """The runs of the images in the task."""
        return {self.run, self.other.run if self.other else self.run}


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
        rows = database.execute(adapt_query(_TASKS, manifest.schema)).fetchall()
        history: dict[str, list[RaterAnswer]] = {}
        for task_id, step, value, seconds, at in database.execute(
            "SELECT task, step, value, seconds, at FROM answers ORDER BY number"
        ):
            time = stored_number(seconds, "seconds", 0, MAX_SECONDS)
            answer = RaterAnswer(stored_name(step, "step"), parse_answer(value), time, stored_time(at))
            history.setdefault(stored_name(task_id, "task"), []).append(answer)
        tasks = tuple(_parse_task(row, history) for row in rows)
        raters = {f"rater-{number}" for number in range(1, manifest.raters + 1)}
        runs = {run.name for run in manifest.runs}
        for task in tasks:
            if task.rater not in raters or not task.runs <= runs:
                raise wrong_value("rater, run", (task.rater, task.run))
        return StudyRecord(manifest, tasks)


def _parse_task(row: Sequence[Any], answers: dict[str, list[RaterAnswer]]) -> RatedTask:
    id_, rater, run, item, sample, level, grounded, words_of, steps, is_check, finished, *second_image = row
    steps, history = parse_steps(stored_text(steps, "steps")), tuple(answers.get(stored_name(id_, "id"), ()))
    by_name = {step.name: step for step in steps}
    for answer in history:
        if answer.step not in by_name or not by_name[answer.step].accepts(answer.value):
            raise wrong_value("value", answer.value)
    finished = "" if finished is None else stored_time(finished)
    if finished and by_name.keys() != {answer.step for answer in history}:
        raise StoredValueError(f"the finished task {truncate(ascii(id_), 40, 20)} lacks answers")
    return RatedTask(
        stored_name(rater, "name"),
        *_parse_image(run, item, sample),
        stored_integer(level, "level"),
        stored_name(words_of, "item"),
        bool(stored_integer(is_check, "is_check", 0, 1)),
        steps,
        history,
        finished,
        parse_scene(grounded),
        None if second_image[0] is None else OtherImage(*_parse_image(*second_image)),
    )


def _parse_image(run: object, item: object, sample: object) -> tuple[str, str, int]:
    return stored_name(run, "run"), stored_name(item, "item"), stored_integer(sample, "sample")


def summarize_raters(study: StudyRecord) -> tuple[RaterSummary, ...]:
    """Summarize each rater, in the order of rater numbers."""
    by_rater: dict[str, list[RatedTask]] = {f"rater-{number}": [] for number in range(1, study.manifest.raters + 1)}
    for task in study.tasks:
        by_rater[task.rater].append(task)
    summaries = [_summarize_rater(rater, tasks, study.manifest.protocol) for rater, tasks in by_rater.items()]
    reasons = find_excluded(summaries, study.manifest.rules)
    return tuple(
        summary._replace(excluded=reasons.get(summary.rater, ""), left_out=summary.rater in reasons)
        for summary in summaries
    )


def _summarize_rater(rater: str, tasks: Sequence[RatedTask], protocol: RatingProtocol) -> RaterSummary:
    finished = [task for task in tasks if task.finished]
    checks = [task for task in finished if task.is_check]
    values = [answer.value for task in finished if not task.is_check for answer in task.answers.values()]
    return RaterSummary(
        rater,
        len(finished),
        len(tasks),
        len(checks),
        sum(_passes_check(task, protocol) for task in checks),
        round(sum(task.seconds for task in tasks), 3),
        round(median(task.seconds for task in finished), 3) if finished else None,
        cannot_tell=values.count(CANNOT_TELL),
    )


def _passes_check(task: RatedTask, protocol: RatingProtocol) -> bool:
    if protocol == "ab":  # the image of the item must be preferred over that of another one
        return task.answers["preference"].value == ("left" if task.item == task.words_of else "right")
    return notices_mismatch(protocol, task.steps, {name: answer.value for name, answer in task.answers.items()})


class Compliance(NamedTuple):
    """The Likert ratings of an image and the resulting pass decision."""

    run: str  # identify the image
    item: str
    sample: int
    level: int
    ratings: tuple[int, ...]  # the ratings so far, in the order of the raters
    wanted: int  # number of ratings that it will get, without those of raters who cannot tell
    rule: ComplianceRule  # how the ratings become a label

    @property
    def mean(self) -> float | None:
        """The mean rating; None without ratings."""
        return sum(self.ratings) / len(self.ratings) if self.ratings else None

    @property
    def passed(self) -> bool | None:
        """Whether the image passes by the rule; None for a tie or if ratings are missing."""
        return None if not self.ratings or len(self.ratings) < self.wanted else complies(self.ratings, self.rule)


def mean_ratings(tasks: Sequence[RatedTask], rule: ComplianceRule) -> list[Compliance]:
    """Return the ratings of each image in task order, ignoring attention checks."""
    by_image: dict[tuple[str, str, int, int], list[RatedTask]] = {}
    for task in tasks:
        if not task.is_check:
            by_image.setdefault((task.run, task.item, task.sample, task.level), []).append(task)
    return [
        Compliance(
            *image,
            tuple(task.points for task in ratings if task.points is not None),
            sum(not task.cannot_tell for task in ratings),
            rule,
        )
        for image, ratings in by_image.items()
    ]
