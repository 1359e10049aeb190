"""Writing what was pulled to its folder: all at once, and never over what is not ours."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from formalimg.suites.pulling.errors import PullError
from formalimg.suites.pulling.keeping import Contents, digest

NOTE = "SOURCE.toml"
"""The file beside the data that says what it is and where it comes from."""

_FIRST_LINE = "# Made by `formalimg pull`. The files beside this one are as their authors published them.\n"


def note_text(facts: dict[str, str | int]) -> str:
    """The note, as TOML."""
    return _FIRST_LINE + "".join(
        f"{key} = {_quoted(value) if isinstance(value, str) else value}\n" for key, value in facts.items()
    )


def require_free(folder: Path) -> None:
    """Raise unless a folder is missing, empty, or just as an earlier pull left it."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise PullError(f"{folder} is a file: choose a folder that does not exist yet")
    if not any(folder.iterdir()):
        return
    note = folder / NOTE
    if not note.is_file() or not note.read_bytes().startswith(_FIRST_LINE.encode()):
        raise PullError(f"{folder} is not empty and was not made by pull: choose another folder")
    try:
        recorded = tomllib.loads(note.read_text(encoding="utf-8")).get("digest")
    except ValueError:
        recorded = None
    if recorded != digest(_present(folder)):
        raise PullError(f"{folder} was changed since it was pulled: move it away, or choose another folder")


def place(contents: Contents, note: str, folder: Path, work: Path) -> None:
    """Put files and note into a folder, which appears, or is replaced, in one step."""
    new, old = work / "new", work / "old"
    for name, data in contents.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (new / NOTE).write_bytes(note.encode("utf-8", "replace"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    require_free(folder)  # time has passed since the first look
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise


def _quoted(text: str) -> str:
    """Text in TOML's quotes, which are JSON's but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _present(folder: Path) -> Contents:
    """All files of a folder but the note; links count as changed contents."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            found[name] = b"no plain file"
        elif path.is_file() and name != NOTE:
            found[name] = path.read_bytes()
    return found
