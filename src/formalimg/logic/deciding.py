"""Deciding formulas exactly, with relations instead of assignments.

To assume a formula is to narrow the domains of its variables and to collect relations between them. Variables that
an `exists` binds are eliminated one at a time, cheapest first: the relations around a variable are joined and the
variable is forgotten, as in database query plans. A `forall` holds where no counterexample exists, and a
counterexample is an `exists` again. The work grows with the number of variables that hang together at once (one or
two for nearly all instructions), not with the number of variables.

For a formula so entangled that a table would grow too large, the outermost quantifier is decided value by value,
each value narrowing what is left, so that the answer is exact for every formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Literal, TypeAlias

from formalimg.logic.syntax import (
    And,
    Atom,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    children,
    subformulas,
)
from formalimg.logic.tables import (
    Domains,
    Edge,
    Relation,
    Table,
    TooWideError,
    complement,
    divide,
    join,
    project,
    union,
)
from formalimg.logic.variables import connected, existential_block
from formalimg.logic.world import World, members

Semantics: TypeAlias = Literal["strict", "classical"]
"""How `forall` reads: `strict` wants an instance to speak about, `classical` does not."""

Binding: TypeAlias = Mapping[str, int]
"""Which thing each variable stands for."""

_Claim: TypeAlias = tuple["Formula | Table", bool]
"""Something to be assumed: that a formula or table holds (True) or fails (False)."""


_MAX_TRIES = 200
"""How many values are tried before tables are made."""


class _Block:
    """What has been assumed so far, and the variables that `exists` has bound on the way.

    Claims that are more than literals wait until the domains are as narrow as literals make them.
    """

    __slots__ = ("bound", "domains", "relations", "tries_left", "waiting")

    def __init__(self, domains: Domains, bound: Iterable[str] = ()) -> None:
        self.domains = domains
        self.bound = list(bound)
        self.relations: list[Relation] = []
        self.waiting: list[tuple[Formula, bool]] = []
        self.tries_left = _MAX_TRIES

    def narrow(self, variable: str, things: int) -> bool:
        """Allow only these things for a variable; False if none is left."""
        left = self.domains[variable] & things
        self.domains[variable] = left
        return left != 0

    def add(self, table: Table) -> bool:
        """Assume that a table holds; False if that is impossible."""
        if not table.rows:
            return False
        if len(table.variables) == 1:
            return self.narrow(table.variables[0], table.rows[()])
        if table.variables:
            self.relations.append(table)
        return True

    def eliminate_bound(self) -> bool:
        """Forget every bound variable, keeping what it says about the others; False if that is impossible.

        First go the variables with one value or one neighbour left. Where all hang together more tightly, domains are
        narrowed; then a value is tried, if only a yes or no is asked for, or the variable goes whose table is smallest.
        """
        if not self.relations:
            return True
        around: dict[str, set[str]] = {name: {name} for name in self.bound}
        for relation in self.relations:
            for name in relation.variables:
                if name in around:
                    around[name].update(relation.variables)
        ready = [name for name in around if self._is_cheap(name, around[name])]
        propagated = False
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
                name = min(around, key=lambda name: self._table_size(around[name]) // self.domains[name].bit_count())
                if self.tries_left and self._is_closed(around):
                    found = self._try_values(around)
                    if found is not None:
                        return found
            neighbours = around.pop(name)
            neighbours.discard(name)
            settled = self._is_settled(name)
            if neighbours and not self._eliminate(name, neighbours, settled):
                return False
            for other in neighbours & around.keys():
                if not settled:  # a settled variable ties nothing together
                    around[other] |= neighbours
                around[other].discard(name)
                if self._is_cheap(other, around[other]):
                    ready.append(other)
        return True

    def _is_closed(self, around: Mapping[str, object]) -> bool:
        """Is nothing left to be said of any variable but the bound ones?"""
        return all(name in around for relation in self.relations for name in relation.variables)

    def _try_values(self, around: Mapping[str, object]) -> bool | None:
        """Is there a solution? By trying the values of the variable that has fewest; None if it takes too long.

        Most solutions, and most contradictions, are found within a few tries, much faster than by tables; tables
        are what keeps the few others from growing without bound.
        """
        name = min(around, key=lambda name: self.domains[name].bit_count())
        for value in members(self.domains[name]):
            if not self.tries_left:
                return None
            trial = _Block(dict(self.domains), around)
            trial.domains[name] = 1 << value
            trial.relations = list(self.relations)
            trial.tries_left = self.tries_left - 1
            if trial.eliminate_bound():
                self.relations = []
                return True
            self.tries_left = trial.tries_left
        return False

    def _is_settled(self, name: str) -> bool:
        """Has the variable only one value left?"""
        domain = self.domains[name]
        return domain & (domain - 1) == 0

    def _is_cheap(self, name: str, neighbours: set[str]) -> bool:
        """Can the variable be eliminated without a table? Its neighbours include itself."""
        return len(neighbours) <= 2 or self._is_settled(name)

    def _table_size(self, variables: set[str]) -> int:
        return prod(self.domains[name].bit_count() for name in variables)

    def _propagate(self) -> bool:
        """Narrow domains by each relation of two variables alone, until nothing changes; False if one is empty."""
        pairs = [relation for relation in self.relations if len(relation.variables) == 2]
        changed = True
        while changed:
            changed = False
            for relation in pairs:
                first, second = relation.variables
                for name, other in ((first, second), (second, first)):
                    before = self.domains[other]
                    if not self._semi_join(name, other, [relation]):
                        return False
                    changed |= self.domains[other] != before
        return True

    def _eliminate(self, name: str, neighbours: set[str], settled: bool) -> bool:
        touching: list[Relation] = []
        others: list[Relation] = []
        for relation in self.relations:
            (touching if name in relation.variables else others).append(relation)
        self.relations = others
        if settled:
            return all(self._reduce(relation, name) for relation in touching)
        if len(neighbours) == 1:
            return self._semi_join(name, next(iter(neighbours)), touching)
        return self.add(project(join(touching, (*sorted(neighbours), name), self.domains)))

    def _reduce(self, relation: Relation, name: str) -> bool:
        """Keep what a relation says once one of its variables is settled."""
        if len(relation.variables) == 2:
            first, second = relation.variables
            other = second if name == first else first
            return self.narrow(other, relation.partners(name, self.domains[name], self.domains[other]))
        others = [other for other in relation.variables if other != name]
        return self.add(project(join([relation], (*others, name), self.domains)))

    def _semi_join(self, name: str, other: str, relations: list[Relation]) -> bool:
        """Keep the values of the other variable for which some value of this one fits all relations."""
        domain = self.domains[name]
        if len(relations) == 1:
            return self.narrow(other, relations[0].partners(name, domain, self.domains[other]))
        kept = 0
        for value in members(self.domains[other]):
            fitting = domain
            for relation in relations:
                fitting = relation.partners(other, 1 << value, fitting)
            if fitting:
                kept |= 1 << value
        return self.narrow(other, kept)


class Decider:
    """Decides formulas in one world, under one semantics.

    Formulas must bind every name only once (see `rename_apart`), and the world must have no objection to their atoms.
    """

    def __init__(self, world: World, semantics: Semantics, style: str | None) -> None:
        self.world = world
        self.strict = semantics == "strict"
        self.style = style
        self._everything = (1 << len(world)) - 1
        # By identity, with the formula itself so that its identity is not given to another one.
        self._free: dict[int, tuple[Formula, tuple[str, ...]]] = {}

    # --- questions

    def holds(self, formula: Formula, binding: Binding) -> bool:
        """Does the formula hold when its free variables stand for these things?"""
        return self.satisfiable((), [formula], binding)

    def satisfiable(self, variables: Sequence[str], formulas: Sequence[Formula], binding: Binding) -> bool:
        """Are there things for these variables such that all formulas hold?"""
        if not self._everything:
            return not variables and all(self._holds_of_nothing(formula) for formula in formulas)
        try:
            block = self._block(variables, formulas, _as_domains(binding))
            return block is not None and bool(join(block.relations, tuple(binding), block.domains).rows)
        except TooWideError:
            return self._satisfiable_by_value(variables, formulas, binding)

    def selected(self, variable: str, others: Sequence[str], formulas: Sequence[Formula], binding: Binding) -> int:
        """The things for which, put for the variable, there are things for the others such that all formulas hold."""
        try:
            domains = {**_as_domains(binding), variable: self._everything}
            block = self._block(others, formulas, domains)
            if block is None:
                return 0
            return join(block.relations, (*binding, variable), block.domains).rows.get(tuple(binding.values()), 0)
        except TooWideError:
            things = range(len(self.world))
            allowed = (i for i in things if self.satisfiable(others, formulas, {**binding, variable: i}))
            return sum(1 << thing for thing in allowed)

    def first_binding(
        self, variables: Sequence[str], formulas: Sequence[Formula], binding: Binding
    ) -> dict[str, int] | None:
        """The first things, in their order, that can be put for the variables; None if there are none."""
        found = dict(binding)
        for place, name in enumerate(variables):
            possible = self.selected(name, variables[place + 1 :], formulas, found)
            if not possible:
                return None
            found[name] = next(members(possible))
        return found

    # --- value by value, where tables would be too large, and for the empty world

    def _satisfiable_by_value(self, variables: Sequence[str], formulas: Sequence[Formula], binding: Binding) -> bool:
        if variables:
            first, *rest = variables
            things = range(len(self.world))
            return any(self.satisfiable(rest, formulas, {**binding, first: thing}) for thing in things)
        if len(formulas) > 1:
            return all(self.holds(formula, binding) for formula in formulas)
        return self._holds_by_value(formulas[0], binding)

    def _holds_by_value(self, formula: Formula, binding: Binding) -> bool:
        match formula:
            case Not(body):
                return not self.holds(body, binding)
            case And(parts):
                return all(self.holds(part, binding) for part in parts)
            case Or(parts):
                return any(self.holds(part, binding) for part in parts)
            case Implies(antecedent, consequent):
                return not self.holds(antecedent, binding) or self.holds(consequent, binding)
            case Iff(left, right):
                return self.holds(left, binding) == self.holds(right, binding)
            case Exists(variable, body):
                return self.satisfiable([variable.name], [body], binding)
            case Forall(variable, body):
                things = range(len(self.world))
                if not all(self.holds(body, {**binding, variable.name: thing}) for thing in things):
                    return False
                if not self.strict or not isinstance(body, Implies):
                    return True
                return self.satisfiable([variable.name], [body.antecedent], binding)
            case Atom():
                raise AssertionError("an atom needs no table")

    def _holds_of_nothing(self, formula: Formula) -> bool:
        """Does a closed formula hold in the empty world?"""
        match formula:
            case Not(body):
                return not self._holds_of_nothing(body)
            case And(parts):
                return all(map(self._holds_of_nothing, parts))
            case Or(parts):
                return any(map(self._holds_of_nothing, parts))
            case Implies(antecedent, consequent):
                return not self._holds_of_nothing(antecedent) or self._holds_of_nothing(consequent)
            case Iff(left, right):
                return self._holds_of_nothing(left) == self._holds_of_nothing(right)
            case Exists():
                return False
            case Forall():
                return not self.strict
            case Atom():
                return self._style_is(formula)

    # --- assuming

    def _block(self, variables: Sequence[str], formulas: Sequence[Formula], domains: Domains) -> _Block | None:
        """All that the formulas say of the variables in the domains; None if they cannot all hold."""
        return self._settled(variables, [(formula, True) for formula in formulas], domains)

    def _settled(self, variables: Sequence[str], claims: Sequence[_Claim], domains: Domains) -> _Block | None:
        block = _Block({**domains, **dict.fromkeys(variables, self._everything)}, variables)
        for claim, holds in claims:
            if not self._assume(claim, holds, block):
                return None
        for waiting, holds in block.waiting:
            if not self._assume_waiting(waiting, holds, block):
                return None
        return block if block.eliminate_bound() else None

    def _assume(self, claim: Formula | Table, holds: bool, block: _Block) -> bool:
        """Narrow a block by the claim that a formula or table holds (or fails); False if that is impossible."""
        match claim:
            case Atom():
                return self._assume_atom(claim, holds, block)
            case Not(body):
                return self._assume(body, not holds, block)
            case And(parts) if holds:
                return self._assume_each(parts, True, block)
            case Or(parts) if not holds:
                return self._assume_each(parts, False, block)
            case Implies(antecedent, consequent) if not holds:
                return self._assume(antecedent, True, block) and self._assume(consequent, False, block)
            case Exists(variable, body) if holds:
                self._bind(variable, block)
                return self._assume(body, True, block)
            case Forall(variable, body) if not holds and not self._speaks_of_instances(body):
                self._bind(variable, block)
                return self._assume(body, False, block)
            case Table():
                return block.add(claim if holds else complement(claim, block.domains))
            case _:
                block.waiting.append((claim, holds))
                return True

    def _assume_each(self, parts: Sequence[Formula], holds: bool, block: _Block) -> bool:
        return all(self._assume(part, holds, block) for part in parts)

    def _assume_waiting(self, claim: Formula, holds: bool, block: _Block) -> bool:
        match claim:
            case And(parts) | Or(parts):
                return self._assume_any([((), [(part, holds)]) for part in parts], block)
            case Implies(antecedent, consequent):
                return self._assume_any([((), [(antecedent, False)]), ((), [(consequent, True)])], block)
            case Iff(left, right):
                return self._assume_iff(left, right, holds, block)
            case Forall(variable, Implies(antecedent, consequent)) if not holds:
                return self._assume_strict_failure(variable.name, antecedent, consequent, block)
            case Forall(variable, body) if holds:
                return self._assume_forall(variable.name, body, claim, block)
            case _:
                return self._assume_all((), (), claim, holds, block)

    def _speaks_of_instances(self, body: Formula) -> bool:
        """Does a `forall` over this body want an instance of the antecedent?"""
        return self.strict and isinstance(body, Implies)

    def _assume_atom(self, atom: Atom, holds: bool, block: _Block) -> bool:
        arguments = atom.arguments
        first, second = arguments[0], arguments[1] if len(arguments) > 1 else None
        if not isinstance(first, Variable):
            return self._style_is(atom) is holds
        if not isinstance(second, Variable):
            things = self.world.having(atom.predicate, second.text if second else None)
        elif second.name != first.name:
            block.relations.append(Edge(self.world, atom.predicate, (first.name, second.name), holds))
            return True
        else:
            singles = [1 << thing for thing in range(len(self.world))]
            things = sum(self.world.seconds(atom.predicate, single, single) for single in singles)
        return block.narrow(first.name, things if holds else ~things)

    def _style_is(self, atom: Atom) -> bool:
        return atom.arguments[0] == Value(self.style or "")

    def _bind(self, variable: Variable, block: _Block) -> None:
        block.domains[variable.name] = self._everything
        block.bound.append(variable.name)

    def _assume_any(self, choices: Sequence[tuple[tuple[str, ...], list[_Claim]]], block: _Block) -> bool:
        """Assume that at least one choice holds: some things for its variables make all its claims true."""
        tables = []
        for variables, claims in choices:
            table = self._table(variables, claims, block.domains)
            if table.rows and not table.variables:
                return True  # it holds whatever the variables stand for
            tables.append(table)
        return block.add(union(tables, block.domains))

    def _assume_iff(self, left: Formula, right: Formula, holds: bool, block: _Block) -> bool:
        one, other = (self._table((), [(side, True)], block.domains) for side in (left, right))
        both: list[_Claim] = [(one, True), (other, holds)]
        neither: list[_Claim] = [(one, False), (other, not holds)]
        return self._assume_any([((), both), ((), neither)], block)

    def _assume_forall(self, name: str, body: Formula, forall: Formula, block: _Block) -> bool:
        """Assume a `forall`; where its condition speaks of its own variable alone, by going through its instances."""
        antecedent, consequent = (body.antecedent, body.consequent) if isinstance(body, Implies) else (None, body)
        instances = self._everything
        if antecedent is not None:
            if self._free_variables(antecedent) != (name,):
                return self._assume_all((), (), forall, True, block)
            chosen = self._settled((), [(antecedent, True)], {name: instances})
            if chosen is None:
                return not self.strict
            instances = chosen.domains[name]
        domains = {**block.domains, name: instances}
        for variables, claims in self._independent(consequent):
            if not variables and isinstance(claims[0][0], Atom):
                if not self._assume_for_each(instances, name, claims[0][0], block):
                    return False
                continue
            table = self._table(variables, claims, domains, last=name)
            if not block.add(divide(table, instances) if table.variables[-1:] == (name,) else table):
                return False
        return True

    def _assume_for_each(self, instances: int, name: str, atom: Atom, block: _Block) -> bool:
        """Assume an atom for each of the things that can be put for one of its variables."""
        variables = atom.variables
        if name not in variables:
            return self._assume_atom(atom, True, block)
        if variables in ((name,), (name, name)):
            alone = _Block({name: instances})
            return self._assume_atom(atom, True, alone) and alone.domains[name] == instances
        first, second = variables
        other = second if name == first else first
        edge = Edge(self.world, atom.predicate, (first, second), True)
        for thing in members(instances):
            if not block.narrow(other, edge.partners(name, 1 << thing, block.domains[other])):
                return False
        return True

    def _independent(self, formula: Formula) -> Iterator[tuple[list[str], list[_Claim]]]:
        """The conjuncts of a formula, in groups that share none of the variables it binds by `exists`.

        Each group can be settled for itself, so that it ties only those of the other variables that it mentions.
        """
        variables, claims = existential_block(formula)
        tied: list[Formula] = []
        for claim in claims:
            if any(name in variables for name in self._free_variables(claim)):
                tied.append(claim)
            else:
                yield [], [(claim, True)]
        inner = frozenset(variables)
        for names, group in connected([inner.intersection(self._free_variables(claim)) for claim in tied]):
            yield [name for name in variables if name in names], [(tied[index], True) for index in group]

    def _assume_strict_failure(self, name: str, antecedent: Formula, consequent: Formula, block: _Block) -> bool:
        """Assume that a strict `forall` fails: by a counterexample, or for want of an instance."""
        known = self._once(antecedent, name, block.domains)
        instances = self._table((name,), [(known, True)], block.domains)
        counterexample: list[_Claim] = [(known, True), (consequent, False)]
        return self._assume_any([((name,), counterexample), ((), [(instances, False)])], block)

    def _assume_all(
        self, variables: tuple[str, ...], given: tuple[_Claim, ...], body: Formula, holds: bool, block: _Block
    ) -> bool:
        """Assume: whatever things the variables stand for, if the given claims are true, so is the one on the body."""
        match body:
            case Not(inner):
                return self._assume_all(variables, given, inner, not holds, block)
            case And(parts) if holds:
                return all(self._assume_all(variables, given, part, True, block) for part in parts)
            case Or(parts) if not holds:
                return all(self._assume_all(variables, given, part, False, block) for part in parts)
            case And(parts) | Or(parts):
                *others, last = parts
                more = tuple((part, not holds) for part in others)
                return self._assume_all(variables, (*given, *more), last, holds, block)
            case Implies(antecedent, consequent) if holds:
                return self._assume_all(variables, (*given, (antecedent, True)), consequent, True, block)
            case Forall(variable, Implies(antecedent, consequent)) if holds and self.strict:
                inner_domains = {**block.domains, **dict.fromkeys(variables, self._everything)}
                known = self._once(antecedent, variable.name, inner_domains)
                instances = self._table((variable.name,), [(known, True)], inner_domains)
                if not self._assume_none(variables, (*given, (instances, False)), block):
                    return False
                inner_given: tuple[_Claim, ...] = (*given, (known, True))
                return self._assume_all((*variables, variable.name), inner_given, consequent, True, block)
            case Forall(variable, inner) if holds:
                return self._assume_all((*variables, variable.name), given, inner, True, block)
            case Exists(variable, inner) if not holds:
                return self._assume_all((*variables, variable.name), given, inner, False, block)
            case _:
                return self._assume_none(variables, (*given, (body, not holds)), block)

    def _assume_none(self, variables: tuple[str, ...], claims: Sequence[_Claim], block: _Block) -> bool:
        """Assume that no things for the variables make all claims true."""
        if not variables and len(claims) == 1:
            return self._assume(claims[0][0], not claims[0][1], block)
        counterexamples = self._table(variables, claims, block.domains)
        return block.add(complement(counterexamples, block.domains))

    # --- tables of formulas

    def _table(
        self, variables: Sequence[str], claims: Sequence[_Claim], domains: Domains, last: str | None = None
    ) -> Table:
        """For which values of their free variables can all claims be made true by things for `variables`?

        The table covers the values within the domains. If `last` is among its variables, it is the last one.
        """
        free = dict.fromkeys([name for claim, _ in claims for name in self._free_variables(claim)])
        for name in variables:
            free.pop(name, None)
        if last in free:
            del free[last]
            free[last] = None
        block = self._settled(variables, claims, {name: domains[name] for name in free})
        return join(block.relations, tuple(free), block.domains) if block else Table(tuple(free), {})

    def _once(self, formula: Formula, variable: str, domains: Domains) -> Formula | Table:
        """A formula that will be assumed more than once: as a table, unless it can be had cheaper as it is."""
        quantified = any(isinstance(node, Exists | Forall) for node in subformulas(formula))
        if quantified or len(self._free_variables(formula)) == 1:
            return self._table((), [(formula, True)], {**domains, variable: self._everything})
        return formula

    def _free_variables(self, claim: Formula | Table) -> tuple[str, ...]:
        if isinstance(claim, Atom | Table):
            return claim.variables
        known = self._free.get(id(claim))
        if known is None:
            names: dict[str, None] = {}
            for part in children(claim):
                names.update(dict.fromkeys(self._free_variables(part)))
            if isinstance(claim, Exists | Forall):
                names.pop(claim.variable.name, None)
            known = self._free[id(claim)] = (claim, tuple(names))
        return known[1]


def _as_domains(binding: Binding) -> Domains:
    return {name: 1 << thing for name, thing in binding.items()}
