"""Clauses on an image page: in English with the judge's observations, and highlighted in their formula."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from formalimg.judges.clause_sentences import parse_clause
from formalimg.judges.failures import clause_words
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Not, Or, to_pretty_text
from formalimg.types import Benchmark, Part

WIDTH = 64  # Line width of formulas on pages, in characters
_BINDING = re.compile(r"\?[^\s()'=]+ = ")


class ShownPart(NamedTuple):
    """A part of a verdict, in English or as stored, with the judge's observation."""

    part: Part
    words: str
    reason: str


def shown_parts(parts: Sequence[Part], formula: str, suite: Benchmark) -> list[ShownPart]:
    """Return the parts of a verdict with failed ones first, naming objects without variables."""
    return [
        ShownPart(part, clause_words(part.name, formula, suite) if formula else "", _BINDING.sub("", part.reason))
        for part in sorted(parts, key=lambda part: part.score >= 1)
    ]


_KEYWORDS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall|exactly|at-least|at-most)(?=[\s)])"
_ATOMS = r"\([A-Z]\w*(?:\s+[^()]*)?\)"

SpanKind: TypeAlias = Literal["holds", "fails", "open", "word", ""]


class FormulaSpan(NamedTuple):
    """A span of a formula: an atom that holds, fails or is undecided, a keyword, or text between them."""

    text: str
    kind: SpanKind


def highlight_formula(formula: str, parts: Sequence[Part]) -> list[FormulaSpan]:
    """Pretty-print a formula and split it into spans, with atoms marked by the clauses that the judge decided."""
    try:
        shown = to_pretty_text(parse(formula), WIDTH)
    except FormulaError:
        shown = formula
    outcomes: dict[str, SpanKind] = {}
    for part in sorted(parts, key=lambda part: -part.score):  # what fails anywhere is shown as failed
        held, failed = _clause_atoms(part)
        for atom in held:
            outcomes.setdefault(atom, "holds")
        for atom in failed:
            outcomes[atom] = "fails"
    return list(_formula_spans(shown, outcomes))


def _formula_spans(shown: str, outcomes: dict[str, SpanKind]) -> Iterator[FormulaSpan]:
    place = 0
    for found in re.finditer(f"(?P<word>{_KEYWORDS})|(?P<atom>{_ATOMS})", shown):
        yield FormulaSpan(shown[place : found.start()], "")
        kind: SpanKind = "word" if found["word"] else outcomes.get(" ".join(found.group().split()), "open")
        yield FormulaSpan(found.group(), kind)
        place = found.end()
    yield FormulaSpan(shown[place:], "")


def _clause_atoms(part: Part) -> tuple[list[str], list[str]]:
    """Return the atoms of a clause that hold, and those that fail."""
    try:
        clause = parse(part.name)
    except FormulaError:
        return [], []  # a question, or a clause that names its variables in another way
    literals = clause.parts if isinstance(clause, Or) else (clause,)
    atoms = [str(literal.body if isinstance(literal, Not) else literal) for literal in literals]
    if part.score >= 1:
        return atoms, []
    rule = parse_clause(part.name)
    conditions = [] if rule is None else [str(atom) for atom in rule.conditions]
    return conditions, [atom for atom in atoms if atom not in conditions]
