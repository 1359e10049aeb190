"""Where imported data comes from, in words: the mark that runs, studies and captions carry."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from formalimg._util.io import refuse_special_file
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError

_SHOWN_DIGITS = 12


def describe_source(path: Path) -> str:
    """Return the name of a file, its digest and today's date: `mplug.csv (sha256 0123456789ab), 2026-01-31`."""
    return f"{file_mark(path)}, {datetime.now(UTC):%Y-%m-%d}"


def file_mark(path: Path) -> str:
    """Return the name of a file and the first digits of its digest, which are enough to tell files apart."""
    name = truncate(path.name, 80, 20).replace(";", "_")
    try:
        refuse_special_file(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror or error}: check the path") from error
    return f"{name} (sha256 {digest[:_SHOWN_DIGITS]})"
