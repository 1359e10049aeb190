"""Storage of a rating study: `ratings.sqlite`, its schema, and the creation of a study folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from formalimg._util.databases import (
    OpenMode,
    UntrustedConnection,
    database_errors,
    open_untrusted,
    readers_mode,
    require_our_schema,
)
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate
from formalimg.human_eval.correction_sample import CorrectionSample, ItemSample
from formalimg.human_eval.manifest import SCHEMA, SCHEMAS, RatedRun, StudyManifest, write_study_manifest
from formalimg.human_eval.protocol import AnswerValue, RatingProtocol, steps_for
from formalimg.human_eval.rules import StudyRules
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import ComplianceRule
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.human_eval.rateable_images import RateableImage

RATINGS_FILE = "ratings.sqlite"
_BUSY_TIMEOUT = 30
"""Seconds to wait for a lock of the database."""
_CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH = 10
_DAMAGED = "the file is damaged: restore it from a copy"


def create_database(folder: Path) -> UntrustedConnection:
    """Create the database of a new study."""
    with rating_errors(folder):
        connection = open_untrusted(folder / RATINGS_FILE, "rwc", timeout=_BUSY_TIMEOUT)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN; {_tables(SCHEMA)} PRAGMA user_version = {SCHEMA}; COMMIT;")
        return connection


def open_for_answers(folder: Path) -> UntrustedConnection:
    """Open the database for answers. Every statement is on disk before it returns, so that no answer is lost."""
    return _opened(folder, "rw", ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"))


def open_for_reading(folder: Path) -> UntrustedConnection:
    """Open the database read-only; raters may go on answering meanwhile."""
    return _opened(folder, readers_mode(folder / RATINGS_FILE), ("PRAGMA query_only = ON",))


def rating_errors(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Turn SQLite errors into user errors."""
    return database_errors(
        folder / RATINGS_FILE,
        full="free some space, then continue; no answer is lost",
        damaged=_DAMAGED,
    )


def _opened(folder: Path, mode: OpenMode, settings: Sequence[str]) -> UntrustedConnection:
    file = folder / RATINGS_FILE
    if not os.path.lexists(file):
        raise FormalimgError(f"{folder} is not a study: it has no {RATINGS_FILE}")
    with rating_errors(folder):
        connection = open_untrusted(file, mode, timeout=_BUSY_TIMEOUT)
        try:
            for setting in settings:
                connection.execute(setting)
            _require_schema(connection, folder)
        except BaseException:
            connection.close()
            raise
        return connection


def _require_schema(connection: UntrustedConnection, folder: Path) -> None:
    file = folder / RATINGS_FILE
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found not in SCHEMAS:
        raise FormalimgError(
            f"{file} has schema {found}, this version of formalimg reads {' and '.join(map(str, SCHEMAS))}: use the "
            "version that made it, or make a new study"
        )
    require_our_schema(connection, file, _tables(found), _DAMAGED)


def _tables(schema: int) -> str:
    name = "schema.sql" if schema == SCHEMA else f"schema-{schema}.sql"
    return (files("formalimg.human_eval") / name).read_text(encoding="utf-8")


def completion_code() -> str:
    """Return a new completion code: short enough to be typed, too long to be guessed, without look-alikes."""
    return "".join(secrets.choice(_CODE_LETTERS) for _ in range(_CODE_LENGTH))


class PlannedTask(NamedTuple):
    """A task of a rater: an image beside the prompt of an item; of another item, if it is an attention check.

    Two images stand side by side, the other one on the right; in an attention check one of them is of another item.
    """

    rater: int
    image: Candidate
    words: Item[object]
    is_check: bool
    other: Candidate | None = None


@dataclass(frozen=True)
class StudyPlan:
    """The content of a new study; see `create_study`. Tasks are in the order in which each rater sees them."""

    protocol: RatingProtocol
    runs: Sequence[StoredRun]
    chosen: Sequence[Candidate]
    images: Mapping[Candidate, RateableImage]
    without_image: Mapping[str, int]
    tasks: Sequence[PlannedTask]
    links: Mapping[str, str]
    per_image: int
    levels: tuple[int, ...]
    per_level: int
    checks: float
    seed: int
    made_with: str
    borderline: bool = False
    correction: CorrectionSample | ItemSample | None = None
    # the answer to each task, where they were given elsewhere and each task has one step; else None
    answers: Sequence[AnswerValue] | None = None
    imported: str = ""  # where they come from, in words; else empty
    instructions: bool = False
    completion_url: str = ""
    rules: StudyRules | None = None
    rule: ComplianceRule | Literal[""] = ""


