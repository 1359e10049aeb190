"""Storage of a rating study: access to `ratings.sqlite`, validation of its values, and creation of study folders."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from formalimg._util.databases import (
    OpenMode,
    UntrustedConnection,
    database_errors,
    open_untrusted,
    readers_mode,
    require_our_schema,
)
from formalimg._util.strict_json import MAX_NAME, stored_json, stored_number, stored_text, wrong_value
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.assignment import Candidate, PlannedTask
from formalimg.human_eval.manifest import SCHEMA, SCHEMAS, RatedRun, StudyManifest, write_study_manifest
from formalimg.human_eval.protocol import PREFERENCES, AnswerValue, RatingProtocol, RatingStep, steps_for
from formalimg.runs.reader import StoredRun
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene

RATINGS_FILE = "ratings.sqlite"
_BUSY_TIMEOUT = 30  # Seconds to wait for a lock of the database
_CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH = 10
_DAMAGED = "the file is damaged: restore it from a copy"
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", re.ASCII)


class RateableImage(NamedTuple):
    """An image of a run that can be rated."""

    item: str  # identify it
    sample: int
    level: int
    file: str  # its path inside the run folder, with slashes
    sha256: str  # the digest of its bytes
    grounded: dict[str, object] | None  # the scene that the judge found, in the grounding format; None if not needed
    score: float | None = None  # the score that the last judge gave; None if unscored
    passed: bool | None = None  # its answer; None if unscored


def open_for_answers(folder: Path) -> UntrustedConnection:
    """Open the database for answers, writing every statement to disk before it returns so that no answer is lost."""
    return _open_database(folder, "rw", ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"))


def open_for_reading(folder: Path) -> UntrustedConnection:
    """Open the database read-only, without blocking raters who are still answering."""
    return _open_database(folder, readers_mode(folder / RATINGS_FILE), ("PRAGMA query_only = ON",))


def rating_errors(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Convert SQLite errors to user errors."""
    full = "free some space, then continue; no answer is lost"
    return database_errors(folder / RATINGS_FILE, full=full, damaged=_DAMAGED)


def _open_database(folder: Path, mode: OpenMode, settings: Sequence[str]) -> UntrustedConnection:
    file = folder / RATINGS_FILE
    if not os.path.lexists(file):
        raise FormalimgError(f"{folder} is not a study: it has no {RATINGS_FILE}")
    with rating_errors(folder), contextlib.ExitStack() as on_error:
        connection = open_untrusted(file, mode, timeout=_BUSY_TIMEOUT)
        on_error.callback(connection.close)
        for setting in settings:
            connection.execute(setting)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in SCHEMAS:
            raise FormalimgError(
                f"{file} has schema {version}, this version of formalimg reads {' and '.join(map(str, SCHEMAS))}: use "
                "the version that made it, or make a new study"
            )
        require_our_schema(connection, file, _read_schema(version), _DAMAGED)
        on_error.pop_all()
        return connection


@cache
def _read_schema(version: int) -> str:
    name = "schema.sql" if version == SCHEMA else f"schema-{version}.sql"
    return (files("formalimg.human_eval") / name).read_text(encoding="utf-8")


def adapt_query(query: str, schema: int) -> str:
    """Adapt a query to a database schema; schema 1 has no second image."""
    return query if schema > 1 else query.replace("tasks.other", "NULL")


