"""Interface for benchmarks whose items a program can sample, as `formalimg items synth` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.types import Item


class SampledItems(NamedTuple):
    """The sampled items, and the number of rejected draws by reason."""

    items: list[Item[Any]]
    rejected: Mapping[str, int]


class SynthesisPlan(NamedTuple):
    """The suite and number of items to sample, and the function that samples them."""

    suite: str
    total: int
    make: Callable[[Callable[[int], None]], SampledItems]  # calls its argument with the number of items so far


class Synthesis(ABC):
    """How a benchmark's items are sampled."""

    suites: ClassVar[str]  # the suites that it serves, as messages name them
    options: ClassVar[frozenset[str]]  # its own options of `formalimg items synth`

    @property
    def counting(self) -> str | None:
        """The suite that counts objects with the same vocabulary; None if there is none."""
        return None

    @abstractmethod
    def plan(
        self, levels: tuple[int, ...] | None, per_level: int | None, seed: int, options: Mapping[str, Any]
    ) -> SynthesisPlan:
        """Return the sampling plan for the given levels, number per level, seed and options."""


def synthesis_of(name: str, options: Mapping[str, object]) -> Synthesis:
    """Return the synthesis of a suite; raise an error if the suite has none or does not support an option."""
    synthesis = suite(name).synthesis()
    if synthesis is None:
        supported = ", ".join(suite_name for suite_name in suite_names() if suite(suite_name).synthesis())
        raise FormalimgError(
            f"items of {name} are written, not drawn: `formalimg items write` makes new ones; synth is for {supported}"
        )
    for option in options:
        if option not in synthesis.options:
            candidates = (suite(suite_name).synthesis() for suite_name in suite_names())
            supported = next(candidate.suites for candidate in candidates if candidate and option in candidate.options)
            raise FormalimgError(f"{name} has no {option}: that is for {supported}")
    return synthesis
