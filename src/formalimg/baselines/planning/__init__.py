"""Planning: layouts instead of pictures, by chat models or by the solver."""

from formalimg.baselines.planning.opening import open_planner
from formalimg.baselines.planning.planner import ChatPlanner, SolvingPlanner

__all__ = ["ChatPlanner", "SolvingPlanner", "open_planner"]
