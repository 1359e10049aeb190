"""What is written of CF-World, and what it is made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.suites import CounterfactualSpec, Item

GROUPS, DENOMINALISED, PAIRS = "cf-world", "cf-world-denominalised", "cf-world-attributes"
"""The suites that can be written, each a task of its own."""

ScoreQuestions: TypeAlias = Literal["template", "model"]
"""Where questions come from: a template for each dimension, or the chat model, as in the paper."""

_ATTEMPTS = 6
_PAIRS = 100  # as in the paper


class Extent(NamedTuple):
    """How much is written: which levels, how many items of each, and how often each is tried."""

    levels: tuple[int, ...]
    per_level: int
    attempts: int


class Law(NamedTuple):
    """A law that groups are written about; the writer says which field it belongs to where nobody has."""

    law: str
    discipline: str = ""
    branch: str = ""


class Told(NamedTuple):
    """A group whose outcome is told, and is to be told without names.

    Attributes:
        explicit: the item that tells it (L2).
        implicit: the prompt that does not (L3).
    """

    explicit: Item[CounterfactualSpec]
    implicit: str

    @property
    def outcome(self) -> str | None:
        """What the explicit prompt adds; None if it does not begin with the implicit one, letter by letter."""
        kept = f"{self.implicit} "
        return self.explicit.prompt.removeprefix(kept) if self.explicit.prompt.startswith(kept) else None


@dataclass(frozen=True)
class CounterfactualChoices:
    """What CF-World is written from.

    Attributes:
        laws: for groups: the laws; none for those of the groups that ship.
        per_law: for groups: how many of each law.
        questions: for groups: where the questions come from.
        told: for outcomes without names: the groups that tell them; none for those that ship.
    """

    laws: tuple[Law, ...] = ()
    per_law: int = 1
    questions: ScoreQuestions = "template"
    told: tuple[Told, ...] = ()

    def __post_init__(self) -> None:
        if self.questions not in get_args(ScoreQuestions):
            raise FormalimgError(f"unknown questions {self.questions!r}: known are template and model")
        if self.per_law < 1:
            raise FormalimgError("at least one group per law must be asked for")

    @property
    def made(self) -> tuple[str, ...]:
        """The options that are not left as they were."""
        usual = {"--laws": not self.laws, "--per-law": self.per_law == 1, "--questions": self.questions == "template"}
        return tuple(name for name, kept in {**usual, "--items": not self.told}.items() if not kept)


@cache
def our_laws() -> tuple[Law, ...]:
    """The laws of the groups that ship, each once."""
    from formalimg.suites import our_groups  # here, since most plans are for other suites

    return tuple(dict.fromkeys(Law(group.law, group.discipline, group.branch) for group in our_groups()))


@cache
def our_outcomes() -> tuple[Told, ...]:
    """The groups that ship, told."""
    from formalimg.suites import items_of_groups, our_groups

    return outcomes_told(items_of_groups(our_groups()))


def outcomes_told(items: Iterable[Item[CounterfactualSpec]]) -> tuple[Told, ...]:
    """The groups in items of CF-World whose outcomes can be described.

    Raises:
        FormalimgError: if a group has no explicit or no implicit prompt, or two of them.
    """
    levels: dict[str, dict[int, Item[CounterfactualSpec]]] = {}
    for item in items:
        known = levels.setdefault(item.spec.group, {})
        if item.level in known:
            raise FormalimgError(f"group {item.spec.group} has two items of level {item.level}: leave one out")
        known[item.level] = item
    for name, known in levels.items():
        for level in (2, 3):
            if level not in known:
                raise FormalimgError(f"group {name} has no item of level {level}: give whole groups")
    return tuple(Told(known[2], known[3].prompt) for known in levels.values())


def usual_extent(suite: str, choices: CounterfactualChoices, levels: tuple[int, ...], per_level: int) -> Extent:
    """How much of a suite is written; what was asked for may be left open, or be the same.

    Raises:
        FormalimgError: if it cannot be written, or the choices are for another suite.
    """
    fitting = {
        GROUPS: ("--laws", "--per-law", "--questions"),
        DENOMINALISED: ("--items",),
        PAIRS: (),
    }
    if suite not in fitting:
        raise FormalimgError(f"items of {suite} cannot be written: choose {', '.join(fitting)}")
    wrong = [option for option in choices.made if option not in fitting[suite]]
    if wrong:
        raise FormalimgError(f"{', '.join(wrong)}: not for {suite}")
    match suite:
        case "cf-world":
            usual = Extent((1, 2, 3), len(choices.laws or our_laws()) * choices.per_law, _ATTEMPTS)
        case "cf-world-denominalised":
            usual = Extent((2,), len(choices.told or our_outcomes()), _ATTEMPTS)
        case _:
            usual = Extent((1, 2), per_level or _PAIRS, _ATTEMPTS)
    if levels not in ((), usual.levels):
        raise FormalimgError(f"{suite} is always written with all its levels: leave --levels out")
    if per_level not in (0, usual.per_level):
        advice = "say --per-law" if suite == GROUPS else "choose the items"
        raise FormalimgError(f"how many items {suite} gets follows from what it is written from: {advice}")
    return usual
