"""Telling weights apart without reading all of them: checkpoints of the same name are often written over."""

from __future__ import annotations

import hashlib
from pathlib import Path

_WHOLE = 1 << 20
"""Files up to this size are read as a whole."""
_SPOTS, _SPOT = 64, 4096
"""Of larger files, so many spots of so many bytes each, evenly spread, the first and the last included."""


def fingerprint(path: Path) -> str:
    """A short digest of a file, or of all files in a folder, from their names, sizes and some of their bytes.

    Training changes weights everywhere, so that spots of a large file tell as much as the whole, in no time.
    """
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if hidden:  # bookkeeping of download tools and of git, which differs from copy to copy
            continue
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()} {size}\n".encode())
        with file.open("rb") as opened:
            if size <= _WHOLE:
                digest.update(opened.read())
                continue
            for spot in range(_SPOTS):
                opened.seek((size - _SPOT) * spot // (_SPOTS - 1))
                digest.update(opened.read(_SPOT))
    return digest.hexdigest()[:16]
