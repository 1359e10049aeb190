"""Creation, validation and archiving of the run folder."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from formalimg._util.io import PARTIAL_SUFFIX, atomic_write, kind_of_special, open_plain, read_plain_bytes
from formalimg._util.locks import LOCK_FILE, FolderLock
from formalimg._util.strict_json import loads_strict
from formalimg.errors import FormalimgError
from formalimg.runs.image_store import IMAGES, METADATA

_MANIFEST, _RESULTS = "run.toml", "results.sqlite"
REWRITES = "rewrites.jsonl"  # The file with rewritten prompts
PREFLIGHT = "preflight.jsonl"  # The file with what was found about judges before anything was asked of them
LOOKS = "looks.jsonl"  # The file with the looks of an adaptive run
GATE_LOOKS = "gate.jsonl"  # The file with the looks of gates in which the run is the new one
RESTARTS = "restarts.jsonl"  # The file with the adaptive runs that were here before, and were set aside
_MAX_TRACE_BYTES = 10_000_000
_FILES = (
    _MANIFEST,
    _RESULTS,
    *(f"{_RESULTS}{suffix}" for suffix in ("-wal", "-shm", "-journal")),
    LOCK_FILE,
    f"{IMAGES}/{METADATA}",
    REWRITES,
    PREFLIGHT,
    LOOKS,
    GATE_LOOKS,
    RESTARTS,
)


def create_run_folder(folder: Path) -> None:
    """Create the run folder and its `images` subfolder."""
    require_plain_run_files(folder)
    refuse_foreign_images(folder)
    try:
        (folder / IMAGES).mkdir(parents=True, exist_ok=True)
        if not os.access(folder / IMAGES, os.W_OK):
            raise PermissionError(13, "no permission to write", str(folder))
    except OSError as error:
        raise FormalimgError(f"cannot make the run folder {folder}: {error.strerror}") from error


def require_plain_run_files(folder: Path) -> None:
    """Raise an error if any file in a run folder is a link, pipe or device.

    A run folder may come from anywhere, and such a file would let it choose what is read and overwritten elsewhere.
    """
    kind = kind_of_special(folder / IMAGES)
    if kind not in ("", "a folder"):
        raise FormalimgError(
            f"{folder / IMAGES} is {kind}: put a folder in its place, with the images themselves in it"
        )
    for name in _FILES:
        kind = kind_of_special(folder / name)
        if kind:
            raise FormalimgError(
                f"{folder / name} is {kind}, and a run holds plain files only: remove it, or put the file itself there"
            )


def refuse_foreign_images(folder: Path) -> None:
    """Raise an error if `images` contains files but the folder is not a run, since they would be overwritten."""
    is_run = (folder / _MANIFEST).exists() or _file_size(folder / _RESULTS) > 0
    if not is_run and (folder / IMAGES).is_dir() and any((folder / IMAGES).iterdir()):
        raise FormalimgError(f"{folder} is not a run, and its {IMAGES} holds files: choose another folder for the run")


def require_results(folder: Path) -> None:
    """Raise an error if the results of a run are lost, since everything would be generated and paid for again."""
    if (folder / _MANIFEST).exists() and _file_size(folder / _RESULTS) == 0:
        raise lost_results(folder, "is empty" if (folder / _RESULTS).exists() else "is missing")


def lost_results(folder: Path, problem: str) -> FormalimgError:
    """Build the error for a run whose results are lost."""
    return FormalimgError(
        f"{folder} has lost its results: {_RESULTS} {problem}; restore it, or give `run` the option --restart, which "
        "moves the old files aside and starts over"
    )


def remove_partial_files(folder: Path) -> None:
    """Remove partially written files left behind by a killed process."""
    for path in (*folder.glob(f".*{PARTIAL_SUFFIX}"), *(folder / IMAGES).glob(f".*{PARTIAL_SUFFIX}")):
        with contextlib.suppress(OSError):  # a folder of such a name is none of ours
            path.unlink()


def set_aside(folder: Path) -> Path | None:
    """Move the content of a run folder to a sibling folder named `NAME.old-<UTC time>`, for a fresh start."""
    try:
        real = folder.resolve(strict=True)  # the folder may be reached through a link, which stays
        present = {path.name for path in real.iterdir()}
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        raise FormalimgError(f"cannot set {folder} aside: {getattr(error, 'strerror', None) or error}") from error
    if not present:
        return None
    if present & {RESTARTS} and not present - {RESTARTS, LOCK_FILE, IMAGES}:
        return None  # what was restarted has not begun
    if not present & {_MANIFEST, _RESULTS}:
        raise FormalimgError(f"{folder} is not a run, so it is not set aside: leave --restart out")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    lock = FolderLock(folder)
    names = (f"{real.name}.old-{stamp}{ending}" for ending in ("", *(f"-{number}" for number in range(2, 100))))
    target = next(path for path in map(real.with_name, names) if not path.exists())
    try:
        trace = _build_restart_trace(real, target.name)
        real.rename(target)
        real.mkdir()
        if trace:
            atomic_write(real / RESTARTS, [trace])
        return target
    except OSError as error:
        raise FormalimgError(f"cannot set {folder} aside: {error.strerror}; move it yourself") from error
    finally:
        lock.release()


def _build_restart_trace(folder: Path, moved_to: str) -> bytes:
    try:
        earlier = read_plain_bytes(folder / RESTARTS, _MAX_TRACE_BYTES)
    except OSError:
        earlier = b""
    try:
        # One line is the design. Lines are not parsed here: a damaged file has been looked at as well.
        looks = sum(bool(line.strip()) for line in read_plain_bytes(folder / LOOKS, _MAX_TRACE_BYTES).splitlines()) - 1
    except OSError:
        looks = 0
    if looks < 1:
        return earlier
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = json.dumps({"at": at, "looks": looks, "moved_to": moved_to}, ensure_ascii=False)
    return earlier + f"{line}\n".encode()


def read_journal(path: Path, max_bytes: int | None = None) -> list[dict[str, Any]]:
    """Read the JSON objects of a JSON Lines file, skipping invalid lines such as truncated ones."""
    records = []
    try:
        with open(path, "rb", opener=open_plain) as file:
            for line in file if max_bytes is None else file.read(max_bytes).splitlines():
                with contextlib.suppress(ValueError, RecursionError):
                    records.append(loads_strict(line))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    return [record for record in records if isinstance(record, dict)]


def append_to_journal(path: Path, lines: bytes) -> None:
    """Append lines to a journal file and sync it to disk."""
    try:
        with open(path, "ab", opener=open_plain) as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FormalimgError(
            f"cannot write {path}: {error.strerror}; free some disk space, then rerun the same command"
        ) from error


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
