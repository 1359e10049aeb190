"""Planning: layouts instead of pictures, by chat models or by the solver."""

from formalimg.artists.planning.opening import open_planner
from formalimg.artists.planning.planner import ChatPlanner, SolvingPlanner

__all__ = ["ChatPlanner", "SolvingPlanner", "open_planner"]
