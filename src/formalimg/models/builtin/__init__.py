"""Baselines: built-in image models and planners that need no GPU, weights or network access."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.models.builtin.baselines import open_baseline

__all__ = ["open_baseline"]

__getattr__, __dir__ = lazy_exports(__name__)
