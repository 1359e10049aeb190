"""Report formats and their file suffixes, in a separate module so that the command line starts quickly."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from formalimg.errors import FormalimgError

Format: TypeAlias = Literal["terminal", "md", "latex", "csv", "json", "html"]

_BY_SUFFIX: dict[str, Format] = {
    ".html": "html",
    ".md": "md",
    ".tex": "latex",
    ".csv": "csv",
    ".json": "json",
    ".txt": "terminal",
}


def format_of(path: Path) -> Format:
    """Return the format that belongs to the suffix of a file."""
    report_format = _BY_SUFFIX.get(path.suffix.lower())
    if report_format is None:
        suffixes = ", ".join(_BY_SUFFIX)
        raise FormalimgError(
            f"cannot tell the format from the name {path.name or path}: end it in {suffixes}, or give --format"
        )
    return report_format
