"""The folder of an export, with a file list so that the next export replaces only its own files."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError

MANIFEST = "export.json"  # The list of the files of an export, with their digests
_FORMAT = "formalimg-export"
_OWN_PATH = re.compile(r"[a-z0-9_-]+(/[a-z0-9_-]+)*\.[a-z]+")
"""What paths of an export look like: nothing of it leads out of the folder."""


class ExportFolder:
    """A folder for an export, in which files written by anything else are never removed."""

    def __init__(self, folder: Path, *, force: bool = False) -> None:
        """Open an export folder, which is created with the first file."""
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise FormalimgError(f"{folder} is not a folder: export to a new one")
        self._before = _read_manifest(folder)
        if self._before is None and not force and folder.exists() and any(folder.iterdir()):
            raise FormalimgError(
                f"{folder} is not empty, and no export of the viewer: name another folder, or give --force"
            )
        self._written: dict[str, str] = {}
        self._ready: set[Path] = set()

    def __contains__(self, path: str) -> bool:
        return path in self._written

    def __len__(self) -> int:
        return len(self._written)

    def write(self, path: str, data: bytes) -> None:
        """Write a file."""
        atomic_write(self._target(path), [data])
        self._written[path] = _digest(data)

    def write_same(self, path: str, data: bytes, source: str | os.PathLike[str]) -> None:
        """Write a copy of an existing file, as a hard link where the disk supports it."""
        target = self._target(path)
        try:
            target.unlink(missing_ok=True)
            os.link(source, target, follow_symlinks=False)
        except OSError:
            self.write(path, data)
        else:
            self._written[path] = _digest(data)

    def _target(self, path: str) -> Path:
        """Return the full path of a file and create its parent folder."""
        target = self.folder / path
        if target.parent in self._ready:
            return target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FormalimgError(f"cannot write {target}: {error.strerror}") from error
        if target.parent.resolve() != (self.folder.resolve() / path).parent:
            raise FormalimgError(f"{target.parent} is reached through a link: remove it, or export to a new folder")
        self._ready.add(target.parent)
        return target

    def finish(self) -> None:
        """Remove files of an earlier export that were not written again, and write the file list."""
        for path, digest in (self._before or {}).items():
            if path not in self._written:
                _remove_own(self.folder, path, digest)
        listed = json.dumps({"format": _FORMAT, "files": dict(sorted(self._written.items()))}, indent=1)
        atomic_write(self.folder / MANIFEST, [listed.encode(), b"\n"])


def _read_manifest(folder: Path) -> dict[str, str] | None:
    """Return the files of an earlier export, or None if there is none."""
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("format") != _FORMAT or not isinstance(found.get("files"), dict):
        return None
    return {str(path): str(digest) for path, digest in found["files"].items()}


def _remove_own(folder: Path, path: str, digest: str) -> None:
    """Remove a file of an earlier export unless it was modified, and its folder if that becomes empty."""
    target = folder / path
    if not _OWN_PATH.fullmatch(path) or target.is_symlink() or not target.is_file():
        return
    if not target.resolve().is_relative_to(folder.resolve()) or _digest(target.read_bytes()) != digest:
        return
    target.unlink()
    for parent in target.parents:
        if parent == folder or any(parent.iterdir()):
            return
        parent.rmdir()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
