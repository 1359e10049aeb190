"""Formal, verifiable evaluation of text-to-image models."""

from importlib import import_module

from formalimg._util.lazy import lazy_exports
from formalimg.errors import FormalimgError

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from formalimg.evaluation import evaluate, judge, run
    from formalimg.logic import FormulaError, Problem, Verification, check, clauses, complexity, parse, verify
    from formalimg.results import Evaluation, Failure, Failures
    from formalimg.rewards import reward
    from formalimg.scenes import Box, Scene, SceneError, SceneObject, draw, solve
    from formalimg.scoring import Score, Scores, score
    from formalimg.suites import Condition, Item, load

# Most programs that verify never run a model, and the command line is to handle Ctrl-C before it imports anything.
_exported = lazy_exports(
    "formalimg",
    {
        "evaluation": ["evaluate", "judge", "run"],
        "logic": ["FormulaError", "Problem", "Verification", "check", "clauses", "complexity", "parse", "verify"],
        "results": ["Evaluation", "Failure", "Failures"],
        "rewards": ["reward"],
        "scenes": ["Box", "Scene", "SceneError", "SceneObject", "draw", "solve"],
        "scoring": ["Score", "Scores", "score"],
        "suites": ["Condition", "Item", "load"],
    },
)

_PACKAGES = (
    "analysis",
    "judges",
    "logic",
    "models",
    "reporting",
    "rewards",
    "runs",
    "scenes",
    "stats",
    "suites",
    "tables",
)
"""Packages that `import formalimg` alone is enough for."""


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"formalimg.{name}")
    return _exported(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})


__version__ = "0.1.0"

__all__ = [
    "Box",
    "Condition",
    "Evaluation",
    "Failure",
    "Failures",
    "FormalimgError",
    "FormulaError",
    "Item",
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
    "draw",
    "evaluate",
    "judge",
    "load",
    "parse",
    "reward",
    "run",
    "score",
    "solve",
    "verify",
]
