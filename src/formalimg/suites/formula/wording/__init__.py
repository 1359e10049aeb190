"""Wording: from formulas to English prompts, and back."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.suites.formula.wording.lexicon import WordingError

if TYPE_CHECKING:
    from formalimg.suites.formula.wording.clause_sentence import clause_in_words, clause_question
    from formalimg.suites.formula.wording.equivalence import is_equivalent_as_written
    from formalimg.suites.formula.wording.open_nouns import find_unknown_nouns
    from formalimg.suites.formula.wording.parser import parse_prompt, understand
    from formalimg.suites.formula.wording.realization import realize

# Lazy, because baselines read the lexicon and word nothing.
__getattr__ = lazy_exports(
    "formalimg.suites.formula.wording",
    {
        "clause_sentence": ["clause_in_words", "clause_question"],
        "equivalence": ["is_equivalent_as_written"],
        "open_nouns": ["find_unknown_nouns"],
        "parser": ["parse_prompt", "understand"],
        "realization": ["realize"],
    },
)

__all__ = [
    "WordingError",
    "clause_in_words",
    "clause_question",
    "find_unknown_nouns",
    "is_equivalent_as_written",
    "parse_prompt",
    "realize",
    "understand",
]
