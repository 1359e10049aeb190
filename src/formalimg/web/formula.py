"""A formula as an indented tree in which each atom shows how the clauses that it stands in fared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from formalimg.judges import Part
from formalimg.logic import FormulaError, Not, Or, parse, to_pretty_text

WIDTH = 64
"""Of formulas on pages, in characters."""

_WORDS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall)(?=[\s)])"
_ATOMS = r"\([A-Z]\w*(?:\s+[^()]*)?\)"

Sort: TypeAlias = Literal["holds", "fails", "open", "word", ""]


class Piece(NamedTuple):
    """Some text of a formula: an atom that holds, fails or is open, a word of the language, or what is between."""

    text: str
    sort: Sort


def formula_pieces(formula: str, parts: Sequence[Part]) -> list[Piece]:
    """The formula, broken into lines, with its atoms told apart by the clauses that the judge decided."""
    try:
        shown = to_pretty_text(parse(formula), WIDTH)
    except FormulaError:
        shown = formula
    fared: dict[str, Sort] = {}
    for part in sorted(parts, key=lambda part: -part.score):  # what fails anywhere is shown as failed
        fared |= dict.fromkeys(_atoms_of_clause(part.name), "holds" if part.score >= 1 else "fails")
    return list(_pieces(shown, fared))


def _pieces(shown: str, fared: dict[str, Sort]) -> Iterator[Piece]:
    place = 0
    for found in re.finditer(f"(?P<word>{_WORDS})|(?P<atom>{_ATOMS})", shown):
        yield Piece(shown[place : found.start()], "")
        sort: Sort = "word" if found["word"] else fared.get(" ".join(found.group().split()), "open")
        yield Piece(found.group(), sort)
        place = found.end()
    yield Piece(shown[place:], "")


def _atoms_of_clause(name: str) -> Iterator[str]:
    try:
        clause = parse(name)
    except FormulaError:
        return  # a question in words, or a clause that names its variables in another way
    for literal in clause.parts if isinstance(clause, Or) else (clause,):
        yield str(literal.body if isinstance(literal, Not) else literal)
