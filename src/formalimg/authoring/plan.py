"""The plan of an authoring run: levels, slots and options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg.authoring.counterfactuals.choices import (
    GROUPS,
    AuthoringExtent,
    CounterfactualChoices,
    default_extent,
)
from formalimg.errors import FormalimgError
from formalimg.suites import CATEGORIES, Category, Difficulty, PoolProfile, suite

VERSION = 1
"""Raised with every change after which other assignments are given, or answers are accepted differently."""

MOST_ATTEMPTS = 100

Binder: TypeAlias = Literal["model", "offline"]
"""Who says which objects a relation is between: the chat model, as in the paper, or chance."""

QuestionSource: TypeAlias = Literal["model", "template"]
"""Where questions come from: the chat model, as in the paper, or a sentence for each category."""


# Half of all mixes of many concepts come to nothing, many before anyone is asked; the paper tries without end.
_USUAL = {
    "formula": AuthoringExtent(tuple(range(1, 11)), 200, 6),
    "concepts": AuthoringExtent(tuple(range(1, 8)), 300, 30),
}


class Slot(NamedTuple):
    """A slot for one item: its id and level."""

    id: int
    level: int


@dataclass(frozen=True)
class ConceptChoices:
    """Options for ConceptMix; the defaults follow the paper.

    Attributes:
        concepts: a folder with the user's own concepts; None for ours.
        profile: whose rules hold where the paper and its published code differ.
        only: the one category that concepts are drawn from, besides objects; None for all.
        difficulty: only concepts that are known to be easy or hard; None for all.
        binder: who says which objects a relation is between.
        questions: where the questions come from.
    """

    concepts: Path | None = None
    profile: PoolProfile = "paper"
    only: Category | None = None
    difficulty: Difficulty | None = None
    binder: Binder = "model"
    questions: QuestionSource = "model"

    def __post_init__(self) -> None:
        for name, known in (
            ("profile", get_args(PoolProfile)),
            ("only", (None, *CATEGORIES)),
            ("difficulty", (None, *get_args(Difficulty))),
            ("binder", get_args(Binder)),
            ("questions", get_args(QuestionSource)),
        ):
            given = getattr(self, name)
            if given not in known:
                raise FormalimgError(f"unknown {name} {given!r}: known are {', '.join(filter(None, known))}")

    @property
    def made(self) -> tuple[str, ...]:
        """Return the names of the options that differ from the paper."""
        return tuple(entry.name for entry in fields(self) if getattr(self, entry.name) != entry.default)


@dataclass(frozen=True)
class AuthoringPlan:
    """The items that a chat model is to write.

    Attributes:
        suite: `knolling`, `natural` or `conceptmix`; `cf-world` for groups, `cf-world-denominalised` for outcomes
            without their names, `cf-world-attributes` for rare pairs.
        levels: the levels (K or k) to write items of; none for those of the paper. CF-World always has all of them.
        per_level: how many items of each level; 0 for as many as in the paper. Groups are counted by their laws.
        seed: another seed, other assignments.
        attempts: how often each item is tried; 0 for 6 times, or 30 for ConceptMix, whose draws often conflict.
        version: the version that the items carry.
        choices: for ConceptMix only: which concepts, and how they become an item.
        counterfactual: for CF-World only: which laws, items or prompts, and where questions come from.
    """

    suite: str
    levels: tuple[int, ...] = ()
    per_level: int = 0
    seed: int = 1
    attempts: int = 0
    version: str = ""
    choices: ConceptChoices = ConceptChoices()
    counterfactual: CounterfactualChoices = field(default_factory=CounterfactualChoices)

    def __post_init__(self) -> None:
        kind = suite(self.suite).kind
        if suite(self.suite).has_counts:
            raise FormalimgError(f"items of {self.suite} are drawn, not written: use formalimg synth {self.suite}")
        if kind == "counterfactual":
            usual = default_extent(self.suite, self.counterfactual, self.levels, self.per_level)
        else:
            usual = _USUAL[kind]
        object.__setattr__(self, "levels", self.levels or usual.levels)
        object.__setattr__(self, "per_level", self.per_level or usual.per_level)
        object.__setattr__(self, "attempts", self.attempts or usual.attempts)
        if kind == "formula" and any(not 1 <= level <= 10 for level in self.levels):
            raise FormalimgError("levels must lie between 1 and 10, as in --levels 1-10")
        if kind == "concepts" and any(level < 1 for level in self.levels):
            raise FormalimgError("levels must be 1 or more, as in --levels 1-7")
        if len(set(self.levels)) < len(self.levels):
            raise FormalimgError("each level can be asked for only once, as in --levels 1-7")
        if self.per_level < 1:
            raise FormalimgError("at least one item per level must be asked for")
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            raise FormalimgError(f"attempts must lie between 1 and {MOST_ATTEMPTS}")
        if kind != "concepts" and self.choices.made:
            given = ", ".join(f"--{name}" for name in self.choices.made)
            raise FormalimgError(f"{given}: for conceptmix only, not for {self.suite}")
        if kind != "counterfactual" and self.counterfactual.made:
            raise FormalimgError(f"{', '.join(self.counterfactual.made)}: for cf-world only, not for {self.suite}")
        if self.counterfactual.prompts and self.suite != GROUPS:
            raise FormalimgError(f"questions are written for prompts of {GROUPS}, not of {self.suite}")

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The places for all items, in the order of their ids; in CF-World, a place is for all levels of a group."""
        if suite(self.suite).traits.has_scores:
            return tuple(Slot(number, 2) for number in range(self.per_level))
        return tuple(
            Slot(number * self.per_level + index, level)
            for number, level in enumerate(self.levels)
            for index in range(self.per_level)
        )
