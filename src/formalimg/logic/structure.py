"""What hangs together in a formula, whatever the scene: worked out once, used in many scenes."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.logic.syntax import Atom, Exists, Forall, Formula, children
from formalimg.logic.variables import connected, existential_block


class Group(NamedTuple):
    """Conjuncts that share variables which are bound by `exists` around them.

    Attributes:
        variables: these variables.
        claims: the conjuncts; each is claimed to hold.
        mentioned: all variables that are free in them.
    """

    variables: tuple[str, ...]
    claims: tuple[tuple[Formula, bool], ...]
    mentioned: frozenset[str]


class Structure:
    """Remembers the structure of formulas, by identity: to compare formulas takes longer than to take them apart.

    It may be used by several threads. Keep it only as long as the formulas.
    """

    def __init__(self) -> None:
        # With the formula itself: so its identity is given to no other one, unless this was copied or sent elsewhere.
        self._free: dict[int, tuple[Formula, tuple[str, ...]]] = {}
        self._groups: dict[int, tuple[Formula, tuple[Group, ...]]] = {}

    def free_variables(self, formula: Formula) -> tuple[str, ...]:
        """The variables that nothing in a formula binds, in the order of the text; of an atom all it has."""
        known = self._free.get(id(formula))
        if known is None or known[0] is not formula:
            known = self._free[id(formula)] = (formula, self._found_free(formula))
        return known[1]

    def groups(self, formula: Formula) -> tuple[Group, ...]:
        """The conjuncts of a formula, in groups that share none of the variables it binds by `exists`.

        Each group can be settled for itself, so that it ties only those of the other variables that it mentions.
        """
        known = self._groups.get(id(formula))
        if known is None or known[0] is not formula:
            known = self._groups[id(formula)] = (formula, self._found_groups(formula))
        return known[1]

    def _found_free(self, formula: Formula) -> tuple[str, ...]:
        if isinstance(formula, Atom):
            return formula.variables
        names: dict[str, None] = {}
        for part in children(formula):
            names.update(dict.fromkeys(self.free_variables(part)))
        if isinstance(formula, Exists | Forall):
            names.pop(formula.variable.name, None)
        return tuple(names)

    def _found_groups(self, formula: Formula) -> tuple[Group, ...]:
        variables, claims = existential_block(formula)
        inner = frozenset(variables)
        tied = [claim for claim in claims if not inner.isdisjoint(self.free_variables(claim))]
        alone = [self._group([], [claim]) for claim in claims if inner.isdisjoint(self.free_variables(claim))]
        together = [
            self._group([name for name in variables if name in names], [tied[index] for index in members])
            for names, members in connected([inner.intersection(self.free_variables(claim)) for claim in tied])
        ]
        return (*alone, *together)

    def _group(self, variables: list[str], claims: list[Formula]) -> Group:
        mentioned = frozenset(name for claim in claims for name in self.free_variables(claim))
        return Group(tuple(variables), tuple((claim, True) for claim in claims), mentioned)
