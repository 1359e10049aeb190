"""GenEval 2: prompts of 3 to 10 atoms, with a question for each."""

from formalimg.suites.geneval2.formulas import (
    ComparedAnswer,
    DecidedBy,
    compare_answers,
    count_decided,
    decided_by,
    is_decidable,
    question_classes,
    question_formula,
)

__all__ = [
    "ComparedAnswer",
    "DecidedBy",
    "compare_answers",
    "count_decided",
    "decided_by",
    "is_decidable",
    "question_classes",
    "question_formula",
]
