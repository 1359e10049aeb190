"""Baselines: embedded image models and planners that need no GPU, no weights and no network."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.models.builtin.baselines import open_baseline

__all__ = [
    "open_baseline",
]

__getattr__, __dir__ = lazy_exports(__name__)
