"""What was odd in published files and is read all the same: each oddity by a rule, and none of them silently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias, get_args

TidyReason: TypeAlias = Literal[
    "blanks at the edges",
    "ids of two types",
    "no category",
    "mistyped key",
    "no assessment point",
    "assessment point of L3 alone",
    "assessment point of L3 differs",
    "duplicate",
    "no questions",
    "questions of L3 differ",
    "no question of a dimension",
    "unusual weight",
    "same prompt as L2",
]

_MOST_NAMED = 13
"""So many places of one kind are all named; of more, only the first few."""

_FEW = 3


class Tidying(NamedTuple):
    """One oddity of published data.

    Attributes:
        where: file and record.
        what: the kind of oddity.
        how: what was made of it.
    """

    where: str
    what: TidyReason
    how: str


def tidied_lines(tidied: Iterable[Tidying]) -> list[str]:
    """What was tidied up as lines for people: each kind with its number, and the places.

    Items without questions are not among them: whoever lists items tells those by name.
    """
    kinds: dict[TidyReason, list[Tidying]] = {what: [] for what in get_args(TidyReason)}
    for each in tidied:
        kinds[each.what].append(each)
    lines = []
    for what, found in kinds.items():
        if not found or what == "no questions":
            continue
        lines.append(f"{what}: {len(found):,}")
        shown = found if len(found) <= _MOST_NAMED else found[:_FEW]
        lines += [f"  {each.where}: {each.how}" for each in shown]
        if len(shown) < len(found):
            lines.append(f"  and {len(found) - len(shown):,} more")
    return lines
