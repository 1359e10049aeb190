"""Writers: instructions written by a chat model, of which only those are kept that stand up to every check."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily
from formalimg.writers.plan import ConceptChoices, WritingPlan
from formalimg.writers.rejection import REASONS, Reason, Rejection

if TYPE_CHECKING:
    from formalimg.writers.formulas.assignment import Assignment, draw_assignment
    from formalimg.writers.formulas.examining import Sound, examine
    from formalimg.writers.writing import Written, write_suite

# Most programs write nothing, and asking takes pydantic and asyncio.
__getattr__ = lazily(
    "formalimg.writers",
    {
        "formulas.assignment": ["Assignment", "draw_assignment"],
        "formulas.examining": ["Sound", "examine"],
        "writing": ["Written", "write_suite"],
    },
)

__all__ = [
    "REASONS",
    "Assignment",
    "ConceptChoices",
    "Reason",
    "Rejection",
    "Sound",
    "WritingPlan",
    "Written",
    "draw_assignment",
    "examine",
    "write_suite",
]
