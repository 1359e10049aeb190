"""A formula as an indented tree in which what failed is marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from formalimg.judges import Part
from formalimg.logic import Atom, FormulaError, Not, Or, parse, to_pretty_text
from formalimg.logic import Formula as Tree
from formalimg.reporting.html.markup import Markup, element, join, text

_WIDTH = 44
_WORDS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall)(?=[\s)])"


def formula_tree(formula: str, parts: Iterable[Part]) -> Markup:
    """The formula, broken into lines, with the atoms of failed clauses marked."""
    failed = {atom for part in parts if part.score < 1 for atom in _atoms_of_clause(part.name)}
    try:
        shown = to_pretty_text(parse(formula), _WIDTH)
    except FormulaError:
        shown = formula
    return element("pre", element("code", join(*_pieces(shown, failed))), class_="formula", tabindex="0")


def _pieces(shown: str, failed: set[str]) -> Iterator[Markup]:
    atoms = "|".join(re.escape(atom) for atom in sorted(failed))
    pattern = re.compile(f"(?P<failed>{atoms or '(?!)'})|(?P<word>{_WORDS})")
    place = 0
    for found in pattern.finditer(shown):
        yield text(shown[place : found.start()])
        if found["failed"]:
            yield element("mark", found.group(), title="not shown")
        else:
            yield element("b", found.group())
        place = found.end()
    yield text(shown[place:])


def _atoms_of_clause(name: str) -> Iterator[str]:
    """The atoms of a clause that would have had to hold; of a condition, those behind the `or`."""
    try:
        clause = parse(name)
    except FormulaError:
        return  # a question in words, or a clause that names its variables in another way
    literals = clause.parts if isinstance(clause, Or) else (clause,)
    wanted = [literal for literal in literals if isinstance(literal, Atom)]
    for literal in wanted or literals:
        yield str(_atom(literal))


def _atom(literal: Tree) -> Tree:
    return literal.body if isinstance(literal, Not) else literal
