"""From formulas to English and back."""

from formalimg.suites.wording.comparing import same_meaning_as_written
from formalimg.suites.wording.problem import WordingError
from formalimg.suites.wording.realizing import realize
from formalimg.suites.wording.understanding import understand

__all__ = ["WordingError", "realize", "same_meaning_as_written", "understand"]
