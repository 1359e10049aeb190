"""What is known of each suite besides its items."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.logic import closest_match

Kind: TypeAlias = Literal["formula", "concepts", "counterfactual"]
"""What the items of a suite ask for: a formula, concepts with a question each, or a scene with weighted questions."""


@dataclass(frozen=True)
class Suite:
    """A benchmark.

    Attributes:
        name: how users write it.
        title: how people call it.
        kind: what its items ask for.
        level: what its levels are called, such as K.
        epsilon: the rate that a model has to hold for its generalizability; None where the suite has no such number.
        bands: groups of levels whose rates are averaged.
    """

    name: str
    title: str
    kind: Kind
    level: str
    epsilon: float | None
    bands: Mapping[str, tuple[int, ...]]


def suite(name: str) -> Suite:
    """The suite of this name.

    Raises:
        FormalimgError: if there is none.
    """
    if name not in _suites():
        near = closest_match(name, suite_names())
        raise FormalimgError(
            f"unknown suite {name!r}: " + (f"did you mean {near}?" if near else f"known are {', '.join(suite_names())}")
        )
    return _suites()[name]


def suite_names() -> tuple[str, ...]:
    """The names of all suites."""
    return tuple(_suites())


@cache
def _suites() -> Mapping[str, Suite]:
    tables = tomllib.loads((files("formalimg.suites") / "suites.toml").read_text(encoding="utf-8"))
    return {
        name: Suite(
            name,
            table["title"],
            table["kind"],
            table["level"],
            table.get("epsilon"),
            {band: tuple(levels) for band, levels in table["bands"].items()},
        )
        for name, table in tables.items()
    }
