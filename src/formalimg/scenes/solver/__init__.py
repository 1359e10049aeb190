"""Solver: turn formulas into witness scenes, or prove that none exists."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.scenes.solver.results import MIN_SIDE, SolverLimitError, Unsatisfiable, Witness

if TYPE_CHECKING:
    from formalimg.scenes.solver.inequalities import DEFAULT_MARGIN
    from formalimg.scenes.solver.margin import keeps_margin
    from formalimg.scenes.solver.search import solve
    from formalimg.scenes.solver.spatial import solve_natural

# Lazy, because baselines that solve nothing read the limits above.
__getattr__ = lazy_exports(
    "formalimg.scenes.solver",
    {"inequalities": ["DEFAULT_MARGIN"], "margin": ["keeps_margin"], "spatial": ["solve_natural"], "search": ["solve"]},
)

__all__ = [
    "DEFAULT_MARGIN",
    "MIN_SIDE",
    "SolverLimitError",
    "Unsatisfiable",
    "Witness",
    "keeps_margin",
    "solve",
    "solve_natural",
]