def write_study(plan: StudyPlan, folder: Path) -> Path:
    """Write a study into a new folder and return the folder."""
    if folder.exists():
        raise FormalimgError(f"{folder} already exists: choose another folder for the study")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    except OSError as error:
        raise FormalimgError(f"cannot create a study in {folder}: {error.strerror}") from error
    try:
        with rating_errors(folder), closing(create_database(partial)) as database:
            database.execute("BEGIN")
            _write_tables(plan, database)
            database.execute("COMMIT")
        write_study_manifest(_manifest(plan, folder), partial)
        partial.rename(folder)
    except OSError as error:
        raise FormalimgError(f"cannot create a study in {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def link_digest(link: str) -> str:
    """Return the digest by which a link is stored. Links are long and random, so they cannot be guessed from it."""
    return hashlib.sha256(link.encode("utf-8", "surrogatepass")).hexdigest()


def images_digest(images: Iterable[tuple[str, int, str]]) -> str:
    """Return the digest of images: item, sample and digest of the bytes of each."""
    lines = [json.dumps(image) for image in sorted(images)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _write_tables(plan: StudyPlan, database: sqlite3.Connection) -> None:
    database.executemany(
        "INSERT INTO raters VALUES (?, ?, ?, ?)",
        [
            (number, name, link_digest(link), completion_code())
            for number, (name, link) in enumerate(plan.links.items(), 1)
        ],
    )
    of_tasks = [image for task in plan.tasks for image in (task.image, task.other) if image is not None]
    shown = list(dict.fromkeys([*sorted(plan.chosen), *of_tasks]))
    ids = write_tasks(database, shown, plan.images, plan.tasks, plan.protocol)
    if plan.answers is not None:
        _write_answers(plan, ids, database)


def write_tasks(
    database: sqlite3.Connection,
    shown: Sequence[Candidate],
    images: Mapping[Candidate, RateableImage],
    tasks: Sequence[PlannedTask],
    protocol: RatingProtocol,
) -> list[str]:
    """Add images and tasks to a study, and return the ids of the tasks; a rater's new tasks come last."""
    tokens = {image: secrets.token_urlsafe(12) for image in shown}
    place = {image: number for number, image in enumerate(images)}
    for image, token in tokens.items():
        it = images[image]
        grounded = None if it.grounded is None else json.dumps(it.grounded, ensure_ascii=False)
        database.execute(
            "INSERT INTO pictures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (token, place[image], image.run, it.item, it.sample, it.level, it.file, it.sha256, grounded),
        )
    asked = {tuple(text): number for number, *text in database.execute("SELECT number, item, words, steps FROM asked")}
    position = dict(database.execute("SELECT rater, max(position) FROM tasks GROUP BY rater").fetchall())
    written: dict[int, str] = {}
    ids: list[str] = []
    for task in tasks:
        if id(task.words) not in written:  # the caller holds on to all items
            steps = [asdict(step) for step in steps_for(task.words, protocol)]
            written[id(task.words)] = json.dumps(steps, ensure_ascii=False)
        text = (task.words.id, task.words.prompt, written[id(task.words)])
        if text not in asked:
            asked[text] = len(asked) + 1
            database.execute("INSERT INTO asked VALUES (?, ?, ?, ?)", (asked[text], *text))
        position[task.rater] = position.get(task.rater, 0) + 1
        own = secrets.token_urlsafe(12)
        database.execute(
            "INSERT INTO tasks (id, rater, position, picture, asked, is_check) VALUES (?, ?, ?, ?, ?, ?)",
            (own, task.rater, position[task.rater], tokens[task.image], asked[text], task.is_check),
        )
        if task.other is not None:
            database.execute("UPDATE tasks SET other = ? WHERE id = ?", (tokens[task.other], own))
        ids.append(own)
    return ids


def _write_answers(plan: StudyPlan, ids: Sequence[str], database: sqlite3.Connection) -> None:
    """Write answers that were given elsewhere: all at the time of writing, because it is not known when."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for own, task, answer in zip(ids, plan.tasks, plan.answers or (), strict=True):
        (step,) = steps_for(task.words, plan.protocol)
        database.execute(
            "INSERT INTO answers (task, step, value, seconds, at) VALUES (?, ?, ?, 0.0, ?)",
            (own, step.name, json.dumps(answer), at),
        )
        database.execute("INSERT INTO finished VALUES (?, ?)", (own, at))


def _manifest(plan: StudyPlan, folder: Path) -> StudyManifest:
    return StudyManifest(
        plan.protocol,
        plan.runs[0].manifest.suite,
        len(plan.links),
        plan.per_image,
        plan.levels,
        plan.per_level,
        plan.checks,
        plan.seed,
        datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        plan.made_with,
        tuple(_rated(plan, run, folder) for run in plan.runs),
        plan.borderline,
        plan.correction,
        plan.imported,
        plan.instructions,
        plan.completion_url,
        plan.rules,
        plan.rule,
    )


def _rated(plan: StudyPlan, run: StoredRun, folder: Path) -> RatedRun:
    name = run.folder.resolve().name
    chosen = [image for image in plan.chosen if image.run == name]
    return RatedRun(
        name,
        _way(folder, run.folder),
        run.manifest.model.name,
        run.manifest.items_digest,
        len(chosen),
        images_digest((it.item, it.sample, plan.images[it].sha256) for it in chosen),
        plan.without_image[name],
    )


def _way(study: Path, run: Path) -> str:
    """Return the path from the study to the run, so that both can be moved together."""
    try:
        return Path(os.path.relpath(run.resolve(), study.resolve())).as_posix()
    except ValueError:  # on another drive
        return run.resolve().as_posix()
