"""Synthesis: instructions drawn from a vocabulary, proven satisfiable, and put into words."""

from formalimg.suites.synthesis.census import Census, pattern_of, take_census
from formalimg.suites.synthesis.making import Made, Recipe, SynthesisError, make_items

__all__ = [
    "Census",
    "Made",
    "Recipe",
    "SynthesisError",
    "make_items",
    "pattern_of",
    "take_census",
]
