"""Baselines: embedded image models and planners that need no GPU, no weights and no network."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.baselines.registry import BASELINES, open_baseline

if TYPE_CHECKING:
    from formalimg.baselines.planner import ChatPlanner, SolverPlanner, open_planner
    from formalimg.baselines.published_planner import PublishedPlanner

# Most programs plan nothing.
__getattr__ = lazy_exports(
    "formalimg.baselines",
    {"planner": ["ChatPlanner", "SolverPlanner", "open_planner"], "published_planner": ["PublishedPlanner"]},
)

__all__ = ["BASELINES", "ChatPlanner", "PublishedPlanner", "SolverPlanner", "open_baseline", "open_planner"]
