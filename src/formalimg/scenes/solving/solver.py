"""From a formula to a witness scene, or to a proof that there is none."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.logic import STYLE, Atom, Formula, FormulaError, Problem, TooHardError, atoms, parse, verify
from formalimg.scenes.rules import RULES_OF_ONE, RULES_OF_TWO
from formalimg.scenes.scene import Scene
from formalimg.scenes.solving.inequalities import DEFAULT_MARGIN
from formalimg.scenes.solving.places import LOOKS
from formalimg.scenes.solving.results import SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solving.search import Search, mentioned_styles

_LARGEST_MARGIN = 60
_MOST_INSTANCES = 12
_MAX_OBJECTS = 20


def solve(
    formula: Formula | str,
    *,
    instances: int = 2,
    margin: int = DEFAULT_MARGIN,
    seed: int = 0,
    up_to: int = 6,
    effort: float = 1.0,
    settle: bool = True,
) -> Witness | Unsatisfiable:
    """Find a scene that satisfies a formula (strictly), or prove that there is none.

    Args:
        formula: a closed formula in the Knolling predicates (and `IsStyle`), parsed or as text.
        instances: how many objects should meet the condition of each `forall`; where so many are impossible, one does.
        margin: how far relations should be from tipping over, on the canvas of 1000; areas by half as many per cent.
            Where that is impossible it is halved until it is not; `Witness.margin` says what was reached.
        seed: chooses among witnesses. The same formula and seed give the same witness.
        up_to: how many objects are considered for a proof, where the formula itself sets no bound.
        effort: how long to try; 1 decides nearly everything.
        settle: whether a smaller margin, fewer instances or a crowded scene will do, or a proof. If
            not, only a comfortable scene with the full margin is looked for, which is quick either way.

    Raises:
        FormulaError: if a variable is unbound or a predicate is not decided by boxes and colours.
        SolverLimitError: if the formula could be neither satisfied nor refuted within the effort, or a witness is too
            hard to check.
    """
    if isinstance(formula, str) or formula.span.end == 0:
        formula = parse(str(formula))  # a formula built by code has no places in a text yet
    _require_solvable(formula)
    if not 0 <= margin <= _LARGEST_MARGIN:
        raise FormalimgError(f"margin {margin} is out of range: use 0 to {_LARGEST_MARGIN}")
    if not 1 <= instances <= _MOST_INSTANCES or not 1 <= up_to <= _MAX_OBJECTS or effort <= 0:
        raise FormalimgError(
            f"instances must be 1 to {_MOST_INSTANCES}, up_to 1 to {_MAX_OBJECTS}, and effort more than 0"
        )
    try:
        return Search(formula, instances, margin, seed, up_to, effort, settle).run()
    except TooHardError as error:
        message = f"a scene was found, but whether it is a witness is unknown: {error.problems[0].message}"
        raise SolverLimitError(message) from error


def _require_solvable(formula: Formula) -> None:
    objections = ((atom, _objection(atom)) for atom in atoms(formula))
    problems = [Problem("undecided", message, atom.span) for atom, message in objections if message]
    if problems:
        raise FormulaError(problems)
    styles = mentioned_styles(formula)
    verify(formula, Scene.of([]), style=styles[0] if styles else None)  # names whatever else is wrong


def _objection(atom: Atom) -> str | None:
    if atom.predicate in (*LOOKS, *RULES_OF_ONE, *RULES_OF_TWO, STYLE):
        return None
    return f"the solver cannot decide {atom.predicate}: it places boxes, and solves formulas in the knolling predicates"
