"""Formal, verifiable evaluation of text-to-image models."""

from importlib import import_module

from formalimg._util.lazy import lazy_exports
from formalimg.errors import FormalimgError

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from formalimg.api import evaluate, judge, run
    from formalimg.benchmarks.conditions import Condition
    from formalimg.benchmarks.loader import load
    from formalimg.drawing.icon_scene import draw
    from formalimg.logic.checks import check
    from formalimg.logic.errors import FormulaError, Problem
    from formalimg.logic.parser import parse
    from formalimg.logic.prenex import clauses, complexity
    from formalimg.logic.verification import Verification, verify
    from formalimg.reports.results.result import Evaluation, Failure, Failures
    from formalimg.rewards.reward_functions import reward
    from formalimg.scenes.objects import Box, SceneError, SceneObject
    from formalimg.scenes.scene import Scene
    from formalimg.scenes.solver.search import solve
    from formalimg.scoring.scores import Score, Scores
    from formalimg.scoring.scoring import score
    from formalimg.types import Item

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

_PACKAGES = (
    "benchmarks",
    "drawing",
    "human_eval",
    "judges",
    "language",
    "logic",
    "models",
    "reports",
    "rewards",
    "runs",
    "scenes",
    "stats",
)
"""Packages that `import formalimg` alone is enough for. Completion leaves them out: `judges` is beside `judge`."""

_get_export, __dir__ = lazy_exports(__name__)


def __getattr__(name: str) -> object:
    return import_module(f"formalimg.{name}") if name in _PACKAGES else _get_export(name)
