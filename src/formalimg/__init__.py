"""Formal, verifiable evaluation of text-to-image models."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.errors import FormalimgError
from formalimg.logic import FormulaError, Problem, Verification, check, clauses, complexity, parse, verify
from formalimg.scenes import Box, Scene, SceneError, SceneObject
from formalimg.suites import load

if TYPE_CHECKING:
    from formalimg.evaluation import Evaluation, evaluate, run
    from formalimg.rewards import reward

# Most programs that verify never run a model.
__getattr__ = lazy_exports("formalimg", {"evaluation": ["Evaluation", "evaluate", "run"], "rewards": ["reward"]})

__version__ = "0.1.0"

__all__ = [
    "Box",
    "Evaluation",
    "FormalimgError",
    "FormulaError",
    "Problem",
    "Scene",
    "SceneError",
    "SceneObject",
    "Verification",
    "__version__",
    "check",
    "clauses",
    "complexity",
    "evaluate",
    "load",
    "parse",
    "reward",
    "run",
    "verify",
]
