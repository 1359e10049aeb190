"""The last line of a command about runs: what to do next."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Sequence
from itertools import takewhile
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
    """Return folders as arguments; with a wildcard where they are all that begins with the same words."""
    (parent, *others) = dict.fromkeys(folder.parent for folder in folders)
    names = [folder.name for folder in folders]
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    start = "".join(letters[0] for letters in alike)
    if len(names) > 1 and not others and {path.name for path in parent.glob(f"{glob.escape(start)}*")} == set(names):
        return f"{shlex.quote(str(parent / start) if start else f'{parent}/')}*"
    return shlex.join(map(str, dict.fromkeys(folders)))
