"""Which names of files are safe to write, and which are wanted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from formalimg.suites.pulling.errors import PullError

_DEEPEST = 40
_LONGEST = 255
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"|?*\\')


def refuse_escape(name: str) -> str:
    """A name without a leading `./`, or an error if it leads out of the folder it lies in, or is absurd."""
    name = name.removeprefix("./")
    parts = name.replace("\\", "/").split("/")
    if not name or not parts[0] or name[1:2] == ":":
        raise PullError(f"refused: {name!r} is not a name inside the data, the contents are not to be trusted")
    if ".." in parts:
        raise PullError(f"refused: {name!r} leads out of the folder, the contents are not to be trusted")
    if len(parts) > _DEEPEST or max(len(part.encode("utf-8", "replace")) for part in parts) > _LONGEST:
        raise PullError(f"refused: {name[:60]!r}… is nested too deep or too long, the contents are not to be trusted")
    return name


def safe_name(name: str) -> str:
    """A name such as `a/b.json`, or an error if writing it could touch anything but a new file of ours.

    Beside what leads out, names are refused that some system reads differently than they look.
    """
    name = refuse_escape(name)
    for part in name.split("/"):
        if part in ("", ".") or part[-1] in ". " or _RESERVED.fullmatch(part) or not _plain(part):
            raise PullError(f"refused: {name!r} is an odd name, the contents are not to be trusted")
    return name


def refuse_collisions(names: Iterable[str]) -> None:
    """Raise if two names would be the same file on some system, or one is a file and a folder at once."""
    taken: dict[str, str] = {}
    for name in sorted(names):
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in taken:
            raise PullError(f"refused: {name!r} and {taken[folded]!r} would be one file on some systems")
        taken[folded] = name
    for folded, name in taken.items():
        parents = folded.split("/")[:-1]
        if any("/".join(parents[:depth]) in taken for depth in range(1, len(parents) + 1)):
            raise PullError(f"refused: {name!r} lies inside a file")


def wanted(name: str, patterns: tuple[str, ...]) -> bool:
    """Does a name fit one of the patterns? `*` stays within a folder, `**` stands for any folders."""
    return any(_compiled(pattern).fullmatch(name) for pattern in patterns)


def _plain(part: str) -> bool:
    return part.isprintable() and _FORBIDDEN.isdisjoint(part)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    translated = "".join(
        {"**/": "(?:[^/]+/)*", "*": "[^/]*"}.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*/|\*)", pattern)
    )
    return re.compile(translated, re.DOTALL)
