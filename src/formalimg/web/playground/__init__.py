"""The playground: formulas checked as they are written, solve_formula and drawn; scenes and images verify_scene."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.web.playground.routes import playground_routes
    from formalimg.web.playground.worker_pool import WorkerPool

# The process that does the long work needs neither.
__getattr__ = lazy_exports("formalimg.web.playground", {"worker_pool": ["WorkerPool"], "routes": ["playground_routes"]})

__all__ = ["WorkerPool", "playground_routes"]
