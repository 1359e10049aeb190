"""Clauses, judged: what the best binding says of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.logic.lifting import Clause, ClauseKind
from formalimg.logic.proof import Bound


class WeighedClause(NamedTuple):
    """A clause, what it speaks about, and what it counts."""

    clause: Clause
    kind: ClauseKind
    weight: int


class JudgedClause(NamedTuple):
    """A clause, and whether it holds under the best binding.

    Attributes:
        clause: the clause.
        kind: what it speaks about; a clause about the instance that a strict `forall` wants is a `condition`.
        holds: whether it holds.
        reason: what can be read off the objects, with numbers; empty if nothing can.
        bindings: what its variables stand for, in the order of the clause; empty in a scene without objects.
        weight: what it counts.
    """

    clause: Clause
    kind: ClauseKind
    holds: bool
    reason: str
    bindings: tuple[Bound, ...]
    weight: int = 1


@dataclass(frozen=True)
class BestBinding:
    """The clauses of a formula in a scene.

    Attributes:
        clauses: the clauses of the lifted form, each judged.
        bindings: the number of the object that each variable stands for; empty in a scene without objects.
    """

    clauses: tuple[JudgedClause, ...]
    bindings: Mapping[str, int]

    @property
    def share(self) -> float:
        """The share of clauses that hold, by weight, 0 to 1; 1 if and only if the formula holds."""
        held = sum([clause.weight for clause in self.clauses if clause.holds])
        return held / sum([clause.weight for clause in self.clauses])
