"""What differs between drawn worlds: their nouns and other words, and how much of them the reader forgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from formalimg.benchmarks.registry import suite
from formalimg.models.builtin.misreading import MisreadRates

Meaning: TypeAlias = tuple[str, str]
"""What a phrase means: a kind of word, such as class or color, and the word."""


class WorldNoun(NamedTuple):
    """The words for an object: its class, one, several, and what else it may be called once it is named."""

    label: str
    one: tuple[str, ...]
    many: tuple[str, ...]
    also: tuple[str, ...]


@dataclass(frozen=True)
class DrawnWorld:
    """What built-in models have to know of a suite whose images are drawings."""

    rates: MisreadRates  # the chances of the reader's failures
    nouns: Callable[[], Iterable[WorldNoun]] = tuple  # its nouns besides those of the vocabulary `natural`
    # the words that scatter looks for; None: those of the suite's vocabulary
    phrases: Callable[[], Iterable[tuple[str, Meaning]]] | None = None


def drawn_world(suite_name: str) -> DrawnWorld:
    """Return the drawn world of a suite that has one."""
    world = suite(suite_name).drawn_world()
    assert world is not None, f"{suite_name} has no drawn world"
    return world
