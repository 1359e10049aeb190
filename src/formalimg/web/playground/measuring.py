"""What can be said of a formula at once: its problems, or what it is made of."""

from __future__ import annotations

from collections import Counter

from formalimg.logic import (
    STYLE,
    Formula,
    FormulaError,
    Problem,
    atoms,
    bound_variables,
    check,
    clauses,
    component_sizes,
    parse,
)
from formalimg.web.playground.question import Question

SOLVED = "knolling"
"""The vocabulary that the solver has rules for."""

_MOST_PROBLEMS = 30
"""So many are shown; whoever mends them sees the others."""


def measured(question: Question) -> dict[str, object]:
    """The problems of a formula; of one without problems K, its components and its clauses."""
    problems = check(question.formula, question.words)
    told: dict[str, object] = {"problems": [_problem(one) for one in problems[:_MOST_PROBLEMS]], "more": 0}
    if problems:
        return {**told, "more": max(len(problems) - _MOST_PROBLEMS, 0)}
    formula = parse(question.formula)
    sizes = _component_sizes(formula)
    about_style = any(atom.predicate == STYLE for atom in atoms(formula))
    return {
        **told,
        "k": None if sizes is None else max(sizes, default=0),
        "components": list(sizes or ()),
        "variables": len(bound_variables(formula)),
        "styles": list(question.words.words.get("style", ())) if about_style else [],
        "solvable": question.words.name == SOLVED,
        **_clauses(formula),
    }


def _problem(problem: Problem) -> dict[str, object]:
    return {
        **problem.to_json(),
        "start": problem.span.start,
        "end": problem.span.end,
        "excerpt": problem.span.excerpt(),
    }


def _component_sizes(formula: Formula) -> tuple[int, ...] | None:
    try:
        return tuple(component_sizes(formula))
    except FormulaError:  # too large to be taken apart; why is told with the clauses
        return None


def _clauses(formula: Formula) -> dict[str, object]:
    try:
        found = clauses(formula)
    except FormulaError as error:  # fine as an instruction, only too large to be laid out in clauses
        return {"clauses": None, "kinds": {}, "unlisted": error.problems[0].message}
    kinds = Counter(clause.kind for clause in found)
    return {
        "clauses": [{"kind": clause.kind, "text": clause.text} for clause in found],
        "kinds": dict(sorted(kinds.items())),
        "unlisted": "",
    }
