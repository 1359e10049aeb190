"""The last line of a command about runs: what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from formalimg.cli.streams import echo


def print_next(words: str, folders: Sequence[Path], options: str = "") -> None:
    """Print the command that goes on with these runs, such as `next: formalimg report runs/* --details`.

    Args:
        words: the command, such as `report`.
        folders: the run folders.
        options: what follows them.
    """
    echo(f"next: {' '.join(filter(None, ['formalimg', words, _in_short(folders), options]))}")


def _in_short(folders: Sequence[Path]) -> str:
    """Return folders as arguments; with a wildcard where they are all that a folder contains."""
    (parent, *others) = dict.fromkeys(folder.parent for folder in folders)
    if len(folders) > 1 and not others and {path for path in parent.iterdir() if path.is_dir()} == set(folders):
        return f"{shlex.quote(str(parent))}/*"
    return shlex.join(map(str, dict.fromkeys(folders)))
