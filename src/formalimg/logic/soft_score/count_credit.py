"""Counts that fail: how close the number of objects is, and what was needed and found, in words.

A count that fails is worth the smaller of the number needed and the number found, divided by the larger: 2 of 3 cups
are worth 2/3, and so are 3 cups where 2 were needed. That is 0 where nothing was found or nothing is allowed, and
never 1.
"""

from __future__ import annotations

from typing import NamedTuple

from formalimg.logic.prenex import Literal
from formalimg.logic.syntax import And, Atom, Count, Value
from formalimg.logic.world import members

CREDIT_UNIT = 720_720
"""What a count that holds is worth, as a whole number: all shares of up to 16 objects are whole numbers too."""

_MAX_LISTED = 5


class CountLimits(NamedTuple):
    """How many objects a count, or its negation, allows.

    Attributes:
        least: the smallest number.
        most: the largest number; None if there is none, -1 if no number is allowed at all.
        but: the only number that is not allowed, for the negation of `exactly`.
    """

    least: int
    most: int | None
    but: int | None = None

    @property
    def asks(self) -> bool:
        """Whether objects are needed."""
        return self.least > 0

    def credit(self, found: int) -> int:
        """Return what this number of objects is worth, from 0 to CREDIT_UNIT, which only an allowed number is."""
        if found < self.least:
            return CREDIT_UNIT * found // self.least
        if self.most is not None and found > self.most:
            return CREDIT_UNIT * self.most // found if self.most > 0 else 0
        return 0 if found == self.but else CREDIT_UNIT


def count_limits(count: Count, positive: bool) -> CountLimits:
    """Return how many objects a count allows, or its negation."""
    least, most = count.range
    if positive:
        return CountLimits(least, most)
    if least == most:
        return CountLimits(0, None, but=least)
    return CountLimits(0, least - 1) if most is None else CountLimits(most + 1, None)


def asks_for_objects(literal: Literal) -> bool:
    """Return whether a literal asks for objects: an atom about objects that is not denied, a count of one or more."""
    if isinstance(literal.atom, Count):
        return count_limits(literal.atom, literal.positive).asks
    return literal.positive and bool(literal.atom.variables)


def describe_count(count: Count, positive: bool, objects: int) -> str:
    """Return what a count needs and what was found, such as `3 cups needed, 2 found: #0 #4`.

    Args:
        count: the count.
        positive: whether it must hold, or must fail.
        objects: the objects that were found, as a bit set.
    """
    least, most, but = count_limits(count, positive)
    if but is not None:
        needed = f"any number of {_noun(count, 2)} but {but} allowed"
    elif most == -1:
        needed = f"no number of {_noun(count, 2)} allowed"
    elif most == 0:
        needed = f"no {_noun(count, 1)} allowed"
    elif least == most:
        needed = f"{least} {_noun(count, least)} needed"
    elif most is None:
        needed = f"at least {least} {_noun(count, least)} needed"
    else:
        needed = f"at most {most} {_noun(count, most)} allowed"
    names = [f"#{obj}" for obj in members(objects)]
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    found = f"{len(names)} found: {' '.join(names[:_MAX_LISTED])}{more}" if names else "none found"
    return f"{needed}, {found}"


def _noun(count: Count, number: int) -> str:
    """Return what is counted: `red cups`, or `such cups` if the count says more of them than words."""
    parts = count.body.parts if isinstance(count.body, And) else (count.body,)
    classes, words, more = [], [], False
    for part in parts:
        match part:
            case Atom("Is", (variable, Value(word))) if variable == count.variable:
                classes.append(word.replace("_", " "))
            case Atom(_, (variable, Value(word))) if variable == count.variable:
                words.append(word.replace("_", " "))
            case _:
                more = True
    noun = classes[0] if len(classes) == 1 else "object"
    if more or len(classes) > 1:
        words.insert(0, "such")
    return " ".join([*words, noun if number == 1 else _plural(noun)])


_IRREGULAR = {"mouse": "mice", "person": "people", "child": "children", "man": "men", "woman": "women"}


def _plural(noun: str) -> str:
    """Return the plural of a class; good enough for a message, which names the formula beside it."""
    before, space, last = noun.rpartition(" ")
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif last.endswith("fe"):
        last = f"{last[:-2]}ves"
    elif last.endswith("y") and last[-2:-1] not in set("aeiou"):
        last = f"{last[:-1]}ies"
    elif last.endswith(("x", "z", "ch", "sh", "ss")):
        last = f"{last}es"
    elif not last.endswith("s"):
        last = f"{last}s"
    return f"{before}{space}{last}"
