"""Authoring: items written by a chat model, of which only those that pass every check are kept."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.authoring.counterfactuals.choices import CounterfactualChoices, Law, NamedOutcome, named_outcomes
from formalimg.authoring.plan import AuthoringPlan, ConceptChoices

if TYPE_CHECKING:
    from formalimg.authoring.counterfactuals.groups import WrittenGroup, read_groups
    from formalimg.authoring.counterfactuals.laws import read_laws
    from formalimg.authoring.counterfactuals.review_decisions import ReviewDecisions, read_review, write_review
    from formalimg.authoring.counterfactuals.review_desk import Choice, ReviewDesk, StaleGroupError, UnknownGroupError
    from formalimg.authoring.counterfactuals.review_queue import BRANCHES, DISCIPLINES, ReviewLine, export_queue
    from formalimg.authoring.engine import AuthoringResult, author_suite
    from formalimg.authoring.estimate import AuthoringEstimate, estimate_authoring
    from formalimg.authoring.formulas.checks import CheckedFormula, check_formula
    from formalimg.authoring.formulas.templates import Assignment, draw_assignment
    from formalimg.authoring.outcomes import REASONS, Reason, Rejection

# Most programs write nothing, and asking takes pydantic and asyncio.
__getattr__ = lazy_exports(
    "formalimg.authoring",
    {
        "counterfactuals.laws": ["read_laws"],
        "counterfactuals.review_decisions": ["ReviewDecisions", "write_review", "read_review"],
        "counterfactuals.review_desk": ["Choice", "ReviewDesk", "StaleGroupError", "UnknownGroupError"],
        "counterfactuals.review_queue": ["BRANCHES", "DISCIPLINES", "ReviewLine", "export_queue"],
        "counterfactuals.groups": ["WrittenGroup", "read_groups"],
        "formulas.templates": ["Assignment", "draw_assignment"],
        "formulas.checks": ["CheckedFormula", "check_formula"],
        "outcomes": ["REASONS", "Reason", "Rejection"],
        "estimate": ["AuthoringEstimate", "estimate_authoring"],
        "engine": ["AuthoringResult", "author_suite"],
    },
)

__all__ = [
    "BRANCHES",
    "DISCIPLINES",
    "REASONS",
    "Assignment",
    "AuthoringEstimate",
    "AuthoringPlan",
    "AuthoringResult",
    "CheckedFormula",
    "Choice",
    "ConceptChoices",
    "CounterfactualChoices",
    "Law",
    "NamedOutcome",
    "Reason",
    "Rejection",
    "ReviewDecisions",
    "ReviewDesk",
    "ReviewLine",
    "StaleGroupError",
    "UnknownGroupError",
    "WrittenGroup",
    "author_suite",
    "check_formula",
    "draw_assignment",
    "estimate_authoring",
    "export_queue",
    "named_outcomes",
    "read_groups",
    "read_laws",
    "read_review",
    "write_review",
]
