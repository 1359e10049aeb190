"""Artists: image models inside the package, that need no weights, and planners that make layouts instead."""

from typing import TYPE_CHECKING

from formalimg.baselines.opening import ARTISTS, open_artist
from formalimg.lazily import lazily

if TYPE_CHECKING:
    from formalimg.baselines.planning import ChatPlanner, SolvingPlanner, open_planner

# Most programs plan nothing.
__getattr__ = lazily("formalimg.baselines", {"planning": ["ChatPlanner", "SolvingPlanner", "open_planner"]})

__all__ = ["ARTISTS", "ChatPlanner", "SolvingPlanner", "open_artist", "open_planner"]
