"""The command that installs an extra of formalimg, shared by all messages.

formalimg may be installed from a clone or a wheel instead of a package index. If that source still exists, the command
names it, so that it also works after a `git pull` that added an extra. Otherwise the package name is enough: pip keeps
the installed copy and adds the dependencies of the extra.
"""

from __future__ import annotations

import os
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from formalimg.errors import FormalimgError

PACKAGE = "formalimg"


def install_line(extra: str, *more: str) -> str:
    """Return the command that installs an extra, such as `pip install 'formalimg[openai]'`."""
    return " ".join(["pip install", *_source_arguments(extra), *map(shlex.quote, more)])


def import_pandas() -> Any:
    """Import pandas and return it; raise an error with advice if it is not installed."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise FormalimgError(f"data frames need pandas: {install_line('pandas')}") from error


def _source_arguments(extra: str) -> list[str]:
    """Return the pip arguments: the source clone or wheel of this installation if it exists, else the package name."""
    from urllib.parse import unquote, urlsplit  # here, with what follows, because few commands print this

    origin = _origin()
    url, folder = origin.get("url"), origin.get("dir_info")
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme != "file" or parts.netloc:
        return [shlex.quote(f"{PACKAGE}[{extra}]")]
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.lstrip("/")
    if not (Path(path, "pyproject.toml") if isinstance(folder, dict) else Path(path)).is_file():
        return [shlex.quote(f"{PACKAGE}[{extra}]")]
    location = "." if path.rstrip("/") == os.getcwd() else path.rstrip("/")  # noqa: PTH109  # as the shell has it
    editable = isinstance(folder, dict) and folder.get("editable") is True
    return [*(["-e"] if editable else []), shlex.quote(f"{location}[{extra}]")]


@cache
def _origin() -> dict[str, object]:
    """Return the installation source that the installer recorded (PEP 610); empty if installed by name."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError, OSError):
        return {}
    return record if isinstance(record, dict) else {}
