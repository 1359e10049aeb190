"""Which numbers of concepts go together: how many objects there may be, and how many concepts of each category then."""

from __future__ import annotations

from typing import NamedTuple, get_args

from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.pools import Pools, Profile
from formalimg.suites.conceptmix.spec import CATEGORIES, Category

OTHERS: tuple[Category, ...] = tuple(category for category in CATEGORIES if category != "object")
"""The categories beside the objects, which are drawn with equal chances."""


class ImpossibleDrawError(FormalimgError, ValueError):
    """So many concepts cannot be drawn from these pools within the rules."""


class Rules(NamedTuple):
    """What a draw must keep to; ConceptMix, section 2.3, step 1.

    Attributes:
        k: how many concepts there are beside the first object.
        pool: how many objects there are to choose from; none is drawn twice.
        profile: the paper allows one style, and spatial concepts without limit; its published code allows as many
            concepts of a category as there are objects, in every category.
        only: the category that all concepts but objects come from, at least one of them; None for any.
    """

    k: int
    pool: int
    profile: Profile
    only: Category | None

    def limits(self, objects: int) -> tuple[int, ...]:
        """How many concepts of each of the others there may be, beside so many objects."""
        return tuple(self._limit(category, objects) for category in OTHERS)

    def _limit(self, category: Category, objects: int) -> int:
        if self.only not in (None, category):
            return 0
        if self.profile == "paper" and category == "spatial":
            return self.k
        return 1 if self.profile == "paper" and category == "style" else objects

    def others(self, objects: int) -> int:
        """How many concepts are to be drawn from the other categories, beside so many objects."""
        return self.k + 1 - objects

    def numbers_of_objects(self) -> tuple[int, ...]:
        """All numbers of objects that some draw has.

        Raises:
            ImpossibleDrawError: if there is none.
        """
        most = min(self.pool, self.k if self.only not in (None, "object") else self.k + 1)
        numbers = tuple(n for n in range(1, most + 1) if self.others(n) <= sum(self.limits(n)))
        if not numbers:
            raise ImpossibleDrawError(self._why_impossible(most))
        return numbers

    def _why_impossible(self, most: int) -> str:
        what = f"k = {self.k}" if self.only is None else f"k = {self.k} with {self.only} only"
        if most == 0:
            return f"{what} cannot be drawn: it leaves no place for a concept beside the object; take k = 1 or more"
        left, limits = self.others(most), dict(zip(OTHERS, self.limits(most), strict=True))
        if self.only == "object":
            why = f"there are {self.pool} objects for {self.k + 1} places"
        else:
            room = " and ".join(f"{limits[category]} of {category}" for category in OTHERS if limits[category])
            why = f"beside {most} objects, which are all, {left} places are left for at most {room}"
        # The more objects, the more of everything, so that the most is reached with all of them.
        return f"{what} cannot be drawn: {why}; take k = {most + sum(limits.values()) - 1} or less, or add objects"


def rules_of(k: int, pools: Pools, profile: Profile, only: Category | None) -> Rules:
    """The rules for drawing from these pools.

    Raises:
        FormalimgError: if there are no such rules, or a pool is empty.
    """
    if k < 0:
        raise FormalimgError(f"k is the number of concepts beside the first object, which cannot be {k}: take 1 to 7")
    if profile not in get_args(Profile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(Profile))}")
    if only is not None and only not in CATEGORIES:
        raise FormalimgError(f"unknown category {only!r}: known are {', '.join(CATEGORIES)}")
    empty = [category for category in CATEGORIES if not pools[category].values]
    if empty:
        raise FormalimgError(f"there is no concept of the category {empty[0]}: add one to its pool")
    return Rules(k, len(pools["object"].values), profile, only)
