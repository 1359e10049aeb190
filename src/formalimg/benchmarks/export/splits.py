"""Train and test items with nothing in common: no formula, no pair of classes, or no relation.

Items that have some of what is held out for the test and some of what is trained on can go to neither side.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

from formalimg.benchmarks.items_file import in_order
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.types import Item

SplitBy: TypeAlias = Literal["formula", "class-pair", "relation"]
"""What train and test have not in common."""

SPLITS: tuple[SplitBy, ...] = get_args(SplitBy)

TEST_SHARE = 0.1
"""The share of the test in all items that are kept."""

_MAX_TRIED = 10
"""Features whose every choice is tried, a thousand; relations are few, and pairs of classes many."""

_VARIABLE = re.compile(r"\?\w+")


class TrainTestSplit(NamedTuple):
    """Items to train on, items to test with, and those that can go to neither side."""

    train: list[Item[Any]]
    test: list[Item[Any]]
    left_out: list[Item[Any]]


def split_items(
    items: Sequence[Item[Any]], by: SplitBy, *, test_share: float = TEST_SHARE, seed: int = 0
) -> TrainTestSplit:
    """Split items of one suite into train and test; the same items and seed give the same split.

    Items with the same formula always stay together. Those that have nothing that could be held out, such as a single
    class, go to either side by chance, with the same share in each level.

    Args:
        items: the items.
        by: what train and test are to have not in common.
        test_share: the share of the test in all items that are kept.
        seed: another one gives another split.

    Raises:
        FormalimgError: if the items do not state what they are to be split by, or one side would be empty.
    """
    if not 0 < test_share < 1:
        raise FormalimgError("the share of the test must be above 0 and below 1")
    groups = _grouped(items, by, seed)
    bound, free = [group for group in groups if group.features], [group for group in groups if not group.features]
    if by != "formula" and not bound:
        raise FormalimgError(f"no item of {items[0].suite} has a {by.replace('-', ' ')}: choose --split formula")
    train, test, left_out = _hold_out(bound, test_share)
    taken = _by_chance(free, test_share)
    test += [group for group, is_test in zip(free, taken, strict=True) if is_test]
    train += [group for group, is_test in zip(free, taken, strict=True) if not is_test]
    found = TrainTestSplit(
        *(in_order(item for group in side for item in group.items) for side in (train, test, left_out))
    )
    if not found.train or not found.test:
        side = "test" if found.train else "train"
        raise FormalimgError(f"{len(items):,} items are too few to split by {by}: nothing is left for {side}")
    return found


def split_features(spec: object, by: SplitBy) -> frozenset[str]:
    """Return what of a spec must be on one side only; nothing for a formula, which is on one side by itself."""
    if by == "formula":
        return frozenset()
    if not isinstance(spec, StatesRelations):
        raise FormalimgError("these items state no classes and relations: choose --split formula")
    if by == "class-pair":
        return frozenset(" + ".join(pair) for pair in combinations(sorted(set(spec.stated_classes)), 2))
    return frozenset(_families().get(relation, relation) for relation in spec.stated_relations)


@runtime_checkable
class StatesRelations(Protocol):
    """A spec that states classes of objects, and relations between them."""

    @property
    def stated_classes(self) -> Iterable[str]:
        """The classes of objects."""
        ...

    @property
    def stated_relations(self) -> Iterable[str]:
        """The relations, under one name with their converse, unless both are in `relations.toml`."""
        ...


@cache
def _families() -> Mapping[str, str]:
    text = (files("formalimg.benchmarks.export") / "relations.toml").read_text(encoding="utf-8")
    return {name: family[0] for family in tomllib.loads(text)["families"] for name in family}


# --- groups of items that stay together


@dataclass(frozen=True)
class _ItemGroup:
    """Items with the same formula."""

    items: tuple[Item[Any], ...]  # the items
    features: frozenset[str]  # what must be on one side only
    order: str  # a number by chance, by which groups are taken


def _grouped(items: Sequence[Item[Any]], by: SplitBy, seed: int) -> list[_ItemGroup]:
    """Return the groups, in an order by chance."""
    found: dict[str, list[Item[Any]]] = defaultdict(list)
    for item in items:
        found[_instruction_key(item)].append(item)
    groups = [
        _ItemGroup(tuple(each), split_features(each[0].spec, by), hashlib.sha256(f"{seed} {key}".encode()).hexdigest())
        for key, each in found.items()
    ]
    return sorted(groups, key=lambda group: group.order)


def _instruction_key(item: Item[Any]) -> str:
    """Return what an item asks for, whatever its variables are called."""
    names: dict[str, str] = {}
    text = suite(item.suite).form.asked_text(item.spec)
    return _VARIABLE.sub(lambda found: names.setdefault(found[0], f"?v{len(names)}"), text)


def _by_chance(groups: Sequence[_ItemGroup], share: float) -> list[bool]:
    """Return for each group whether it is in the test: the first of each level, up to the share."""
    levels: dict[int, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        levels[group.items[0].level].append(index)
    taken = {index for each in levels.values() for index in each[: round(share * len(each))]}
    return [index in taken for index in range(len(groups))]


# --- what is held out


def _hold_out(
    groups: Sequence[_ItemGroup], share: float
) -> tuple[list[_ItemGroup], list[_ItemGroup], list[_ItemGroup]]:
    """Return train, test and what is left out, with as little left out as can be found."""
    having = _having(groups)
    held = _best_choice(groups, having, share) if len(having) <= _MAX_TRIED else _grown_choice(groups, having, share)
    sides: tuple[list[_ItemGroup], list[_ItemGroup], list[_ItemGroup]] = ([], [], [])
    for group in groups:
        common = len(group.features & held)
        sides[0 if not common else 1 if common == len(group.features) else 2].append(group)
    return sides


def _best_choice(groups: Sequence[_ItemGroup], having: Mapping[str, int], share: float) -> frozenset[str]:
    """Return the features for the test that leave most to train on, where the test has its share; all are tried."""
    names = sorted(having)
    choices = [frozenset(chosen) for size in range(1, len(names)) for chosen in combinations(names, size)]

    def loss(held: frozenset[str]) -> tuple[bool, int]:
        test = sum(group.features <= held for group in groups)
        train = sum(not group.features & held for group in groups)
        return not test or test < share * (test + train), -train

    return min(choices, key=loss, default=frozenset())


def _grown_choice(groups: Sequence[_ItemGroup], having: Mapping[str, int], share: float) -> frozenset[str]:
    """Return features for the test, to which those of one group after the other are added until it has its share.

    The next group is the one for whose features the training loses fewest others.
    """
    held = frozenset[str]()
    reach = [_groups_with(group.features, having) for group in groups]
    touched = 0  # the groups that have a feature of the test, as the bits of a number
    test: set[int] = set()
    while len(test) < share * (len(test) + len(groups) - touched.bit_count()):
        others = [index for index in range(len(groups)) if index not in test]
        best = min(others, key=lambda index: (reach[index] & ~touched).bit_count())
        if (touched | reach[best]).bit_count() == len(groups):  # nothing would be left to train on
            break
        held |= groups[best].features
        touched |= reach[best]
        test = {index for index in others if groups[index].features <= held} | test
    return held


def _having(groups: Sequence[_ItemGroup]) -> Mapping[str, int]:
    """Return by feature the groups that have it, as the bits of a number."""
    found: dict[str, int] = defaultdict(int)
    for index, group in enumerate(groups):
        for feature in group.features:
            found[feature] |= 1 << index
    return found


def _groups_with(features: Iterable[str], having: Mapping[str, int]) -> int:
    found = 0
    for feature in features:
        found |= having[feature]
    return found
