"""Which assertions of a formula no image would show? Each with its place and the reason."""

from __future__ import annotations

from formalimg.logic import Formula, Problem, parse, read, rename_apart
from formalimg.suites.ontology.attributes import attribute_problems
from formalimg.suites.ontology.knowledge import ontology
from formalimg.suites.ontology.places import place_problems
from formalimg.suites.ontology.relations import relation_problems
from formalimg.suites.ontology.report import Report
from formalimg.suites.ontology.situations import situations


def implausible(formula: Formula | str) -> list[Problem]:
    """Everything that a formula of the natural vocabulary asserts and no normal or playful image would show.

    Only asserted facts count: what is negated, or one side of an `or`, is not reported, nor is a thing whose class
    is not said. What `check` reports (unknown words, unbound variables) is left to `check`.

    Args:
        formula: a parsed formula, or text (then problems of syntax are reported).
    """
    if isinstance(formula, str):
        parsed, problems = read(formula)
        if parsed is None:
            return problems
        formula = parsed
    elif not formula.span.source.text:
        formula = parse(str(formula))  # built by code: give every node a place
    report = Report()
    for situation in situations(rename_apart(formula), ontology()):
        attribute_problems(situation, report)
        relation_problems(situation, report)
        place_problems(situation, report)
    return report.problems()
