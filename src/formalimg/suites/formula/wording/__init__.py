"""Wording: from formulas to English prompts, and back."""

from formalimg.suites.formula.wording.equivalence import is_equivalent_as_written
from formalimg.suites.formula.wording.lexicon import WordingError
from formalimg.suites.formula.wording.parser import parse_prompt
from formalimg.suites.formula.wording.realization import realize

__all__ = ["WordingError", "is_equivalent_as_written", "parse_prompt", "realize"]
