"""GenEval 2: prompts of 3 to 10 atoms, with a question for each."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.benchmarks.geneval2.judge import compare_answers, question_formula

__all__ = ["compare_answers", "question_formula"]

__getattr__, __dir__ = lazy_exports(__name__)
