"""Edits that make a run folder hostile or damaged: what a folder of somebody else may hold.

Each takes the run folder, a folder outside of it that must stay as it is, and a source of chance.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Edit: TypeAlias = Callable[[Path, Path, random.Random], None]

_TEXTS = ("", "../../outside/photo.png", "/etc/passwd", "x" * 100_000, "[" * 50_000, '{"a": NaN}', "\x1b]0;title\x07")


def snapshot(folder: Path) -> dict[str, str]:
    """Return a digest of every file of a folder, by name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def overwritten_bytes(folder: Path, outside: Path, rng: random.Random) -> None:
    """Overwrite some bytes of a file."""
    path = _file(folder, rng)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 8, 200])):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)


def truncated_file(folder: Path, outside: Path, rng: random.Random) -> None:
    """Cut off the end of a file, or all of it."""
    path = _file(folder, rng)
    data = path.read_bytes()
    path.write_bytes(data[: rng.choice([0, 1, 100, len(data) // 2, max(len(data) - 7, 0)])])


def removed_file(folder: Path, outside: Path, rng: random.Random) -> None:
    """Remove a file."""
    _file(folder, rng).unlink()


def swapped_pages(folder: Path, outside: Path, rng: random.Random) -> None:
    """Exchange two pages of the database."""
    path = folder / "results.sqlite"
    data = path.read_bytes()
    pages = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    if len(pages) > 2:
        first, second = rng.sample(range(1, len(pages)), 2)
        pages[first], pages[second] = pages[second], pages[first]
    path.write_bytes(b"".join(pages))


def wrong_cell(folder: Path, outside: Path, rng: random.Random) -> None:
    """Set a column of a table to a value of another type, size or shape."""
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite", isolation_level=None)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice(tables)
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        values = (None, -1, 2**62, 1e300, b"\xff\xfe", *_TEXTS)
        where = rng.choice(["", " WHERE rowid = 1"])
        database.execute(f"UPDATE {table} SET {rng.choice(columns)} = ?{where}", (rng.choice(values),))


def foreign_schema(folder: Path, outside: Path, rng: random.Random) -> None:
    """Add a view, a trigger or an index of expressions, or put an endless view in the place of a table."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    statements = (
        "CREATE VIEW extra AS SELECT * FROM pictures",
        "CREATE TRIGGER more AFTER UPDATE ON pictures BEGIN DELETE FROM verdicts; END",
        "CREATE INDEX odd ON pictures (lower(file))",
        f"DROP TABLE judges; CREATE VIEW judges AS {endless}",
        f"DROP TABLE pictures; CREATE VIEW pictures AS SELECT i AS item, i AS sample FROM ({endless})",
        "DROP TABLE verdicts",
        "ALTER TABLE items ADD COLUMN more TEXT",
    )
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite", isolation_level=None)) as database:
        database.executescript(rng.choice(statements))


def images_elsewhere(folder: Path, outside: Path, rng: random.Random) -> None:
    """Name a folder outside as the place of the images."""
    manifest = folder / "run.toml"
    text = manifest.read_text(encoding="utf-8")
    head, _, tail = text.partition("\n[")
    place = rng.choice([outside.as_uri(), f"{outside.as_uri()}/..", "memory://x", "s3://nobody/x", "/etc"])
    manifest.write_text(f'{head}\nimages = "{place}"\n\n[{tail}', encoding="utf-8")


def strange_manifest(folder: Path, outside: Path, rng: random.Random) -> None:
    """Write nested, huge or mistyped values to the manifest."""
    manifest = folder / "run.toml"
    text = manifest.read_text(encoding="utf-8")
    added = rng.choice(
        [
            "deep = " + "[" * 5000 + "]" * 5000,
            "huge = " + "9" * 6000,
            'samples = "many"',
            "seed = 99999999999999999999999999",
            "created = 2026-01-01",
            "x = '" + "y" * 2_000_000 + "'",
        ]
    )
    key = added.partition(" ")[0]
    kept = [line for line in text.splitlines() if not line.startswith(f"{key} =")]
    manifest.write_text("\n".join([kept[0], added, *kept[1:], ""]), encoding="utf-8")


def link_in_place(folder: Path, outside: Path, rng: random.Random) -> None:
    """Put a link to something outside, to nothing or to itself in the place of a file or folder of the run."""
    path = folder / rng.choice(["lock", "run.toml", "results.sqlite", "images", "images/metadata.jsonl", "image"])
    if path.name == "image":
        path = rng.choice(sorted((folder / "images").glob("*.png")))
    _remove(path)
    path.symlink_to(rng.choice([outside, outside / "authorized_keys", outside / "missing", path]))


def pipe_in_place(folder: Path, outside: Path, rng: random.Random) -> None:
    """Put a named pipe or a folder in the place of a file of the run."""
    path = folder / rng.choice(["lock", "run.toml", "results.sqlite", "images/metadata.jsonl", "images"])
    _remove(path)
    if rng.random() < 0.5:
        os.mkfifo(path)
    else:
        path.mkdir()


EDITS: tuple[Edit, ...] = (
    overwritten_bytes,
    truncated_file,
    removed_file,
    swapped_pages,
    wrong_cell,
    foreign_schema,
    images_elsewhere,
    strange_manifest,
    link_in_place,
    pipe_in_place,
)


def _file(folder: Path, rng: random.Random) -> Path:
    """Return a file of the run, the database in half of all cases."""
    names = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    database = folder / "results.sqlite"
    return database if database in names and rng.random() < 0.5 else rng.choice(names)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
