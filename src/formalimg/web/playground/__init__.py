"""The playground: check, solve and draw formulas as they are written; verify scenes and images."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.web.playground.routes import playground_routes
    from formalimg.web.playground.worker_pool import JobPool

# Lazy: the worker process needs neither.
__getattr__ = lazy_exports("formalimg.web.playground", {"worker_pool": ["JobPool"], "routes": ["playground_routes"]})

__all__ = ["JobPool", "playground_routes"]
