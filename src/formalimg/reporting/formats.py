"""The formats of reports, and the endings of their files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from formalimg.errors import FormalimgError

Format: TypeAlias = Literal["terminal", "md", "latex", "csv", "json", "html"]

_BY_ENDING: dict[str, Format] = {
    ".html": "html",
    ".md": "md",
    ".tex": "latex",
    ".csv": "csv",
    ".json": "json",
    ".txt": "terminal",
}


def format_of(path: Path) -> Format:
    """The format that the ending of a file asks for.

    Raises:
        FormalimgError: if no format has this ending.
    """
    found = _BY_ENDING.get(path.suffix.lower())
    if found is None:
        endings = ", ".join(_BY_ENDING)
        raise FormalimgError(
            f"cannot tell the format from the name {path.name or path}: end it in {endings}, or give --format"
        )
    return found
