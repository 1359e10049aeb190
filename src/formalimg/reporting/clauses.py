"""Clauses by what they claim: failures are counted for the predicate that failed, not for the condition it hangs on.

`(or (not (Is ?x 'cup')) (HasColor ?x 'red'))` claims that cups are red. When it fails, there is a cup, and its colour
is wrong: the failure is one of `HasColor`, and `Is` was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from formalimg.judges import Part
from formalimg.logic import Not, Or, atoms, try_parse

if TYPE_CHECKING:
    from formalimg.reporting.model import RunRow, Tally

_CONDITION = "condition"


def claimed_predicates(part: Part) -> tuple[str, ...]:
    """Return the words that a part is counted under: all that it is about, of a conditional clause those it claims."""
    return _claims(part.name, part.about) if part.kind == _CONDITION else part.about


@lru_cache(maxsize=100_000)
def _claims(clause: str, about: tuple[str, ...]) -> tuple[str, ...]:
    """Return the predicates that a disjunction claims: of the literals without `not`; if all have one, of the last."""
    if not clause.startswith("(or"):
        return about
    formula, _ = try_parse(clause)
    if not isinstance(formula, Or):  # a judge may name its parts as it likes
        return about
    claims = tuple(literal for literal in formula.parts if not isinstance(literal, Not)) or formula.parts[-1:]
    return tuple(sorted({atom.predicate for claim in claims for atom in atoms(claim)}))


def clause_lines(row: RunRow) -> Iterator[dict[str, object]]:
    """Yield the clauses of a run for CSV files, by kind and by predicate: how many were judged, and how many hold."""
    yield from _lines("clause kind", row.kinds)
    yield from _lines("predicate", row.predicates)


def _lines(figure: str, tallies: Mapping[str, Tally]) -> Iterator[dict[str, object]]:
    for name, tally in tallies.items():
        counts = {"passed": tally.asked - tally.failed, "scored": tally.asked, "expected": tally.asked}
        yield {"figure": figure, "name": name, **counts, "value": 1 - tally.share}
