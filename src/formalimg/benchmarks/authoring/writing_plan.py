"""The plan of an authoring run: levels, slots and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.task import Authoring

VERSION = 1  # Raised with every change after which other assignments are given, or answers are accepted differently
MOST_ATTEMPTS = 100


class AuthoringExtent(NamedTuple):
    """The size of an authoring run: levels, items per level, and attempts per item."""

    levels: tuple[int, ...]
    per_level: int
    attempts: int


class Slot(NamedTuple):
    """A slot for one item: its id and level."""

    id: int
    level: int


class WritingChoices:
    """The authoring options of a benchmark; this base class has none."""

    suites: ClassVar[str] = ""  # the suites that they are for, as messages name them

    @property
    def made(self) -> tuple[str, ...]:
        """The options that differ from their defaults, as written on the command line."""
        return ()


@dataclass(frozen=True)
class AuthoringPlan:
    """The plan of the items that a chat model is to write."""

    suite: str  # the benchmark, such as `knolling`; probes of a benchmark are suites of their own
    # the levels (K or k) to write items of; none for those of the paper. Groups have all of them
    levels: tuple[int, ...] = ()
    per_level: int = 0  # how many items of each level; 0 for as many as in the paper. Groups are counted by their laws
    seed: int = 1  # another seed, other assignments
    attempts: int = 0  # how often each item is tried; 0 for 6 times, or more where draws often conflict
    version: str = ""  # the version that the items carry
    choices: Any = None  # the options of the benchmark, in a type of its own; None for their defaults

    def __post_init__(self) -> None:
        authoring = authoring_of(self.suite)
        if type(self.choices) is not type(authoring.choices):
            if self.choices is not None and self.choices.made:
                made = ", ".join(self.choices.made)
                raise FormalimgError(f"{made}: for {self.choices.suites} only, not for {self.suite}")
            object.__setattr__(self, "choices", authoring.choices)
        usual = authoring.extent(self.suite, self.choices, self.levels, self.per_level)
        object.__setattr__(self, "levels", self.levels or usual.levels)
        object.__setattr__(self, "per_level", self.per_level or usual.per_level)
        object.__setattr__(self, "attempts", self.attempts or usual.attempts)
        if len(set(self.levels)) < len(self.levels):
            raise FormalimgError("each level can be asked for only once, as in --levels 1-7")
        if self.per_level < 1:
            raise FormalimgError("at least one item per level must be asked for")
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            raise FormalimgError(f"attempts must lie between 1 and {MOST_ATTEMPTS}")

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of all items, ordered by id; a slot may hold all levels of a group."""
        level_of_groups = authoring_of(self.suite).level_of_groups
        if level_of_groups is not None:
            return tuple(Slot(number, level_of_groups) for number in range(self.per_level))
        return tuple(
            Slot(number * self.per_level + index, level)
            for number, level in enumerate(self.levels)
            for index in range(self.per_level)
        )


def authoring_of(name: str, options: Mapping[str, object] | None = None) -> Authoring:
    """Return the authoring interface of a suite; raise an error if it has none or does not support an option."""
    authoring = suite(name).authoring()
    if authoring is None:
        if suite(name).synthesis() is not None:
            raise FormalimgError(f"items of {name} are drawn, not written: use formalimg items synth {name}")
        raise FormalimgError(f"items of {name} are not written by a model: pull them, or give your own as items.jsonl")
    unfit = [option for option in options or () if option not in authoring.options]
    if unfit:
        candidates = filter(None, (suite(suite_name).authoring() for suite_name in suite_names()))
        owner = next(candidate for candidate in candidates if unfit[0] in candidate.options)
        listed = ", ".join(option for option in unfit if option in owner.options)
        raise FormalimgError(f"{listed}: for {owner.choices.suites} only, not for {name}")
    return authoring
