"""All that a run folder holds, but for times and attempts: two runs are the same if this is."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formalimg.runs.config import RunConfig
from formalimg.runs.queries import ImageOutcome
from formalimg.runs.reader import Judged, open_run
from tests.support.models import Speckles, small_items

_COLUMNS = {
    "items": "*",
    "pictures": "item, sample, key, seed, status, detail, file, bytes, sha256, width, height, served",
    "judges": "*",
    "verdicts": "judge, question, picture, item, passed, score, reason, detail, parts, evidence",
}


def order(model: Any = None, items: Any = None, **changes: Any) -> RunConfig:
    """A small order: eight items unless told otherwise, at 64 pixels."""
    return RunConfig(
        small_items(8) if items is None else items, Speckles() if model is None else model, **{"size": 64, **changes}
    )


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query finds in the results of a run."""
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as database:
        return database.execute(query).fetchall()


def outcomes(folder: Path) -> list[ImageOutcome]:
    """How each image fared."""
    with contextlib.closing(open_run(folder)) as run:
        return list(run.outcomes())


def judged(folder: Path) -> list[Judged]:
    """All that is known of each image."""
    with contextlib.closing(open_run(folder)) as run:
        return list(run.judged())


def contents(folder: Path) -> dict[str, Any]:
    """Rows, files and card of a run."""
    found: dict[str, Any] = {
        table: sorted(rows(folder, f"SELECT {columns} FROM {table}"), key=repr) for table, columns in _COLUMNS.items()
    }
    found["files"] = {path.name: path.read_bytes() for path in (folder / "images").iterdir()}
    manifest = (folder / "run.toml").read_text(encoding="utf-8")
    found["card"] = [line for line in manifest.splitlines() if not line.startswith("created")]
    return found


def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
