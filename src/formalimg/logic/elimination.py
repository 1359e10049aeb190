"""Eliminate variables from a set of constraints while preserving their consequences for the remaining variables.

As in databases, the relations around a variable are joined, and the variable is dropped. A variable with one value or
one neighbour only narrows the domains of its neighbours (semi-joins); if the relations form a tree, this decides the
formula in linear time. Formulas are flattened to literals only once for all worlds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from formalimg._util.lazy import lazy_property
from formalimg.logic.syntax import And, Atom, Exists, Forall, Formula, Implies, Not, Or, Variable
from formalimg.logic.world import AtomRelation, Domains, Relation, RelationTable, WorldQuery, join, members, project

_Neighbours: TypeAlias = dict[str, list[tuple[str, list[Relation]]]]
"""The neighbours of each variable, each with all relations between the two."""


class LinkGraph:
    """Graph of the variables that are connected by binary relations, excluding eliminated variables."""

    __slots__ = ("_neighbours", "degrees")

    def __init__(self, neighbours: _Neighbours, degrees: dict[str, int]) -> None:
        self._neighbours = neighbours
        self.degrees = degrees  # how many neighbours each variable still has, without eliminated variables

    @classmethod
    def of(cls, relations: Iterable[Relation]) -> LinkGraph:
        """Build the graph for the given binary relations."""
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
        """Return a copy, so that eliminating variables from it leaves this graph unchanged."""
        return LinkGraph(self._neighbours, self.degrees.copy())

    def eliminate(
        self, bound: Sequence[str], domains: Domains, whole: str | None, query: WorldQuery
    ) -> list[str] | None:
        """Eliminate bound variables with a single value or at most one neighbour until none are left."""
        neighbours, degrees = self._neighbours, self.degrees
        remaining = set(bound)
        ready = [name for name in bound if degrees.get(name, 0) == 1 or not domains[name] & (domains[name] - 1)]
        while ready:
            name = ready.pop()
            if name not in remaining:
                continue
            remaining.remove(name)
            if degrees.pop(name, 0) == 0:
                continue
            values = domains[name]
            is_single = not values & (values - 1)
            for neighbour, relations in neighbours[name]:
                if neighbour not in degrees:
                    continue
                narrowed = before = domains[neighbour]
                if is_single or len(relations) == 1:
                    for relation in relations:
                        narrowed = relation.partners(name, values, narrowed, query)
                else:
                    narrowed = semi_join(relations, name, neighbour, domains, query)
                if narrowed != before:
                    if not narrowed or neighbour == whole:
                        return None
                    domains[neighbour] = narrowed
                degrees[neighbour] = degree = degrees[neighbour] - 1
                if (degree < 2 or not narrowed & (narrowed - 1)) and neighbour in remaining:
                    ready.append(neighbour)
        return [name for name in bound if name in remaining and name in degrees] if remaining else []


class AtomRelations(tuple[AtomRelation, ...]):
    """Binary relations stated by the atoms of a formula. Their link graph is built once and reused for every world."""

    @lazy_property
    def graph(self) -> LinkGraph:
        """The link graph before any elimination. Copy it before eliminating variables."""
        return LinkGraph.of(self)


def semi_join(relations: Sequence[Relation], name: str, neighbour: str, domains: Domains, query: WorldQuery) -> int:
    """Return the values of `neighbour` for which some value of `name` satisfies all relations between the two."""
    values, among = domains[name], domains[neighbour]
    if len(relations) == 1:
        return relations[0].partners(name, values, among, query)
    query.take(len(relations) * among.bit_count())
    matches = 0
    for value in members(among):
        fitting = values
        for relation in relations:
            fitting = relation.partners(neighbour, 1 << value, fitting, query)
        if fitting:
            matches |= 1 << value
    return matches


UnaryClaim: TypeAlias = tuple[str, str, str | None, bool]
"""That a predicate of one variable holds, or fails: the variable, the predicate, its word, and whether it holds."""


class FlatClaim(NamedTuple):
    """A conjunction of claims, split into bound variables, literals and postponed complex claims."""

    bound: tuple[str, ...]  # the variables that are bound by `exists`
    unary: tuple[UnaryClaim, ...]  # literals of one variable
    relations: AtomRelations  # literals of two variables
    other_atoms: tuple[tuple[Atom, bool], ...]  # other atoms: about the style, or about one variable twice
    postponed: tuple[tuple[Formula, bool], ...]  # claims that are more than literals
    steps: int  # how many claims they came from


def flatten_claims(claims: Iterable[tuple[Formula, bool]], strict: bool) -> FlatClaim:
    """Flatten the claims that each formula holds or fails into a single conjunction."""
    flattening = _Flattening(strict)
    for formula, holds in claims:
        flattening.add(formula, holds)
    return FlatClaim(
        tuple(flattening.bound),
        tuple(flattening.unary),
        AtomRelations(flattening.relations),
        tuple(flattening.others),
        tuple(flattening.postponed),
        flattening.steps,
    )


class ConjunctClaims(tuple[tuple[Formula, bool], ...]):
    """A conjunction of claims that is used in many worlds and flattened only once."""

    def flat(self, strict: bool) -> FlatClaim:
        """Return the flattened claims for strict or classical semantics."""
        flat: FlatClaim | None = self.__dict__.get("strict" if strict else "classical")
        if flat is None:
            flat = self.__dict__["strict" if strict else "classical"] = flatten_claims(self, strict)
        return flat


class _Flattening:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.bound: list[str] = []
        self.unary: list[UnaryClaim] = []
        self.relations: list[AtomRelation] = []
        self.others: list[tuple[Atom, bool]] = []
        self.postponed: list[tuple[Formula, bool]] = []
        self.steps = 0

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
            case Forall(variable, body) if not holds and not (self.strict and isinstance(body, Implies)):
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


_MAX_TRIES = 200  # How many values are tried before tables are built


class ConstraintBlock:
    """The constraints assumed so far and the variables bound by `exists`.

    Claims that are more complex than literals are postponed until the literals have narrowed the domains.
    """

    __slots__ = ("bound", "domains", "graph", "postponed", "query", "relations", "tries_left", "whole")

    def __init__(self, domains: Domains, query: WorldQuery, bound: Iterable[str] = ()) -> None:
        self.domains = domains
        self.query = query
        self.bound = list(bound)
        self.relations: Sequence[Relation] = ()
        self.graph: LinkGraph | None = None  # of the relations, once it is known
        self.postponed: list[tuple[Formula, bool]] = []
        self.tries_left = _MAX_TRIES
        self.whole: str | None = None  # a variable that may lose no value: the block fails if it does

    def narrow(self, variable: str, objects: int) -> bool:
        """Restrict a variable to the given objects. Return False if none remain or if `whole` loses a value."""
        before = self.domains[variable]
        remaining = before & objects
        self.domains[variable] = remaining
        return remaining != 0 if variable != self.whole else remaining == before

    def add(self, table: RelationTable) -> bool:
        """Add the constraint that a table holds. Return False on a contradiction."""
        if not table.rows:
            return False
        if len(table.variables) == 1:
            return self.narrow(table.variables[0], table.rows[()])
        if table.variables:
            self.relations = [*self.relations, table]
        return True

    def eliminate_bound(self) -> bool:
        """Eliminate every bound variable, preserving its effect on the others. Return False on a contradiction.

        Variables with one value or one neighbour are eliminated first. If none are left, domains are narrowed by
        propagation. After that, individual values are tried if only satisfiability matters; otherwise the variable with
        the smallest table is eliminated.
        """
        relations = self.relations
        if not relations:
            return True
        self.query.left -= len(relations) ** 2 // 32  # each eliminated variable scans all of them
        remaining: Sequence[str] = self.bound
        propagated = (
            isinstance(relations, AtomRelations) or max([len(relation.variables) for relation in relations]) == 2
        )
        if propagated:
            linked = self._eliminate_without_tables(remaining)
            if linked:
                linked = self._eliminate_without_tables(linked) if self._propagate() else None
            if not linked:
                return linked is not None
            remaining = linked
        around: dict[str, set[str]] = {name: {name} for name in remaining}
        for relation in self.relations:
            for name in relation.variables:
                if name in around:
                    around[name].update(relation.variables)
        ready = [name for name in around if self._is_cheap(name, around[name])]
        while around:
            if ready:
                name = ready.pop()
                if name not in around:
                    continue
            elif not propagated:
                propagated = True
                if not self._propagate():
                    return False
                ready = [name for name in around if self._is_cheap(name, around[name])]
                continue
            else:
                self.query.take(len(around) + len(self.relations))
                sizes = {name: self.domains[name].bit_count() for variables in around.values() for name in variables}
                name = min(around, key=lambda name: prod(sizes[other] for other in around[name]) // sizes[name])
                names = (variable for relation in self.relations for variable in relation.variables)
                if self.tries_left and all(variable in around for variable in names):
                    satisfiable = self._try_values(around)
                    if satisfiable is not None:
                        return satisfiable
            neighbours = around.pop(name)
            neighbours.discard(name)
            settled = self._is_settled(name)
            if neighbours and not self._eliminate(name, neighbours, settled):
                return False
            touched = neighbours & around.keys()
            for neighbour in touched if len(touched) < 2 else sorted(touched):  # so that steps are deterministic
                if not settled:  # a settled variable links nothing
                    around[neighbour] |= neighbours
                around[neighbour].discard(name)
                if self._is_cheap(neighbour, around[neighbour]):
                    ready.append(neighbour)
        return True

    def _eliminate_without_tables(self, bound: Sequence[str]) -> Sequence[str] | None:
        """Eliminate variables with one value or one neighbour. Requires all relations to be binary."""
        relations, graph = self.relations, self.graph
        if graph is None:
            graph = relations.graph.copy() if isinstance(relations, AtomRelations) else LinkGraph.of(relations)
            self.graph = graph
        remaining = graph.eliminate(bound, self.domains, self.whole, self.query)
        linked = graph.degrees
        if linked:
            self.relations = [
                relation
                for relation in relations
                if relation.variables[0] in linked and relation.variables[1] in linked
            ]
        else:
            self.relations = ()
        return remaining

    def _try_values(self, around: Mapping[str, object]) -> bool | None:
        """Search by trying the values of the smallest domain. Return None if the search takes too long."""
        name = min(around, key=lambda name: self.domains[name].bit_count())
        for value in members(self.domains[name]):
            if not self.tries_left:
                return None
            trial = ConstraintBlock(dict(self.domains), self.query, around)
            trial.domains[name] = 1 << value
            trial.relations = self.relations
            trial.graph = self.graph.copy() if self.graph else None
            trial.tries_left = self.tries_left - 1
            if trial.eliminate_bound():
                self.relations = ()
                return True
            self.tries_left = trial.tries_left
        return False

    def _is_settled(self, name: str) -> bool:
        domain = self.domains[name]
        return domain & (domain - 1) == 0

    def _is_cheap(self, name: str, neighbours: set[str]) -> bool:
        """Return whether the variable can be eliminated without building a table. `neighbours` includes `name`."""
        return len(neighbours) <= 2 or self._is_settled(name)

    def _propagate(self) -> bool:
        """Enforce arc consistency over the binary relations. Return False if a domain becomes empty."""
        pairs = [relation for relation in self.relations if len(relation.variables) == 2]
        stale: set[str] | None = None  # variables that were narrowed in the round before; in the first, all count
        while True:
            changed: set[str] = set()
            for relation in pairs:
                first, second = relation.variables
                self.query.take(5 + (self.domains[first].bit_count() + self.domains[second].bit_count()) // 8)
                for name, partner in ((first, second), (second, first)):
                    if stale is not None and name not in stale and name not in changed:
                        continue
                    before = self.domains[partner]
                    if not self.narrow(partner, relation.partners(name, self.domains[name], before, self.query)):
                        return False
                    if self.domains[partner] != before:
                        changed.add(partner)
            if not changed:
                return True
            stale = changed

    def _eliminate(self, name: str, neighbours: set[str], settled: bool) -> bool:
        touching: list[Relation] = []
        untouched: list[Relation] = []
        for relation in self.relations:
            (touching if name in relation.variables else untouched).append(relation)
        self.relations, self.graph = untouched, None
        if settled:
            return all(self._reduce(relation, name) for relation in touching)
        if len(neighbours) == 1:
            neighbour = next(iter(neighbours))
            return self.narrow(neighbour, semi_join(touching, name, neighbour, self.domains, self.query))
        return self.add(project(join(touching, (*sorted(neighbours), name), self.domains, self.query)))

    def _reduce(self, relation: Relation, name: str) -> bool:
        """Replace a relation by the constraint on its other variables, given that `name` has a single value."""
        if len(relation.variables) == 2:
            first, second = relation.variables
            partner = second if name == first else first
            return self.narrow(partner, relation.partners(name, self.domains[name], self.domains[partner], self.query))
        remaining = [variable for variable in relation.variables if variable != name]
        return self.add(project(join([relation], (*remaining, name), self.domains, self.query)))