def current_time() -> str:
    """Return the current UTC time in the stored format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@lru_cache(4096)
def parse_steps(text: str) -> tuple[RatingStep, ...]:
    """Parse the steps of a task from JSON."""
    try:
        steps = _steps_type().validate_json(text, strict=True)
    except ValidationError:
        raise wrong_value("steps", text) from None
    if not steps or len({step.name for step in steps}) < len(steps):
        raise wrong_value("steps", text)
    return steps


@cache
def _steps_type() -> TypeAdapter[tuple[RatingStep, ...]]:
    return TypeAdapter(tuple[RatingStep, ...])


def parse_answer(text: object) -> AnswerValue:
    """Parse an answer from JSON."""
    value = stored_json(text, "value", object)
    if isinstance(value, bool | dict) or value == CANNOT_TELL or value in PREFERENCES:
        return value
    return stored_number(value, "value", 0, 5)


def parse_scene(text: object) -> dict[str, Any] | None:
    """Parse the scene detected by a grounder from JSON; None if there is none."""
    if text is None:
        return None
    table: dict[str, Any] = stored_json(text, "grounded", dict)
    try:
        Scene.from_json(table)
    except SceneError:
        raise wrong_value("grounded", table) from None
    return table


def stored_name(value: object, column: str) -> str:
    """Validate and return a name stored in the database."""
    return stored_text(value, column, MAX_NAME)


def stored_time(text: object) -> str:
    """Validate and return a UTC time stored in the database."""
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise wrong_value("at", text)
    return text


def link_digest(link: str) -> str:
    """Return the digest stored in place of a link; links are long and random, so it cannot be reversed by guessing."""
    return hashlib.sha256(link.encode("utf-8", "surrogatepass")).hexdigest()


def images_digest(images: Iterable[tuple[str, int, str]]) -> str:
    """Return a digest over images, given the item, sample and file digest of each."""
    return hashlib.sha256("\n".join(json.dumps(image) for image in sorted(images)).encode()).hexdigest()


def describe_run(
    run: StoredRun, study: Path, images: Mapping[Candidate, RateableImage], chosen: Sequence[Candidate], missing: int
) -> RatedRun:
    """Return the manifest entry of a run."""
    folder, name = run.folder.resolve(), run.folder.resolve().name
    with contextlib.suppress(ValueError):  # on another drive
        folder = Path(os.path.relpath(folder, study.resolve()))  # so that both can be moved together
    rated = [(image.item, image.sample, images[image].sha256) for image in chosen if image.run == name]
    identity = (run.manifest.model.name, run.manifest.items_digest)
    return RatedRun(name, folder.as_posix(), *identity, len(rated), images_digest(rated), missing)


def write_study(
    folder: Path,
    manifest: StudyManifest,
    images: Mapping[Candidate, RateableImage],
    chosen: Sequence[Candidate],
    tasks: Sequence[PlannedTask],
    answers: Sequence[AnswerValue] = (),
) -> dict[str, str]:
    """Write a study to a new folder and return the secret part of each rater's link.

    Tasks are in the order in which each rater sees them. Answers, if any, were given elsewhere, one to each task, which
    then has a single step. They are stored with the time of writing.
    """
    if folder.exists():
        raise FormalimgError(f"{folder} already exists: choose another folder for the study")
    links = {f"rater-{number}": secrets.token_urlsafe(24) for number in range(1, manifest.raters + 1)}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
        try:
            with (
                rating_errors(folder),
                closing(open_untrusted(partial / RATINGS_FILE, "rwc", timeout=_BUSY_TIMEOUT)) as database,
            ):
                database.execute("PRAGMA journal_mode = WAL")
                database.executescript(f"BEGIN; {_read_schema(SCHEMA)} PRAGMA user_version = {SCHEMA}; COMMIT;")
                database.execute("BEGIN")
                for number, (name, link) in enumerate(links.items(), 1):
                    # Short enough to be typed, too long to be guessed, without look-alikes.
                    code = "".join(secrets.choice(_CODE_LETTERS) for _ in range(_CODE_LENGTH))
                    database.execute("INSERT INTO raters VALUES (?, ?, ?, ?)", (number, name, link_digest(link), code))
                of_tasks = [image for task in tasks for image in (task.image, task.other) if image is not None]
                ids = write_tasks(database, [*sorted(chosen), *of_tasks], images, tasks, manifest.protocol)
                for id_, task, answer in zip(ids, tasks, answers, strict=True) if answers else ():
                    (step,) = steps_for(task.words, manifest.protocol)
                    row = (id_, step.name, json.dumps(answer), current_time())
                    insert = "INSERT INTO answers (task, step, value, seconds, at) VALUES (?, ?, ?, 0.0, ?)"
                    database.execute(insert, row)
                    database.execute("INSERT INTO finished VALUES (?, ?)", (id_, row[-1]))
                database.execute("COMMIT")
            write_study_manifest(manifest, partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise FormalimgError(f"cannot create a study in {folder}: {error.strerror}") from error
    return links


def write_tasks(
    database: sqlite3.Connection,
    new_images: Sequence[Candidate],
    images: Mapping[Candidate, RateableImage],
    tasks: Sequence[PlannedTask],
    protocol: RatingProtocol,
) -> list[str]:
    """Add images and tasks to a study, and return the task ids; new tasks come last for each rater."""
    tokens = {image: secrets.token_urlsafe(12) for image in dict.fromkeys(new_images)}
    image_positions = {image: number for number, image in enumerate(images)}
    for image, token in tokens.items():
        source = images[image]
        grounded = None if source.grounded is None else json.dumps(source.grounded, ensure_ascii=False)
        source_row = (image.run, source.item, source.sample, source.level, source.file, source.sha256)
        database.execute(
            "INSERT INTO pictures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (token, image_positions[image], *source_row, grounded),
        )
    texts = {tuple(text): number for number, *text in database.execute("SELECT number, item, words, steps FROM asked")}
    positions = dict(database.execute("SELECT rater, max(position) FROM tasks GROUP BY rater").fetchall())
    steps_of_items: dict[int, str] = {}
    ids: list[str] = []
    for task in tasks:
        if id(task.words) not in steps_of_items:  # the caller holds on to all items
            steps = [asdict(step) for step in steps_for(task.words, protocol)]
            steps_of_items[id(task.words)] = json.dumps(steps, ensure_ascii=False)
        text = (task.words.id, task.words.prompt, steps_of_items[id(task.words)])
        if text not in texts:
            texts[text] = len(texts) + 1
            database.execute("INSERT INTO asked VALUES (?, ?, ?, ?)", (texts[text], *text))
        positions[task.rater] = positions.get(task.rater, 0) + 1
        ids.append(secrets.token_urlsafe(12))
        row = (ids[-1], task.rater, positions[task.rater], tokens[task.image], texts[text], task.is_check)
        database.execute(
            "INSERT INTO tasks (id, rater, position, picture, asked, is_check) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        if task.other is not None:  # studies of schema 1 have no such column
            database.execute("UPDATE tasks SET other = ? WHERE id = ?", (tokens[task.other], ids[-1]))
    return ids
