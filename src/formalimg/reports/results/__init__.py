"""Results in Python: the return values of `evaluate`, `run` and `judge` as text, data frames and notebook output."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.reports.results.result import Evaluation, Failure, Failures

__all__ = [
    "Evaluation",
    "Failure",
    "Failures",
]

__getattr__, __dir__ = lazy_exports(__name__)
