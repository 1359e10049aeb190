"""Wording: from formulas to English prompts, and back."""

from formalimg.suites.formula.wording.equivalence import same_meaning_as_written
from formalimg.suites.formula.wording.lexicon import WordingError
from formalimg.suites.formula.wording.parser import understand
from formalimg.suites.formula.wording.realization import realize

__all__ = ["WordingError", "realize", "same_meaning_as_written", "understand"]
