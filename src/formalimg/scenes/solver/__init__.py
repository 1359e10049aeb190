"""Solver: turn formulas into witness scenes, or prove that none exists."""

from formalimg.scenes.solver.inequalities import DEFAULT_MARGIN
from formalimg.scenes.solver.margin import keeps_margin
from formalimg.scenes.solver.results import MIN_SIDE, SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solver.search import solve

__all__ = ["DEFAULT_MARGIN", "MIN_SIDE", "SolverLimitError", "Unsatisfiable", "Witness", "keeps_margin", "solve"]
