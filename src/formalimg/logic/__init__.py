"""Parse, check, normalize, evaluate and score first-order formulas over the objects of a scene."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.logic.checks import check
    from formalimg.logic.errors import FormulaError, Problem
    from formalimg.logic.parser import parse
    from formalimg.logic.prenex import clauses, complexity
    from formalimg.logic.soft_score.best_binding import best_binding
    from formalimg.logic.syntax import Forall, Formula, Value, atoms, subformulas, to_text
    from formalimg.logic.verification import Verification, verify

__all__ = [
    "Forall",
    "Formula",
    "FormulaError",
    "Problem",
    "Value",
    "Verification",
    "atoms",
    "best_binding",
    "check",
    "clauses",
    "complexity",
    "parse",
    "subformulas",
    "to_text",
    "verify",
]

__getattr__, __dir__ = lazy_exports(__name__)
