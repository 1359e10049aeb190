"""Certification: how well a grounder reads images whose content is certain, and whether it refuses all others."""

from importlib import import_module
from typing import TYPE_CHECKING

from formalimg.judges.certification.certificate import PUBLISHED_PARSER, Certificate, Reading
from formalimg.judges.certification.matching import MIN_OVERLAP, Match, match

if TYPE_CHECKING:
    from formalimg.judges.certification.certifying import certify
    from formalimg.judges.certification.conditions import CONDITIONS
    from formalimg.judges.certification.pretending import impostors
    from formalimg.judges.certification.sampling import random_scenes

# Loaded when first asked for: they need the drawing libraries.
_LATER = {
    "CONDITIONS": "conditions",
    "certify": "certifying",
    "impostors": "pretending",
    "random_scenes": "sampling",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f"formalimg.judges.certification.{_LATER[name]}"), name)
    raise AttributeError(f"module 'formalimg.judges.certification' has no attribute {name!r}")


__all__ = [
    "CONDITIONS",
    "MIN_OVERLAP",
    "PUBLISHED_PARSER",
    "Certificate",
    "Match",
    "Reading",
    "certify",
    "impostors",
    "match",
    "random_scenes",
]
