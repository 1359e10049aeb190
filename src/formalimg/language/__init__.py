"""Convert formulas to English prompts and parse prompts back into formulas."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.language.equivalence import is_equivalent_as_written
    from formalimg.language.lexicon import WordingError
    from formalimg.language.parser import parse_prompt, understand
    from formalimg.language.realization import realize

__all__ = [
    "WordingError",
    "is_equivalent_as_written",
    "parse_prompt",
    "realize",
    "understand",
]

__getattr__, __dir__ = lazy_exports(__name__)
