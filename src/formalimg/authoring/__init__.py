"""Writers: instructions written by a chat model, of which only those are kept that stand up to every check."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.authoring.counterfactuals.choices import CounterfactualChoices, Law, Told, outcomes_told
from formalimg.authoring.plan import ConceptChoices, WritingPlan

if TYPE_CHECKING:
    from formalimg.authoring.counterfactuals.groups import WrittenGroup, read_groups
    from formalimg.authoring.counterfactuals.laws import read_laws
    from formalimg.authoring.counterfactuals.review_decisions import Review, put_review, read_review
    from formalimg.authoring.counterfactuals.review_desk import Choice, ReviewDesk, StaleGroupError, UnknownGroupError
    from formalimg.authoring.counterfactuals.review_queue import BRANCHES, DISCIPLINES, ReviewLine, export_queue
    from formalimg.authoring.engine import Written, write_suite
    from formalimg.authoring.estimate import WritingOutlook, estimate_authoring
    from formalimg.authoring.formulas.checks import Sound, examine
    from formalimg.authoring.formulas.templates import Assignment, draw_assignment
    from formalimg.authoring.outcomes import REASONS, Reason, Rejection

# Most programs write nothing, and asking takes pydantic and asyncio.
__getattr__ = lazy_exports(
    "formalimg.authoring",
    {
        "counterfactuals.laws": ["read_laws"],
        "counterfactuals.review_decisions": ["Review", "put_review", "read_review"],
        "counterfactuals.review_desk": ["Choice", "ReviewDesk", "StaleGroupError", "UnknownGroupError"],
        "counterfactuals.review_queue": ["BRANCHES", "DISCIPLINES", "ReviewLine", "export_queue"],
        "counterfactuals.groups": ["WrittenGroup", "read_groups"],
        "formulas.templates": ["Assignment", "draw_assignment"],
        "formulas.checks": ["Sound", "examine"],
        "outcomes": ["REASONS", "Reason", "Rejection"],
        "estimate": ["WritingOutlook", "estimate_authoring"],
        "engine": ["Written", "write_suite"],
    },
)

__all__ = [
    "BRANCHES",
    "DISCIPLINES",
    "REASONS",
    "Assignment",
    "Choice",
    "ConceptChoices",
    "CounterfactualChoices",
    "Law",
    "Reason",
    "Rejection",
    "Review",
    "ReviewDesk",
    "ReviewLine",
    "Sound",
    "StaleGroupError",
    "Told",
    "UnknownGroupError",
    "WritingOutlook",
    "WritingPlan",
    "Written",
    "WrittenGroup",
    "draw_assignment",
    "estimate_authoring",
    "examine",
    "export_queue",
    "outcomes_told",
    "put_review",
    "read_groups",
    "read_laws",
    "read_review",
    "write_suite",
]
