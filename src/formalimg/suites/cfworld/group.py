"""Groups: a law, what becomes of it, and the three prompts that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.suites.cfworld.spec import Level


class Field(NamedTuple):
    """A field of knowledge that groups are about."""

    discipline: str
    branch: str


FIELDS: Mapping[str, Field] = {
    "mechanics": Field("physics", "mechanics"),
    "optics": Field("physics", "optics"),
    "thermodynamics": Field("physics", "thermodynamics"),
    "electromagnetism": Field("physics", "electromagnetism"),
    "astronomy": Field("physics", "astronomy"),
    "biology": Field("biology", ""),
    "chemistry": Field("chemistry", ""),
    "geography": Field("geography", ""),
    "sociology": Field("sociology", ""),
}
"""The fields, by the names of their files in `groups/`."""


@dataclass(frozen=True)
class Group:
    """One law and its counterfactual, as three prompts of rising difficulty.

    Attributes:
        id: its name, such as optics-001; fit to be a file name.
        discipline: physics, biology, chemistry, geography or sociology.
        branch: of physics, such as optics; empty for others.
        law: the law as it is.
        changed: the law as it is in the counterfactual world.
        factual: the prompt of an ordinary scene under the law (L1).
        implicit: the prompt that gives the changed law and the scene, and not what comes of it (L3).
        outcome: what a camera would see, as the sentence that makes the implicit prompt explicit (L2 = L3 + this).
        described: the same outcome without the names of objects and looks: said by what they are like.
        shows_factual: what decides about an image of L1.
        shows: what decides about an image of L2 and L3.
    """

    id: str
    discipline: str
    branch: str
    law: str
    changed: str
    factual: str
    implicit: str
    outcome: str
    described: str
    shows_factual: str
    shows: str

    @property
    def explicit(self) -> str:
        """The prompt that gives the changed law, the scene, and what comes of it (L2)."""
        return f"{self.implicit} {self.outcome}"

    @property
    def denominalised(self) -> str:
        """The explicit prompt without the names of what comes of it."""
        return f"{self.implicit} {self.described}"

    def prompt(self, level: Level) -> str:
        """The prompt of a level."""
        return {1: self.factual, 2: self.explicit, 3: self.implicit}[level]

    def assessment(self, level: Level) -> str:
        """What decides about an image of a level."""
        return self.shows_factual if level == 1 else self.shows

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Group:
        """The group that these fields describe.

        Raises:
            FormalimgError: if one is missing, unknown or no text.
        """
        known = [field.name for field in fields(cls)]
        name = given.get("id", "without an id")
        for field in known:
            if not isinstance(given.get(field), str):
                raise FormalimgError(f"group {name}: {field} is missing, or no text")
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise FormalimgError(f"group {name}: unknown field {unknown[0]!r}: a group has {', '.join(known)}")
        return cls(**{field: given[field] for field in known})
