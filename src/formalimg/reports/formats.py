"""The formats of reports, and their file suffixes. A module of its own: the command line imports it at start-up."""

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
    """Return the format for the suffix of a file."""
    report_format = _BY_SUFFIX.get(path.suffix.lower())
    if report_format is None:
        suffixes = ", ".join(_BY_SUFFIX)
        raise FormalimgError(
            f"cannot tell the format from the name {path.name or path}: end it in {suffixes}, or give --format"
        )
    return report_format
