"""Flat claims: what it means that a formula holds, or fails, as literals, bound variables and what is more than that.

This does not depend on the world, so that a formula which is verified in many scenes is taken apart only once. With the
claims comes the graph of the variables that their relations link. A variable with one value left, or with one
neighbour, is eliminated by narrowing the domains of its neighbours (semi-joins). Where relations link variables as a
tree, that decides everything, in time linear in their number; that is so for nearly all instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from formalimg._util.lazy import lazy_property
from formalimg.logic.syntax import And, Atom, Exists, Forall, Formula, Implies, Not, Or, Variable
from formalimg.logic.world import AtomRelation, Domains, Relation, WorldQuery, members

_Neighbours: TypeAlias = dict[str, list[tuple[str, list[Relation]]]]
"""The neighbours of each variable, each with all relations between the two."""


class LinkGraph:
    """The variables that relations of two variables link, without those that were eliminated.

    Attributes:
        degrees: how many neighbours each variable still has; eliminated variables are left out.
    """

    __slots__ = ("_neighbours", "degrees")

    def __init__(self, neighbours: _Neighbours, degrees: dict[str, int]) -> None:
        self._neighbours = neighbours
        self.degrees = degrees

    @classmethod
    def of(cls, relations: Iterable[Relation]) -> LinkGraph:
        """Return the graph of these relations."""
        links: dict[str, dict[str, list[Relation]]] = {}
        for relation in relations:
            first, second = relation.variables
            between = links.setdefault(first, {}).setdefault(second, [])
            between.append(relation)
            links.setdefault(second, {})[first] = between
        return cls(
            {name: [*around.items()] for name, around in links.items()},
            {name: len(around) for name, around in links.items()},
        )

    def copy(self) -> LinkGraph:
        """Return a graph from which variables can be eliminated without a change to this one."""
        return LinkGraph(self._neighbours, self.degrees.copy())

    def eliminate(
        self, bound: Sequence[str], domains: Domains, whole: str | None, query: WorldQuery
    ) -> list[str] | None:
        """Eliminate bound variables with one value or one neighbour, as long as there are any."""
        neighbours, degrees = self._neighbours, self.degrees
        left = set(bound)
        ready = [name for name in bound if degrees.get(name, 0) == 1 or not domains[name] & (domains[name] - 1)]
        while ready:
            name = ready.pop()
            if name not in left:
                continue
            left.remove(name)
            if degrees.pop(name, 0) == 0:
                continue
            values = domains[name]
            is_single = not values & (values - 1)
            for other, relations in neighbours[name]:
                if other not in degrees:
                    continue
                kept = before = domains[other]
                if is_single or len(relations) == 1:
                    for relation in relations:
                        kept = relation.partners(name, values, kept, query)
                else:
                    kept = semi_join(relations, name, other, domains, query)
                if kept != before:
                    if not kept or other == whole:
                        return None
                    domains[other] = kept
                degrees[other] = degree = degrees[other] - 1
                if (degree < 2 or not kept & (kept - 1)) and other in left:
                    ready.append(other)
        return [name for name in bound if name in left and name in degrees] if left else []


class AtomRelations(tuple[AtomRelation, ...]):
    """Relations that the atoms of a formula state: the same in every world, so that their graph is found once."""

    @lazy_property
    def graph(self) -> LinkGraph:
        """The graph before any variable is eliminated: to be copied."""
        return LinkGraph.of(self)


def semi_join(relations: Sequence[Relation], name: str, other: str, domains: Domains, query: WorldQuery) -> int:
    """Return the values of the other variable for which some value of this one satisfies all relations of the two."""
    values, among = domains[name], domains[other]
    if len(relations) == 1:
        return relations[0].partners(name, values, among, query)
    query.take(len(relations) * among.bit_count())
    kept = 0
    for value in members(among):
        fitting = values
        for relation in relations:
            fitting = relation.partners(other, 1 << value, fitting, query)
        if fitting:
            kept |= 1 << value
    return kept


UnaryClaim: TypeAlias = tuple[str, str, str | None, bool]
"""That a predicate of one variable holds, or fails: the variable, the predicate, its word, and whether it holds."""


class FlatClaim(NamedTuple):
    """What all must be so."""

    bound: tuple[str, ...]  # the variables that are bound by `exists`
    unary: tuple[UnaryClaim, ...]  # literals of one variable
    relations: AtomRelations  # literals of two variables
    others: tuple[tuple[Atom, bool], ...]  # other atoms: about the style, or about one variable twice
    postponed: tuple[tuple[Formula, bool], ...]  # claims that are more than literals
    steps: int  # how many claims they came from


def needs_instance(body: Formula, strict: bool) -> bool:
    """Return whether a `forall` over this body requires an instance of the antecedent."""
    return strict and isinstance(body, Implies)


def flatten_claim(formula: Formula, holds: bool, strict: bool) -> FlatClaim:
    """Return what it means that a formula holds, or fails."""
    flattening = _Flattening(strict)
    flattening.add(formula, holds)
    return flattening.result()


class ConjunctClaims(tuple[tuple[Formula, bool], ...]):
    """Claims that are made together in many worlds: they are flattened once."""

    def flat(self, strict: bool) -> FlatClaim:
        """Return what it means that all are true, as `flatten_claim` does."""
        known: FlatClaim | None = self.__dict__.get("strict" if strict else "classical")
        if known is None:
            flattening = _Flattening(strict)
            for formula, holds in self:
                flattening.add(formula, holds)
            known = self.__dict__["strict" if strict else "classical"] = flattening.result()
        return known


class _Flattening:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.bound: list[str] = []
        self.unary: list[UnaryClaim] = []
        self.relations: list[AtomRelation] = []
        self.others: list[tuple[Atom, bool]] = []
        self.postponed: list[tuple[Formula, bool]] = []
        self.steps = 0

    def result(self) -> FlatClaim:
        return FlatClaim(
            tuple(self.bound),
            tuple(self.unary),
            AtomRelations(self.relations),
            tuple(self.others),
            tuple(self.postponed),
            self.steps,
        )

    def add(self, formula: Formula, holds: bool) -> None:
        match formula:
            case Atom():
                self.add_atom(formula, holds)
            case Not(body):
                self.add(body, not holds)
            case And(parts) if holds:
                self.add_each(parts, True)
            case Or(parts) if not holds:
                self.add_each(parts, False)
            case Implies(antecedent, consequent) if not holds:
                self.add(antecedent, True)
                self.add(consequent, False)
            case Exists(variable, body) if holds:
                self.bound.append(variable.name)
                self.add(body, True)
            case Forall(variable, body) if not holds and not needs_instance(body, self.strict):
                self.bound.append(variable.name)
                self.add(body, False)
            case _:
                self.postponed.append((formula, holds))

    def add_each(self, parts: tuple[Formula, ...], holds: bool) -> None:
        self.steps += len(parts)
        for part in parts:
            self.add(part, holds)

    def add_atom(self, atom: Atom, holds: bool) -> None:
        match atom.arguments:
            case (Variable(name), Variable(other)) if name != other:
                self.relations.append(AtomRelation(atom.predicate, (name, other), holds))
            case (Variable(), Variable()):
                self.others.append((atom, holds))
            case (Variable(name), word):
                self.unary.append((name, atom.predicate, word.text, holds))  # type: ignore[union-attr]
            case (Variable(name),):
                self.unary.append((name, atom.predicate, None, holds))
            case _:
                self.others.append((atom, holds))
