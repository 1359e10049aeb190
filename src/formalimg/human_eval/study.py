"""A rating study opened to record answers, which is the only writer of its folder."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.locks import FolderLock
from formalimg._util.strict_json import (
    StoredValueError,
    stored_digest,
    stored_file_name,
    stored_integer,
    stored_number,
    stored_text,
    wrong_value,
)
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.human_eval.database import (
    adapt_query,
    current_time,
    link_digest,
    open_for_answers,
    parse_answer,
    parse_scene,
    parse_steps,
    rating_errors,
    stored_name,
    stored_time,
)
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import (
    AnswerError,
    AnswerValue,
    RatingStep,
    require_finishable,
    require_open_step,
    validate_answer,
    validate_seconds,
    visible_steps,
)
from formalimg.runs.image_store import ChangedImageError
from formalimg.runs.reader import locate_image
from formalimg.scenes.scene import Scene

TAKEN = "is already taking answers, in {holder}: use that one, or stop it"
"""The error message where another process has the study open."""

_NOT_CURRENT = "this is not your current task: go back to your link"

_RATERS = "SELECT name, raters.number, count(id) FROM raters LEFT JOIN tasks ON rater = number GROUP BY number"
_AHEAD = """
    SELECT name, position FROM raters JOIN tasks ON rater = number
    WHERE NOT EXISTS (SELECT 1 FROM finished WHERE task = id) ORDER BY number, position
"""
_TASK = """
    SELECT id, picture, tasks.other, words, steps, grounded
    FROM tasks JOIN pictures ON token = picture JOIN asked ON asked.number = asked
    WHERE rater = :number AND tasks.position = :position
"""
_IMAGE = """
    SELECT run, file, sha256 FROM pictures WHERE token = :token
    AND EXISTS (SELECT 1 FROM tasks WHERE rater = :number AND :token IN (picture, tasks.other))
"""
_LAST_FINISHED = """
    SELECT position FROM tasks JOIN finished ON task = id WHERE rater = :number ORDER BY finished.rowid DESC LIMIT 1
"""
_ANSWER = """
    INSERT INTO answers (task, step, value, seconds, at, key) VALUES (:task, :step, :value, :seconds, :at, :key)
"""
_SAME_ANSWER = """
    SELECT 1 FROM answers JOIN tasks ON task = id WHERE rater = :number AND id = :task AND step = :step AND key = :key
"""
_PROGRESS = """
    SELECT name, count(finished.task), count(tasks.id), total(spent), coalesce(max(last), '')
    FROM raters LEFT JOIN tasks ON rater = raters.number LEFT JOIN finished ON finished.task = id
    LEFT JOIN (SELECT task, sum(seconds) AS spent, max(at) AS last FROM answers GROUP BY task) AS said ON said.task = id
    GROUP BY raters.number ORDER BY raters.number
