"""Solving: formulas to witness scenes, or to proofs that there are none."""

from formalimg.scenes.solving.inequalities import DEFAULT_MARGIN
from formalimg.scenes.solving.margins import keeps_margin
from formalimg.scenes.solving.results import MIN_SIDE, SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solving.solver import solve

__all__ = [
    "DEFAULT_MARGIN",
    "MIN_SIDE",
    "SolverLimitError",
    "Unsatisfiable",
    "Witness",
    "keeps_margin",
    "solve",
]
