"""Planning: layouts instead of images, by chat models or by the solver."""

from formalimg.baselines.planning.opening import open_planner
from formalimg.baselines.planning.planner import ChatPlanner, SolverPlanner

__all__ = ["ChatPlanner", "SolverPlanner", "open_planner"]
