"""A rating study that takes answers; the only writer of its folder."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from formalimg._util.locks import FolderLock
from formalimg._util.strict_json import (
    MAX_NAME,
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
from formalimg.human_eval.database import link_digest, open_for_answers, rating_errors
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest
from formalimg.human_eval.protocol import (
    AnswerError,
    AnswerValue,
    require_finishable,
    unanswered_steps,
    validate_answer,
    validate_seconds,
    visible_steps,
    why_not_now,
)
from formalimg.human_eval.tasks import (
    AHEAD,
    ANSWER,
    IMAGE,
    KEPT,
    LAST_FINISHED,
    PROGRESS,
    RATERS,
    TASK,
    CurrentTask,
    RaterPosition,
    RaterProgress,
    RatingTask,
    grounder_vocabulary,
    parse_answer,
    parse_grounded,
    parse_steps,
    read_image,
    run_folders,
    stored_time,
    with_other,
)

TAKEN = "is already taking answers, in {holder}: use that one, or stop it"
"""The error message where another process has the study open."""


class Study:
    """A study opened for answers; several raters may answer concurrently, from any thread.

    An answer is on disk when `answer` returns. Raters can pause at any time: they get the same task again, with the
    answers given so far.
    """

    def __init__(self, folder: str | Path) -> None:
        """Open the folder."""
        self._folder = Path(folder)
        self._manifest = read_study_manifest(self._folder)
        self._runs = run_folders(self._folder, self._manifest)
        self._one_at_a_time = threading.Lock()
        self._lock = FolderLock(self._folder, TAKEN)
        try:
            self._database = open_for_answers(self._folder)
            with rating_errors(self._folder):
                self._places = {
                    stored_text(name, "name", MAX_NAME): RaterPosition(stored_integer(number, "number"), of)
                    for name, number, of in self._rows(RATERS)
                }
                for name, position in self._rows(AHEAD):
                    self._places[name].ahead.append(stored_integer(position, "position"))
        except BaseException:
            self._lock.release()
            raise

    @property
    def folder(self) -> Path:
        """Return the folder of the study."""
        return self._folder

    @property
    def manifest(self) -> StudyManifest:
        """Return the settings of the study."""
        return self._manifest

    def rater_of(self, link: str) -> str:
        """Return the pseudonym of the rater whose link has this secret part."""
        found = self._rows("SELECT name FROM raters WHERE link = :link", link=link_digest(link))
        if not found:
            raise AnswerError("this link is unknown: ask whoever sent it for a new one")
        return str(found[0][0])

    def new_link(self, rater: str) -> str:
        """Create a new link for a rater and return its secret part; the old one stops working."""
        link = secrets.token_urlsafe(24)
        with self._one_at_a_time:
            self._require_known(rater)
            self._execute("UPDATE raters SET link = :link WHERE name = :rater", link=link_digest(link), rater=rater)
        return link

    def next_task(self, rater: str) -> RatingTask | None:
        """Return the current task of a rater; None if all are finished."""
        with self._one_at_a_time:
            task = self._current(rater)
            if task is None:
                return None
            place = self._places[rater]
            answers = self._answers(task.id)
            with rating_errors(self._folder):
                seen = parse_grounded(task.grounded)
            return RatingTask(
                task.id,
                task.image,
                task.words,
                visible_steps(task.steps, answers),
                answers,
                not unanswered_steps(task.steps, answers),
                place.finished + (place.back is None),
                place.of,
                seen,
                task.other,
                can_go_back=bool(place.finished) and place.back is None,
                is_back=place.back is not None,
            )

    def answer(self, rater: str, task: str, step: str, value: object, seconds: float, key: str | None = None) -> None:
        """Store an answer; earlier answers to the same step are kept in the history, the last one counts."""
        with self._one_at_a_time:
            if key is not None and self._is_kept(rater, task=task, step=step, key=key):
                return
            current = self._require_current(rater, task)
            times = self._execute("SELECT count(*) FROM answers WHERE task = :task", task=task)[0][0]
            wrong = why_not_now(current.steps, self._answers(task), step, times)
            if wrong:
                raise AnswerError(truncate(wrong, 200, 100))
            question = next(it for it in current.steps if it.name == step)
            stored = validate_answer(question, value, self._manifest.suite, grounder_vocabulary(current.grounded))
            self._execute(
                ANSWER,
                task=task,
                step=step,
                value=json.dumps(stored, ensure_ascii=False, allow_nan=False),
                seconds=validate_seconds(seconds),
                at=_now(),
                key=key,
            )

    def finish(self, rater: str, task: str, seen: Mapping[str, object] | None = None) -> None:
        """Finish the current task of a rater, and the next task follows; its answers become final with the next one.

        If `seen` is given, the answers on the rater's screen must be the stored ones.
        """
        with self._one_at_a_time:
            current = self._require_current(rater, task)
            require_finishable(current.steps, self._answers(task), seen or {})
            place = self._places[rater]
            if place.back is not None:
                place.back = None
                return
            self._execute("INSERT INTO finished VALUES (:task, :at)", task=task, at=_now())
            place.ahead.popleft()

    def go_back(self, rater: str, task: str | None = None) -> None:
        """Make the image that the rater finished last the current one again, to correct its answers.

        Only this one: what was finished before it is final. Corrected answers are added to the history, the last one
        counts. `finish` leads on again.
        """
        with self._one_at_a_time:
            current = self._current(rater)
            place = self._places[rater]
            if (current.id if current else None) != task or place.back is not None:
                raise AnswerError("this is not your current task: go back to your link")
            found = self._execute(LAST_FINISHED, number=place.number)
            if not found:
                raise AnswerError("this is your first image: there is none before it")
            place.back = stored_integer(found[0][0], "position")

    def has_started(self, rater: str) -> bool:
        """Return whether a rater has been through the instructions; true where a study has none."""
        if not self._manifest.instructions:
            return True
        self._require_known(rater)
        number = self._places[rater].number
        return bool(self._rows("SELECT 1 FROM started WHERE rater = :number", number=number))

    def start(self, rater: str) -> None:
        """Record that a rater has read the instructions and practised."""
        if self.has_started(rater):
            return
        number = self._places[rater].number
        self._rows("INSERT OR IGNORE INTO started VALUES (:number, :at)", number=number, at=_now())

    def completion_code(self, rater: str) -> str:
        """Return the completion code of a rater who has finished all tasks; empty before, and in older studies."""
        self._require_known(rater)
        return "" if self._places[rater].ahead else self.completion_codes().get(rater, "")

    def completion_codes(self) -> dict[str, str]:
        """Return the completion code of each rater, for the organiser; none in older studies."""
        if self._manifest.schema == 1:
            return {}
        with rating_errors(self._folder):
            rows = self._rows("SELECT name, code FROM raters ORDER BY number")
            return {name: stored_text(code, "code", MAX_NAME) for name, code in rows}

    def put_off(self, rater: str, task: str) -> None:
        """Postpone the current task because its image cannot be shown: it comes again after the others.

        Answers are kept. When the study is opened again, all tasks come in their original order.
        """
        with self._one_at_a_time:
            self._require_current(rater, task)
            if self._places[rater].back is not None:
                raise AnswerError("this image is finished already: go on with the next one")
            ahead = self._places[rater].ahead
            if len(ahead) == 1:
                raise AnswerError("this is the only image left: come back when it can be shown")
            ahead.rotate(-1)

    def image(self, rater: str, token: str) -> bytes:
        """Return the file of an image as the image model returned it."""
        self._require_known(rater)
        found = self._rows(with_other(IMAGE, self._manifest.schema), number=self._places[rater].number, token=token)
        if not found:
            raise AnswerError("this image is not among yours: go back to your link")
        with rating_errors(self._folder):
            run, file, sha256 = found[0]
            folder, _, name = stored_text(file, "file", MAX_NAME).partition("/")
            if run not in self._runs or folder != "images":
                raise wrong_value("run, file", (run, file))
            place = self._runs[run] / folder / stored_file_name(name, "file")
            stored_digest(sha256, "sha256")
        return read_image(place, sha256)

    def progress(self) -> tuple[RaterProgress, ...]:
        """Return the progress of each rater."""
        with rating_errors(self._folder):
            return tuple(_progress(*row) for row in self._rows(PROGRESS))

    def close(self) -> None:
        """Close the database and release the folder."""
        self._database.close()
        self._lock.release()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _current(self, rater: str) -> CurrentTask | None:
        self._require_known(rater)
        place = self._places[rater]
        if not place.ahead and place.back is None:
            return None
        position = place.ahead[0] if place.back is None else place.back
        with rating_errors(self._folder):
            found = self._execute(with_other(TASK, self._manifest.schema), number=place.number, position=position)
            if len(found) != 1:
                raise StoredValueError(f"task {position} of rater {place.number} lacks its image or its words")
            task, image, other, words, steps, grounded = found[0]
            parse_grounded(grounded)
            return CurrentTask(
                stored_text(task, "id", MAX_NAME),
                stored_text(image, "picture", MAX_NAME),
                None if other is None else stored_text(other, "other", MAX_NAME),
                stored_text(words, "words"),
                parse_steps(stored_text(steps, "steps")),
                grounded,
            )

    def _require_current(self, rater: str, task: str) -> CurrentTask:
        found = self._current(rater)
        if found is not None and found.id == task:
            return found
        if self._execute("SELECT 1 FROM finished WHERE task = :task", task=task):
            raise AnswerError("this task is finished and its answers are final: go on with the next one")
        raise AnswerError("this is not your current task: go back to your link")

    def _require_known(self, rater: str) -> None:
        if rater not in self._places:
            wrong = f"unknown rater {rater!r}: this study has rater-1 and so on"
            raise AnswerError(truncate(wrong, 200, 100))

    def _is_kept(self, rater: str, **answer: str) -> bool:
        self._require_known(rater)
        return bool(self._execute(KEPT, number=self._places[rater].number, **answer))

    def _answers(self, task: str) -> dict[str, AnswerValue]:
        with rating_errors(self._folder):
            rows = self._execute("SELECT step, value FROM answers WHERE task = :task ORDER BY number", task=task)
            return {stored_text(step, "step", MAX_NAME): parse_answer(value) for step, value in rows}

    def _rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        with self._one_at_a_time:
            return self._execute(query, **values)

    def _execute(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        try:
            with rating_errors(self._folder):
                return self._database.execute(query, values).fetchall()
        except UnicodeEncodeError as error:  # a lone surrogate
            raise AnswerError("unknown task or image: go back to your link") from error
        except sqlite3.ProgrammingError as error:
            if "closed database" in str(error):
                raise FormalimgError(f"{self._folder} is closed: open the study again") from error
            raise


def open_study(folder: str | Path) -> Study:
    """Open a study for answers; use it in a `with` statement, or close it.

    Raises:
        LockedError: if another process takes its answers.
        FormalimgError: if it is not a study, of another version of formalimg, or its runs are missing.
    """
    return Study(folder)


def _progress(rater: object, finished: int, of: int, seconds: object, last: object) -> RaterProgress:
    spent = stored_number(seconds, "seconds")
    return RaterProgress(stored_text(rater, "name", MAX_NAME), finished, of, spent, stored_time(last) if last else "")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
