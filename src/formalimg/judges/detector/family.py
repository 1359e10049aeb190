"""How a detector is asked: families of detectors differ in the words they know best and in what their scores mean."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Family:
    """How detectors of a family are asked.

    Attributes:
        pattern: found in the names of its models.
        query: the words for a class, with `{class}` in its place.
        together: whether all classes are asked for at once.
        threshold: the score from which a box counts, unless the user says otherwise.
    """

    pattern: str
    query: str
    together: bool
    threshold: float


def family_of(model: str) -> Family:
    """The family of a detector, by its name."""
    return next(family for family in _families() if re.search(family.pattern, model, re.IGNORECASE))


@cache
def _families() -> tuple[Family, ...]:
    table = tomllib.loads((files("formalimg.judges.detector") / "families.toml").read_text(encoding="utf-8"))
    return tuple(Family(**entry) for entry in table["families"])
