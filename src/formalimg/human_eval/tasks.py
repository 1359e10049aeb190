"""Tasks of raters: what is shown, progress, and the queries behind both."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from formalimg._util.strict_json import stored_integer, stored_json, stored_number, stored_text, wrong_value
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.manifest import StudyManifest
from formalimg.human_eval.protocol import PREFERENCES, AnswerValue, RatingStep, StepKind
from formalimg.runs.image_store import ChangedImageError
from formalimg.runs.reader import locate_image
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", re.ASCII)
_STEP_FIELDS = {field.name for field in fields(RatingStep)}


@dataclass(frozen=True)
class RatingTask:
    """An image to be rated. It reveals neither the model nor whether it is an attention check."""

    id: str  # a random token
    image: str  # the random token of the image
    words: str  # the prompt
    steps: tuple[RatingStep, ...]  # the questions that are visible now
    answers: Mapping[str, AnswerValue]  # the last answer to each step
    is_complete: bool  # all steps have an answer, and the task can be finished
    number: int  # position among the rater's tasks, from 1
    of: int
    # the scene to be corrected, in the grounding format; None for other protocols, or if none was found
    grounded: Mapping[str, object] | None = None
    other: str | None = None  # the random token of the image on the right, where there are two; else None
    can_go_back: bool = False  # there is an image before it that can be looked at again
    is_back: bool = False  # it is finished, and the rater went back to it


class RaterProgress(NamedTuple):
    """Progress of a rater."""

    rater: str  # the pseudonym
    finished: int  # number of finished tasks
    of: int  # number of tasks
    seconds: float  # total time of all answers
    last: str  # when the rater last answered, in UTC; empty if never


def with_other(query: str, schema: int) -> str:
    """Return a query with the column of the second image; studies of schema 1 have none."""
    return query.replace("{other}", "tasks.other" if schema > 1 else "NULL")


_IMAGES_OF_TASKS = "FROM tasks JOIN pictures ON token = picture"
TASK = f"""
    SELECT id, picture, {{other}}, words, steps, grounded
    {_IMAGES_OF_TASKS} JOIN asked ON asked.number = asked
    WHERE rater = :number AND tasks.position = :position
"""
IMAGE = """
    SELECT run, file, sha256 FROM pictures WHERE token = :token
    AND EXISTS (SELECT 1 FROM tasks WHERE rater = :number AND :token IN (picture, {other}))
"""
LAST_FINISHED = """
    SELECT position FROM tasks JOIN finished ON task = id WHERE rater = :number ORDER BY finished.rowid DESC LIMIT 1
"""
ANSWER = """
    INSERT INTO answers (task, step, value, seconds, at, key) VALUES (:task, :step, :value, :seconds, :at, :key)
"""
KEPT = """
    SELECT 1 FROM answers JOIN tasks ON task = id WHERE rater = :number AND id = :task AND step = :step AND key = :key
"""
RATERS = "SELECT name, raters.number, count(id) FROM raters LEFT JOIN tasks ON rater = number GROUP BY number"
AHEAD = """
    SELECT name, position FROM raters JOIN tasks ON rater = number
    WHERE NOT EXISTS (SELECT 1 FROM finished WHERE task = id) ORDER BY number, position
"""
PROGRESS = """
    SELECT name, count(finished.task), count(tasks.id), total(spent), coalesce(max(last), '')
    FROM raters LEFT JOIN tasks ON rater = raters.number LEFT JOIN finished ON finished.task = id
    LEFT JOIN (SELECT task, sum(seconds) AS spent, max(at) AS last FROM answers GROUP BY task) AS said ON said.task = id
    GROUP BY raters.number ORDER BY raters.number
