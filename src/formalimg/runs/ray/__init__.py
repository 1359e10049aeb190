"""The Ray engine: worker processes on the machines of a Ray cluster that generate and judge images for one run."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.runs.ray.pool import open_worker_pool

__all__ = ["open_worker_pool"]

__getattr__, __dir__ = lazy_exports(__name__)
