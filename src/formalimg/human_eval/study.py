"""A study that takes answers: the one writer of its folder."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.human_eval.database import link_digest, open_for_answers, told
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import (
    AnswerError,
    Value,
    checked_seconds,
    checked_value,
    open_steps,
    refusal,
    require_finishable,
    shown_steps,
)
from formalimg.human_eval.tasks import (
    AHEAD,
    ANSWER,
    IMAGE,
    KEPT,
    PROGRESS,
    RATERS,
    TASK,
    CurrentTask,
    Place,
    RaterProgress,
    Task,
    folders_of_runs,
    read_image,
    steps_of,
    words_of,
)
from formalimg.runs import FolderLock

_TAKEN = "is taking answers already, by {holder}: use that one, or stop it"


class Study:
    """A study, opened for taking answers; several raters may answer at once, from any thread.

    An answer is on the disk when `answer` returns. So there is nothing to save for a pause: whoever comes back gets the
    same task, with the answers given so far.
    """

    def __init__(self, folder: str | Path) -> None:
        """Open the folder.

        Raises:
            LockedError: if another process takes answers for it.
            FormalimgError: if it is no study, or one of another version of formalimg, or its runs are gone.
        """
        self._folder = Path(folder)
        self._manifest = read_study_manifest(self._folder)
        self._runs = folders_of_runs(self._folder, self._manifest)
        self._one_at_a_time = threading.Lock()
        self._lock = FolderLock(self._folder, _TAKEN)
        try:
            self._database = open_for_answers(self._folder)
            self._places = {name: Place(*place) for name, *place in self._rows(RATERS)}
            for name, position in self._rows(AHEAD):
                self._places[name].ahead.append(position)
        except BaseException:
            self._lock.release()
            raise

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._folder

    @property
    def manifest(self) -> StudyManifest:
        """What was asked."""
        return self._manifest

    def rater_of(self, link: str) -> str:
        """The pseudonym of the rater whose link has this secret part.

        Raises:
            AnswerError: if nobody's has.
        """
        found = self._rows("SELECT name FROM raters WHERE link = :link", link=link_digest(link))
        if not found:
            raise AnswerError("this link is not known: ask whoever sent it for a new one")
        return str(found[0][0])

    def new_link(self, rater: str) -> str:
        """The secret part of a new link for a rater; the old one no longer works.

        Raises:
            AnswerError: if there is no such rater.
        """
        link = secrets.token_urlsafe(24)
        with self._one_at_a_time:
            self._require_known(rater)
            self._execute("UPDATE raters SET link = :link WHERE name = :rater", link=link_digest(link), rater=rater)
        return link

    def next_task(self, rater: str) -> Task | None:
        """What a rater is asked now: the task that is begun, or the next one; None if all are finished.

        Raises:
            AnswerError: if there is no such rater.
        """
        with self._one_at_a_time:
            task = self._current(rater)
            if task is None:
                return None
            place = self._places[rater]
            answers = self._answers(task.id)
            seen = None if task.grounded is None else json.loads(task.grounded)
            missing = open_steps(task.steps, answers)
            shown = shown_steps(task.steps, answers)
            number = place.finished + 1
        return Task(task.id, task.image, task.words, shown, answers, not missing, number, place.of, seen)

    def answer(self, rater: str, task: str, step: str, value: object, seconds: float, key: str | None = None) -> None:
        """Keep an answer; one that was given before stays in the records, and the last counts.

        Args:
            rater: who answers.
            task: the rater's current task.
            step: the name of one of its steps.
            value: the answer; see `StepKind`.
            seconds: how long it took.
            key: a random name of the answer. One that is kept already under this name is not kept again: so whoever
                does not know whether an answer has arrived can send it once more.

        Raises:
            AnswerError: if it makes no sense, the task is not the current one, or the step cannot be answered now.
        """
        with self._one_at_a_time:
            if key is not None and self._is_kept(rater, task=task, step=step, key=key):
                return
            current = self._require_current(rater, task)
            wrong = refusal(current.steps, self._answers(task), step)
            if wrong:
                raise AnswerError(truncate(wrong, 200, 100))
            asked = next(it for it in current.steps if it.name == step)
            kept = checked_value(asked, value, self._manifest.suite, words_of(current.grounded))
            self._execute(
                ANSWER,
                task=task,
                step=step,
                value=json.dumps(kept, ensure_ascii=False, allow_nan=False),
                seconds=checked_seconds(seconds),
                at=_now(),
                key=key,
            )

    def finish(self, rater: str, task: str, seen: Mapping[str, object] | None = None) -> None:
        """Finish a rater's current task: its answers can no longer be changed, and the next task comes.

        The answers that the rater has in sight, by the names of their steps, must be those that count, if told.

        Raises:
            OtherAnswersError: if others than these would count, such as those of a second window.
            AnswerError: if it is not the current task, or answers are missing.
        """
        with self._one_at_a_time:
            current = self._require_current(rater, task)
            require_finishable(current.steps, self._answers(task), seen or {})
            self._execute("INSERT INTO finished VALUES (:task, :at)", task=task, at=_now())
            self._places[rater].ahead.popleft()

    def put_off(self, rater: str, task: str) -> None:
        """Let a rater go on although the image of the current task cannot be shown: it comes again after the others.

        What was answered stays. When the study is opened again, all tasks come in their first order.

        Raises:
            AnswerError: if it is not the current task, or the only one that is left.
        """
        with self._one_at_a_time:
            self._require_current(rater, task)
            ahead = self._places[rater].ahead
            if len(ahead) == 1:
                raise AnswerError("this is the only image that is left: come back when it can be shown")
            ahead.rotate(-1)

    def image(self, rater: str, token: str) -> bytes:
        """The file of an image, as the image model gave it.

        Raises:
            AnswerError: if it is none of the rater's images.
            FormalimgError: if the file is gone, or no longer what it was when the study was made.
        """
        self._require_known(rater)
        found = self._rows(IMAGE, number=self._places[rater].number, token=token)
        if not found:
            raise AnswerError("there is no such image among yours: go back to your link")
        run, file, sha256 = found[0]
        return read_image(self._runs[run] / file, sha256)

    def progress(self) -> tuple[RaterProgress, ...]:
        """How far each rater is."""
        return tuple(RaterProgress(*row) for row in self._rows(PROGRESS))

    def close(self) -> None:
        """Let go of the folder."""
        self._database.close()
        self._lock.release()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _current(self, rater: str) -> CurrentTask | None:
        self._require_known(rater)
        place = self._places[rater]
        if not place.ahead:
            return None
        ((task, image, words, steps, grounded),) = self._execute(TASK, number=place.number, position=place.ahead[0])
        return CurrentTask(task, image, words, steps_of(steps), grounded)

    def _require_current(self, rater: str, task: str) -> CurrentTask:
        found = self._current(rater)
        if found is not None and found.id == task:
            return found
        if self._execute("SELECT 1 FROM finished WHERE task = :task", task=task):
            raise AnswerError("this task is finished, and its answers stay as they are: go on with the next one")
        raise AnswerError("this is not your current task: go back to your link")

    def _require_known(self, rater: str) -> None:
        if rater not in self._places:
            wrong = f"there is no rater {rater!r} in this study: take rater-1 or another"
            raise AnswerError(truncate(wrong, 200, 100))

    def _is_kept(self, rater: str, **answer: str) -> bool:
        self._require_known(rater)
        return bool(self._execute(KEPT, number=self._places[rater].number, **answer))

    def _answers(self, task: str) -> dict[str, Value]:
        rows = self._execute("SELECT step, value FROM answers WHERE task = :task ORDER BY number", task=task)
        return {step: json.loads(value) for step, value in rows}

    def _rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        with self._one_at_a_time:
            return self._execute(query, **values)

    def _execute(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        try:
            with told(self._folder):
                return self._database.execute(query, values).fetchall()
        except UnicodeEncodeError as error:  # half a character
            raise AnswerError("this is nobody's task or image: go back to your link") from error
        except sqlite3.ProgrammingError as error:
            if "closed database" in str(error):
                raise FormalimgError(f"{self._folder} is closed: open the study again") from error
            raise


def open_study(folder: str | Path) -> Study:
    """A study, opened for taking answers; use it in a `with` statement, or close it.

    Raises:
        LockedError: if another process takes answers for it.
        FormalimgError: if it is no study, or one of another version of formalimg, or its runs are gone.
    """
    return Study(folder)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
