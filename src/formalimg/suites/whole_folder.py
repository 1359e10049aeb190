"""Folders that appear whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from formalimg.errors import FormalimgError


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A new folder to write to, which takes its place when all is written.

    Raises:
        FormalimgError: if the folder already holds something, or cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FormalimgError(f"{folder} already holds something: choose another folder, or empty it")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
            new = Path(made) / "new"
            new.mkdir()
            yield new
            if folder.exists():
                folder.rmdir()
            new.rename(folder)
    except OSError as error:
        raise FormalimgError(f"cannot write {folder}: {error.strerror}") from error


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Make a folder with these texts as files, all of them or none; names may have folders in them.

    Raises:
        FormalimgError: if the folder already holds something, or cannot be written.
    """
    with appearing(folder) as new:
        for name, text in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(text.encode("utf-8"))
