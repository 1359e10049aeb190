"""Results in Python: what `evaluate`, `run` and `judge` return, as text, as a data frame, and in a notebook."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.results.result import Evaluation

if TYPE_CHECKING:
    from formalimg.results.failures import Failure, Failures

# Lazy, because most programs look at numbers only.
__getattr__ = lazy_exports("formalimg.results", {"failures": ["Failure", "Failures"]})

__all__ = ["Evaluation", "Failure", "Failures"]
