"""What a rater is shown, and how far raters are."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.manifest import StudyManifest
from formalimg.human_eval.protocol import Step, Value
from formalimg.runs import image_in
from formalimg.scenes import Scene


@dataclass(frozen=True)
class Task:
    """An image that a rater is asked about. It tells nothing of the model, and not whether it is a check.

    Attributes:
        id: a random token.
        image: the random token that the image is called by.
        words: what the image should show.
        steps: what is asked, as far as it may be seen by now.
        answers: what the rater has said so far, by the name of the step; the last answer to each.
        is_complete: all steps have an answer, and the task can be finished.
        number, of: which it is of the rater's tasks, from 1.
        grounded: what was found in the image, in the grounding format, where boxes are to be corrected; None
            elsewhere, and if nothing could be found.
    """

    id: str
    image: str
    words: str
    steps: tuple[Step, ...]
    answers: Mapping[str, Value]
    is_complete: bool
    number: int
    of: int
    grounded: Mapping[str, object] | None = None


class RaterProgress(NamedTuple):
    """How far a rater is.

    Attributes:
        rater: the pseudonym.
        finished: how many tasks are finished.
        of: how many there are.
        seconds: how long all answers took together.
        last: when the rater last answered, in UTC; empty if never.
    """

    rater: str
    finished: int
    of: int
    seconds: float
    last: str


_IMAGES_OF_TASKS = "FROM tasks JOIN pictures ON token = picture"
TASK = f"""
    SELECT id, picture, words, steps, grounded
    {_IMAGES_OF_TASKS} JOIN asked ON asked.number = asked
    WHERE rater = :number AND tasks.position = :position
"""
IMAGE = f"SELECT run, file, sha256 {_IMAGES_OF_TASKS} WHERE rater = :number AND token = :token"
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
class Place:
    """Where a rater is. Nobody else finishes the rater's tasks meanwhile.

    Attributes:
        number: the rater's number.
        of: how many tasks there are in all.
        ahead: the positions of those that are to be finished, the current one first.
    """

    number: int
    of: int
    ahead: deque[int] = field(default_factory=deque)

    @property
    def finished(self) -> int:
        """How many tasks are finished."""
        return self.of - len(self.ahead)


class CurrentTask(NamedTuple):
    """The task that a rater is at."""

    id: str
    image: str
    words: str
    steps: tuple[Step, ...]
    grounded: str | None


@lru_cache(4096)
def steps_of(text: str) -> tuple[Step, ...]:
    """The steps that are kept as JSON."""
    return tuple(Step(**step) for step in json.loads(text))


def words_of(grounded: str | None) -> set[tuple[str, str]]:
    """The words that a grounder has written on objects, with their kinds: people may leave them as they are."""
    if grounded is None:
        return set()
    found: Mapping[str, object] = json.loads(grounded)
    return {word for obj in Scene.from_json(found).objects for word in (("class", obj.label), *obj.attributes())}


def folders_of_runs(folder: Path, manifest: StudyManifest) -> dict[str, Path]:
    """Where the runs of a study lie, by name.

    Raises:
        FormalimgError: if one is gone: raters would wait for its images in vain.
    """
    found = {run.name: folder / run.folder for run in manifest.runs}
    gone = next((path for path in found.values() if not path.is_dir()), None)
    if gone is not None:
        raise FormalimgError(
            f"{folder} shows images of {gone.resolve()}, which is not there: move a study with its runs"
        )
    return found


def read_image(path: Path, sha256: str) -> bytes:
    """An image's file, if it is what it was.

    Raises:
        FormalimgError: if it is gone, or another.
    """
    try:
        data = image_in(path, sha256).read_bytes()
    except OSError as error:
        raise FormalimgError(
            f"cannot read {path}: {error.strerror}; put the run back where it was when the study was made"
        ) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise FormalimgError(f"{path} is another image than when the study was made: put the old one back")
    return data