"""


@dataclass
class RaterPosition:
    """Position of a rater among their tasks."""

    number: int  # the rater's number
    of: int  # number of tasks
    ahead: deque[int] = field(default_factory=deque)  # positions of the unfinished tasks, the current one first
    back: int | None = None  # position of the finished task that the rater went back to; None otherwise

    @property
    def finished(self) -> int:
        """Return the number of finished tasks."""
        return self.of - len(self.ahead)


class CurrentTask(NamedTuple):
    """The current task of a rater."""

    id: str
    image: str
    other: str | None
    words: str
    steps: tuple[RatingStep, ...]
    grounded: str | None


@lru_cache(4096)
def parse_steps(text: str) -> tuple[RatingStep, ...]:
    """Parse the steps of a task from JSON."""
    steps = tuple(_step(step) for step in stored_json(text, "steps", list))
    if not steps or len({step.name for step in steps}) < len(steps):
        raise wrong_value("steps", text)
    return steps


def _step(found: object) -> RatingStep:
    if not isinstance(found, dict) or not {"name", "kind", "asks"} <= found.keys() <= _STEP_FIELDS:
        raise wrong_value("steps", found)
    step = RatingStep(**found)
    for text in (step.name, step.asks, step.criteria, step.about):
        stored_text(text, "steps")
    if step.kind not in get_args(StepKind) or not isinstance(step.once, bool) or not isinstance(step.cannot_tell, bool):
        raise wrong_value("steps", found)
    if step.question is not None:
        stored_integer(step.question, "steps", 1)
    return step


def parse_answer(text: object) -> AnswerValue:
    """Parse an answer from JSON.

    Raises:
        StoredValueError: if it is not what we store.
    """
    value = stored_json(text, "value", object)
    if isinstance(value, bool | dict) or value == CANNOT_TELL or value in PREFERENCES:
        return value
    return stored_number(value, "value", 0, 5)


def stored_time(text: object) -> str:
    """Return a time of the database, in UTC."""
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise wrong_value("at", text)
    return text


def is_answer_of(answer_type: StepKind | None, value: AnswerValue) -> bool:
    """Return whether a stored answer is of the type that a step of this kind has."""
    if value == CANNOT_TELL:
        return answer_type not in (None, "boxes")
    match answer_type:
        case "preference":
            return value in PREFERENCES
        case "yes or no":
            return isinstance(value, bool)
        case "likert":
            return type(value) is int and 1 <= value <= 5
        case "score":
            return not isinstance(value, bool | str | Mapping) and 0 <= value <= 1
        case "boxes":
            return isinstance(value, Mapping)
    return False


def parse_grounded(text: object) -> dict[str, Any] | None:
    """Parse the scene that a grounder saw from JSON; None if there is none."""
    if text is None:
        return None
    found: dict[str, Any] = stored_json(text, "grounded", dict)
    try:
        Scene.from_json(found)
    except SceneError:
        raise wrong_value("grounded", found) from None
    return found


def grounder_vocabulary(grounded: str | None) -> set[tuple[str, str]]:
    """Return labels and attributes used by the grounder, with their kinds: raters may keep them."""
    found = parse_grounded(grounded)
    if found is None:
        return set()
    return {word for obj in Scene.from_json(found).objects for word in (("class", obj.label), *obj.attributes())}


def run_folders(folder: Path, manifest: StudyManifest) -> dict[str, Path]:
    """Return the folders of the runs of a study, by name."""
    found = {run.name: folder / run.folder for run in manifest.runs}
    gone = next((path for path in found.values() if not path.is_dir()), None)
    if gone is not None:
        raise FormalimgError(
            f"{folder} shows images of {gone.resolve()}, which does not exist: move a study together with its runs"
        )
    return found


def read_image(path: Path, sha256: str) -> bytes:
    """Return the bytes of an image, if they are still the same."""
    try:
        return locate_image(path, sha256).read_bytes()
    except ChangedImageError as error:
        raise FormalimgError(f"{path} has changed since the study was created: restore the original image") from error
    except OSError as error:
        raise FormalimgError(
            f"cannot read {path}: {error.strerror}; put the run back where it was when the study was created"
        ) from error