"""


@dataclass(frozen=True)
class RatingTask:
    """An image to be rated, without revealing its model or whether it is an attention check."""

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


@dataclass
class _Position:
    number: int  # the rater's number
    of: int  # number of tasks
    ahead: deque[int] = field(default_factory=deque)  # positions of the unfinished tasks, the current one first
    back: int | None = None  # position of the finished task that the rater went back to; None otherwise

    @property
    def finished(self) -> int:
        return self.of - len(self.ahead)


class _CurrentTask(NamedTuple):
    id: str
    image: str
    other: str | None
    words: str
    steps: tuple[RatingStep, ...]
    grounded: dict[str, Any] | None


class Study:
    """A study opened to record answers; several raters may answer concurrently, from any thread.

    An answer is on disk when `answer` returns. Raters can pause at any time: they get the same task again, with the
    answers given so far. What raters may not do raises AnswerError.
    """

    def __init__(self, folder: str | Path) -> None:
        """Open the folder; raise LockedError if another process has it open for answers."""
        self.folder = Path(folder)
        self.manifest: StudyManifest = read_study_manifest(self.folder)
        self._runs = run_folders(self.folder, self.manifest)
        self._one_at_a_time = threading.RLock()
        self._lock = FolderLock(self.folder, TAKEN)
        try:
            self._database = open_for_answers(self.folder)
            with rating_errors(self.folder):
                self._positions = {
                    stored_name(name, "name"): _Position(stored_integer(number, "number"), tasks)
                    for name, number, tasks in self._query(_RATERS)
                }
                for name, position in self._query(_AHEAD):
                    self._positions[name].ahead.append(stored_integer(position, "position"))
        except BaseException:
            self._lock.release()
            raise

    def rater_of(self, link: str) -> str:
        """Return the pseudonym of the rater whose link contains the given secret part."""
        rows = self._query("SELECT name FROM raters WHERE link = :link", link=link_digest(link))
        if not rows:
            raise AnswerError("this link is unknown: ask whoever sent it for a new one")
        return str(rows[0][0])

    def new_link(self, rater: str) -> str:
        """Create a new link for a rater and return its secret part, invalidating the old link."""
        self._position(rater)
        link = secrets.token_urlsafe(24)
        self._query("UPDATE raters SET link = :link WHERE name = :rater", link=link_digest(link), rater=rater)
        return link

    def next_task(self, rater: str) -> RatingTask | None:
        """Return the current task of a rater; None if all are finished."""
        with self._one_at_a_time:
            task, position = self._current(rater), self._position(rater)
            if task is None:
                return None
            answers = self._answers(task.id)
            return RatingTask(
                *(task.id, task.image, task.words, visible_steps(task.steps, answers), answers),
                all(step.name in answers for step in task.steps),
                position.finished + (position.back is None),
                position.of,
                task.grounded,
                task.other,
                can_go_back=bool(position.finished) and position.back is None,
                is_back=position.back is not None,
            )

    def answer(self, rater: str, task: str, step: str, value: object, seconds: float, key: str | None = None) -> None:
        """Store an answer, keeping earlier answers to the same step in the history."""
        with self._one_at_a_time:
            position = self._position(rater)
            row = {"task": task, "step": step, "key": key}
            if key is not None and self._query(_SAME_ANSWER, number=position.number, **row):
                return
            current = self._require_current(rater, task)
            ((count,),) = self._query("SELECT count(*) FROM answers WHERE task = :task", task=task)
            question = require_open_step(current.steps, self._answers(task), step, count)
            objects = Scene.from_json(current.grounded).objects if current.grounded is not None else ()
            words = {word for obj in objects for word in (("class", obj.label), *obj.attributes())}  # may be kept
            answer = validate_answer(question, value, self.manifest.suite, words)
            text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
            self._query(_ANSWER, value=text, seconds=validate_seconds(seconds), at=current_time(), **row)

    def finish(self, rater: str, task: str, seen: Mapping[str, object] | None = None) -> None:
        """Finish the current task of a rater; its answers can be corrected until the next task is finished.

        If `seen` is given, the answers on the rater's screen must be the stored ones.
        """
        with self._one_at_a_time:
            current, position = self._require_current(rater, task), self._position(rater)
            require_finishable(current.steps, self._answers(task), seen or {})
            if position.back is not None:
                position.back = None
                return
            self._query("INSERT INTO finished VALUES (:task, :at)", task=task, at=current_time())
            position.ahead.popleft()

    def go_back(self, rater: str, task: str | None = None) -> None:
        """Make the most recently finished image current again, so that the rater can correct the answers.

        Images finished before it are final. Corrected answers are added to the history, and the last one counts. `task`
        is the one on the rater's screen; None if all are finished. `finish` moves on again.
        """
        with self._one_at_a_time:
            current, position = self._current(rater), self._position(rater)
            if (current.id if current else None) != task or position.back is not None:
                raise AnswerError(_NOT_CURRENT)
            rows = self._query(_LAST_FINISHED, number=position.number)
            if not rows:
                raise AnswerError("this is your first image: there is none before it")
            position.back = stored_integer(rows[0][0], "position")

    def put_off(self, rater: str, task: str) -> None:
        """Move the current task to the end of the queue because its image cannot be shown."""
        with self._one_at_a_time:
            self._require_current(rater, task)
            position = self._position(rater)
            if position.back is not None:
                raise AnswerError("this image is already finished: continue with the next one")
            if len(position.ahead) == 1:
                raise AnswerError("this is the only image left: come back when it can be shown")
            position.ahead.rotate(-1)

    def has_started(self, rater: str) -> bool:
        """Return whether a rater has completed the instructions, or the study has none."""
        if not self.manifest.instructions:
            return True
        return bool(self._query("SELECT 1 FROM started WHERE rater = :number", number=self._position(rater).number))

    def start(self, rater: str) -> None:
        """Record that a rater has completed the instructions and the practice items."""
        if not self.has_started(rater):
            query = "INSERT OR IGNORE INTO started VALUES (:number, :at)"
            self._query(query, number=self._position(rater).number, at=current_time())

    def completion_code(self, rater: str) -> str:
        """Return the completion code of a rater; empty before all tasks are finished, and in older studies."""
        return "" if self._position(rater).ahead else self.completion_codes().get(rater, "")

    def completion_codes(self) -> dict[str, str]:
        """Return the completion code of each rater; empty for older studies."""
        if self.manifest.schema == 1:
            return {}
        with rating_errors(self.folder):
            rows = self._query("SELECT name, code FROM raters ORDER BY number")
            return {name: stored_name(code, "code") for name, code in rows}

    def image(self, rater: str, token: str) -> bytes:
        """Return the bytes of the image behind a rater's token, as returned by the image model."""
        number = self._position(rater).number
        rows = self._query(adapt_query(_IMAGE, self.manifest.schema), number=number, token=token)
        if not rows:
            raise AnswerError("this image is not among yours: go back to your link")
        with rating_errors(self.folder):
            run, file, sha256 = rows[0]
            folder, _, name = stored_name(file, "file").partition("/")
            if run not in self._runs or folder != "images":
                raise wrong_value("run, file", (run, file))
            path = self._runs[run] / folder / stored_file_name(name, "file")
            stored_digest(sha256, "sha256")
        return read_image(path, sha256)

    def progress(self) -> tuple[RaterProgress, ...]:
        """Return the progress of each rater."""
        with rating_errors(self.folder):
            return tuple(
                RaterProgress(
                    *(stored_name(rater, "name"), finished, tasks),
                    stored_number(seconds, "seconds"),
                    stored_time(last) if last else "",
                )
                for rater, finished, tasks, seconds, last in self._query(_PROGRESS)
            )

    def close(self) -> None:
        """Close the database and release the folder."""
        self._database.close()
        self._lock.release()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _position(self, rater: str) -> _Position:
        if rater not in self._positions:
            raise AnswerError(truncate(f"unknown rater {rater!r}: this study has rater-1 and so on", 200, 100))
        return self._positions[rater]

    def _current(self, rater: str) -> _CurrentTask | None:
        state = self._position(rater)
        if not state.ahead and state.back is None:
            return None
        position = state.ahead[0] if state.back is None else state.back
        with rating_errors(self.folder):
            rows = self._query(adapt_query(_TASK, self.manifest.schema), number=state.number, position=position)
            if len(rows) != 1:
                raise StoredValueError(f"task {position} of rater {state.number} lacks its image or its words")
            task, image, second_image, words, steps, grounded = rows[0]
            return _CurrentTask(
                *(stored_name(task, "id"), stored_name(image, "picture")),
                None if second_image is None else stored_name(second_image, "other"),
                stored_text(words, "words"),
                parse_steps(stored_text(steps, "steps")),
                parse_scene(grounded),
            )

    def _require_current(self, rater: str, task: str) -> _CurrentTask:
        current = self._current(rater)
        if current is not None and current.id == task:
            return current
        if self._query("SELECT 1 FROM finished WHERE task = :task", task=task):
            raise AnswerError("this task is finished and its answers are final: continue with the next one")
        raise AnswerError(_NOT_CURRENT)

    def _answers(self, task: str) -> dict[str, AnswerValue]:
        with rating_errors(self.folder):
            rows = self._query("SELECT step, value FROM answers WHERE task = :task ORDER BY number", task=task)
            return {stored_name(step, "step"): parse_answer(value) for step, value in rows}

    def _query(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        try:
            with self._one_at_a_time, rating_errors(self.folder):
                return self._database.execute(query, values).fetchall()
        except UnicodeEncodeError as error:  # a lone surrogate
            raise AnswerError("unknown task or image: go back to your link") from error
        except sqlite3.ProgrammingError as error:
            if "closed database" in str(error):
                raise FormalimgError(f"{self.folder} is closed: open the study again") from error
            raise


open_study = Study  # Open a study for answers; use it in a `with` statement, or close it


def run_folders(folder: Path, manifest: StudyManifest) -> dict[str, Path]:
    """Return the run folders of a study by run name."""
    folders = {run.name: folder / run.folder for run in manifest.runs}
    missing = next((path for path in folders.values() if not path.is_dir()), None)
    if missing is not None:
        raise FormalimgError(
            f"{folder} shows images of {missing.resolve()}, which does not exist: move a study together with its runs"
        )
    return folders


def read_image(path: Path, sha256: str) -> bytes:
    """Return the bytes of an image, or raise an error if the file has changed."""
    try:
        return locate_image(path, sha256).read_bytes()
    except ChangedImageError as error:
        raise FormalimgError(f"{path} has changed since the study was created: restore the original image") from error
    except OSError as error:
        raise FormalimgError(
            f"cannot read {path}: {error.strerror}; put the run back where it was when the study was created"
        ) from error
