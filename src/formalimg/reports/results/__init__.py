"""Results in Python: what `evaluate`, `run` and `judge` return, as text, as a data frame, and in a notebook."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.reports.results.failures import Failure, Failures
    from formalimg.reports.results.result import Evaluation

__all__ = [
    "Evaluation",
    "Failure",
    "Failures",
]

__getattr__, __dir__ = lazy_exports(__name__)
