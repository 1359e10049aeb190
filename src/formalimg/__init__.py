"""Formal, verifiable evaluation of text-to-image models."""

from importlib import import_module

from formalimg._util.lazy import lazy_exports
from formalimg.errors import FormalimgError

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from formalimg.evaluation import Evaluation, evaluate, run
    from formalimg.logic import FormulaError, Problem, Verification, check, clauses, complexity, parse, verify
    from formalimg.rewards import reward
    from formalimg.scenes import Box, Scene, SceneError, SceneObject
    from formalimg.scoring import Score, Scores, score
    from formalimg.suites import load

# Most programs that verify never run a model, and the command line is to handle Ctrl-C before it imports anything.
_exported = lazy_exports(
    "formalimg",
    {
        "evaluation": ["Evaluation", "evaluate", "run"],
        "logic": ["FormulaError", "Problem", "Verification", "check", "clauses", "complexity", "parse", "verify"],
        "rewards": ["reward"],
        "scenes": ["Box", "Scene", "SceneError", "SceneObject"],
        "scoring": ["Score", "Scores", "score"],
        "suites": ["load"],
    },
)


def __getattr__(name: str) -> object:
    if name in ("logic", "scenes", "suites"):  # packages that `import formalimg` alone is enough for
        return import_module(f"formalimg.{name}")
    return _exported(name)


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
    "Score",
    "Scores",
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
    "score",
    "verify",
]
