"""The playground: formulas checked as they are written, solved and drawn; scenes and images verified."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.web.playground.routes import playground_routes
    from formalimg.web.playground.worker_pool import Bench

# The process that does the long work needs neither.
__getattr__ = lazy_exports("formalimg.web.playground", {"worker_pool": ["Bench"], "routes": ["playground_routes"]})

__all__ = ["Bench", "playground_routes"]
