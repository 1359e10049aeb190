"""Formal, verifiable evaluation of text-to-image models."""

from formalimg.errors import FormalimgError
from formalimg.logic import FormulaError, Problem, Verification, check, clauses, complexity, parse, verify
from formalimg.scenes import Box, Scene, SceneError, Thing
from formalimg.suites import load

__version__ = "0.1.0"

__all__ = [
    "Box",
    "FormalimgError",
    "FormulaError",
    "Problem",
    "Scene",
    "SceneError",
    "Thing",
    "Verification",
    "__version__",
    "check",
    "clauses",
    "complexity",
    "load",
    "parse",
    "verify",
]
