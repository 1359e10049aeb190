"""Translate formulas into constraints: narrower domains for their variables and relations between them.

An atom of one variable narrows a domain, and an atom of two is a relation. A disjunction is a union of tables, and a
negation a complement. A `forall` holds if no counterexample exists; if its instances are known, it is a division.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from formalimg.logic.elimination import ConjunctClaims, ConstraintBlock, FlatClaim
from formalimg.logic.syntax import (
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    subformulas,
)
from formalimg.logic.variables import FormulaStructure
from formalimg.logic.world import (
    AtomRelation,
    Domains,
    RelationTable,
    World,
    WorldQuery,
    complement,
    divide,
    join,
    keep_counts,
    members,
    union,
)

Semantics: TypeAlias = Literal["strict", "classical"]
"""How `forall` reads: `strict` requires an instance of its condition, `classical` does not."""

_Claim: TypeAlias = tuple["Formula | RelationTable", bool]
"""Something to be assumed: that a formula or table holds (True) or fails (False)."""


class ConstraintBuilder:
    """Translates formulas to constraints in one world, under one semantics.

    Formulas must bind every name only once (see `rename_apart`), and the world must support all of their atoms.
    """

    def __init__(self, world: World, semantics: Semantics, style: str | None, structure: FormulaStructure) -> None:
        self.world = world
        self.query = WorldQuery(world)
        self.strict = semantics == "strict"
        self.style = style
        self.everything = (1 << len(world)) - 1
        self._structure = structure

    def block(self, variables: Sequence[str], formulas: Sequence[Formula], domains: Domains) -> ConstraintBlock | None:
        """Return the constraints that the formulas impose on the variables, or None if they cannot all hold."""
        return self._build(variables, [(formula, True) for formula in formulas], domains)

    def _build(
        self, variables: Sequence[str], claims: Sequence[_Claim], domains: Domains, whole: str | None = None
    ) -> ConstraintBlock | None:
        """Return the constraints that the claims impose, or None if they conflict or exclude a value of `whole`."""
        self.query.take(len(claims) + 10)
        block = ConstraintBlock({**domains, **dict.fromkeys(variables, self.everything)}, self.query, variables)
        block.whole = whole
        if isinstance(claims, ConjunctClaims):
            if not self._assume_flat(claims.flat(self.strict), block):
                return None
        else:
            for claim, holds in claims:
                if not self._assume(claim, holds, block):
                    return None
        for postponed, holds in block.postponed:
            if not self._assume_complex(postponed, holds, block):
                return None
        return block if block.eliminate_bound() else None

    def _assume(self, claim: Formula | RelationTable, holds: bool, block: ConstraintBlock) -> bool:
        """Narrow a block by assuming that a formula or table holds (or fails). Return False on a contradiction."""
        if isinstance(claim, RelationTable):
            return block.add(claim if holds else complement(claim, block.domains, self.query))
        return self._assume_flat(self._structure.flat(claim, holds, self.strict), block)

    def _assume_flat(self, flat: FlatClaim, block: ConstraintBlock) -> bool:
        bound, unary, relations, other_atoms, postponed, steps = flat
        self.query.left -= steps
        domains, having, whole = block.domains, self.world.having, block.whole
        if bound:
            for name in bound:
                domains[name] = self.everything
            block.bound += bound
        for name, predicate, word, positive in unary:  # as `block.narrow` does; every instruction comes by here
            before = domains[name]
            remaining = having(predicate, word, before) if positive else before & ~having(predicate, word, before)
            if not remaining or (remaining != before and name == whole):
                return False
            domains[name] = remaining
        if relations:
            block.relations = [*block.relations, *relations] if block.relations else relations
        if postponed:
            block.postponed += postponed
        return not other_atoms or all(self._assume_atom(atom, positive, block) for atom, positive in other_atoms)

    def _assume_complex(self, claim: Formula, holds: bool, block: ConstraintBlock) -> bool:
        match claim:
            case Forall() if holds:
                return self._assume_forall(claim, block)
            case And(parts) | Or(parts):
                return self._assume_any([((), [(part, holds)]) for part in parts], block)
            case Implies(antecedent, consequent):
                return self._assume_any([((), [(antecedent, False)]), ((), [(consequent, True)])], block)
            case Iff(left, right):
                left_table, right_table = (self._table((), [(side, True)], block.domains) for side in (left, right))
                both: list[_Claim] = [(left_table, True), (right_table, holds)]
                neither: list[_Claim] = [(left_table, False), (right_table, not holds)]
                return self._assume_any([((), both), ((), neither)], block)
            case Forall(variable, Implies(antecedent, consequent)):
                return self._assume_strict_failure(variable.name, antecedent, consequent, block)
            case Count():
                return self._assume_count(claim, holds, block)
            case _:
                return self._assume_all((), (), claim, holds, block)

    def _assume_atom(self, atom: Atom, holds: bool, block: ConstraintBlock) -> bool:
        arguments = atom.arguments
        first, second = arguments[0], arguments[1] if len(arguments) > 1 else None
        if not isinstance(first, Variable):
            return self.style_is(atom) is holds
        if not isinstance(second, Variable):
            objects = self.world.having(atom.predicate, second.text if second else None)
        elif second.name != first.name:
            block.relations = [*block.relations, AtomRelation(atom.predicate, (first.name, second.name), holds)]
            return True
        else:
            self.query.take(len(self.world))
            singles = [1 << obj for obj in range(len(self.world))]
            objects = sum(self.world.seconds(atom.predicate, single, single) for single in singles)
        return block.narrow(first.name, objects if holds else ~objects)

    def style_is(self, atom: Atom) -> bool:
        """Return whether an atom about the image style holds."""
        return atom.arguments[0] == Value(self.style or "")

    def _assume_any(self, choices: Sequence[tuple[tuple[str, ...], list[_Claim]]], block: ConstraintBlock) -> bool:
        """Assume that at least one of the choices can be satisfied by some assignment to its variables."""
        tables = []
        for variables, claims in choices:
            table = self._table(variables, claims, block.domains)
            if table.rows and not table.variables:
                return True  # it holds whatever the variables stand for
            tables.append(table)
        return block.add(union(tables, block.domains, self.query))

    def _assume_forall(self, forall: Forall, block: ConstraintBlock) -> bool:
        """Assume a `forall`, enumerating its instances if its condition mentions no other variable."""
        name, condition, is_own_condition, own_group, other_groups = self._structure.forall_parts(forall)
        if not is_own_condition:
            return self._assume_all((), (), forall, True, block)
        instances = self.everything
        if condition is not None:
            chosen = self._build((), condition, {name: instances})
            if chosen is None:
                return not self.strict
            instances = chosen.domains[name]
        # What is about each instance alone: it is enough that none is lost.
        if (
            own_group is not None
            and self._build(own_group.variables, own_group.claims, {name: instances}, whole=name) is None
        ):
            return False
        for variables, claims, mentioned, is_literal in other_groups:
            if not is_literal:
                table = self._table(variables, claims, {**block.domains, name: instances}, last=name)
                fits = block.add(divide(table, instances) if name in mentioned else table)
            elif name in mentioned:
                fits = self._assume_for_each(name, instances, claims.flat(self.strict).relations[0], block)
            else:
                fits = self._assume_flat(claims.flat(self.strict), block)
            if not fits:
                return False
        return True

    def _assume_for_each(self, name: str, instances: int, relation: AtomRelation, block: ConstraintBlock) -> bool:
        """Assume that a relation holds between every instance of one variable and the value of the other variable."""
        first, second = relation.variables
        partner = second if name == first else first
        self.query.take(instances.bit_count())
        for obj in members(instances):
            if not block.narrow(partner, relation.partners(name, 1 << obj, block.domains[partner], self.query)):
                return False
        return True

    def _assume_count(self, count: Count, holds: bool, block: ConstraintBlock) -> bool:
        """Assume that a count holds or fails, based on the number of objects in each row of the table for its body."""
        name = count.variable.name
        table = self._table((), [(count.body, True)], {**block.domains, name: self.everything}, last=name)
        if table.variables[-1:] != (name,):  # the body does not speak of the variable: all objects count, or none
            number = len(self.world)
            if count.allows(number) is count.allows(0):
                return count.allows(0) is holds
            return block.add(table if count.allows(number) is holds else complement(table, block.domains, self.query))
        self.query.take(len(table.rows) // 4)
        # Rows without any object are not in the table: what is true of them is what the complement is taken of.
        empty_fits = count.allows(0) is holds
        chosen = keep_counts(table, lambda number: (count.allows(number) is holds) is not empty_fits)
        return block.add(complement(chosen, block.domains, self.query) if empty_fits else chosen)

    def _assume_strict_failure(
        self, name: str, antecedent: Formula, consequent: Formula, block: ConstraintBlock
    ) -> bool:
        """Assume that a strict `forall` fails, either because of a counterexample or because it has no instances."""
        condition = self._once(antecedent, name, block.domains)
        instances = self._table((name,), [(condition, True)], block.domains)
        counterexample: list[_Claim] = [(condition, True), (consequent, False)]
        return self._assume_any([((name,), counterexample), ((), [(instances, False)])], block)

    def _assume_all(
        self,
        variables: tuple[str, ...],
        premises: tuple[_Claim, ...],
        body: Formula,
        holds: bool,
        block: ConstraintBlock,
    ) -> bool:
        match body:
            case Not(inner):
                return self._assume_all(variables, premises, inner, not holds, block)
            case And(parts) if holds:
                return all(self._assume_all(variables, premises, part, True, block) for part in parts)
            case Or(parts) if not holds:
                return all(self._assume_all(variables, premises, part, False, block) for part in parts)
            case And(parts) | Or(parts):
                *rest, last = parts
                more = tuple((part, not holds) for part in rest)
                return self._assume_all(variables, (*premises, *more), last, holds, block)
            case Implies(antecedent, consequent) if holds:
                return self._assume_all(variables, (*premises, (antecedent, True)), consequent, True, block)
            case Forall(variable, Implies(antecedent, consequent)) if holds and self.strict:
                inner_domains = {**block.domains, **dict.fromkeys(variables, self.everything)}
                condition = self._once(antecedent, variable.name, inner_domains)
                instances = self._table((variable.name,), [(condition, True)], inner_domains)
                if not self._assume_none(variables, (*premises, (instances, False)), block):
                    return False
                inner_given: tuple[_Claim, ...] = (*premises, (condition, True))
                return self._assume_all((*variables, variable.name), inner_given, consequent, True, block)
            case Forall(variable, inner) if holds:
                return self._assume_all((*variables, variable.name), premises, inner, True, block)
            case Exists(variable, inner) if not holds:
                return self._assume_all((*variables, variable.name), premises, inner, False, block)
            case _:
                return self._assume_none(variables, (*premises, (body, not holds)), block)

    def _assume_none(self, variables: tuple[str, ...], claims: Sequence[_Claim], block: ConstraintBlock) -> bool:
        if not variables and len(claims) == 1:
            return self._assume(claims[0][0], not claims[0][1], block)
        counterexamples = self._table(variables, claims, block.domains)
        return block.add(complement(counterexamples, block.domains, self.query))

    # --- tables of formulas

    def _table(
        self, variables: Sequence[str], claims: Sequence[_Claim], domains: Domains, last: str | None = None
    ) -> RelationTable:
        """Return a table of the free-variable values for which some assignment to `variables` makes all claims true."""
        free = dict.fromkeys([name for claim, _ in claims for name in self._free_variables(claim)])
        for name in variables:
            free.pop(name, None)
        if last in free:
            del free[last]
            free[last] = None
        block = self._build(variables, claims, {name: domains[name] for name in free})
        return (
            join(block.relations, tuple(free), block.domains, self.query) if block else RelationTable(tuple(free), {})
        )

    def _once(self, formula: Formula, variable: str, domains: Domains) -> Formula | RelationTable:
        """Prepare a formula for repeated use, converting it to a table unless evaluating the formula is cheaper."""
        quantified = any(isinstance(node, Exists | Forall | Count) for node in subformulas(formula))
        if quantified or len(self._free_variables(formula)) == 1:
            return self._table((), [(formula, True)], {**domains, variable: self.everything})
        return formula

    def _free_variables(self, claim: Formula | RelationTable) -> tuple[str, ...]:
        return claim.variables if isinstance(claim, RelationTable) else self._structure.free_variables(claim)
