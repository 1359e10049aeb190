"""Artists: image models inside the package, that need no weights, and planners that make layouts instead."""

from typing import TYPE_CHECKING

from formalimg.baselines.opening import BASELINES, open_baseline
from formalimg.lazily import lazily

if TYPE_CHECKING:
    from formalimg.baselines.planning import ChatPlanner, SolverPlanner, open_planner

# Most programs plan nothing.
__getattr__ = lazily("formalimg.baselines", {"planning": ["ChatPlanner", "SolverPlanner", "open_planner"]})

__all__ = ["BASELINES", "ChatPlanner", "SolverPlanner", "open_baseline", "open_planner"]
