"""Test formulas for equivalence up to variable names by comparing prenex clauses as graphs.

Two formulas are equal as written if a renaming of variables makes their prenex forms equal, clause for clause, and
respects three things that the clauses do not show: the kind of each quantifier, which `exists` stands inside which
`forall`, and the antecedent of an `implies` directly under a `forall` (the strict reading depends on it). The order of
conjuncts, the names of variables, and an `exists` moved within the same `forall` make no difference.

A count is one literal of its clause, and its variable is renamed like the others; its body becomes facts that are
marked as inside the count. A body that is not just a conjunction of literals and counts under `exists` is compared as
text up to names: equal counts may then be reported as different, but different counts never as equal.

The variables of both sides are partitioned into groups of indistinguishable ones: first by the facts about each, then
by the groups of the variables in these facts, and so on until nothing changes. A chain, for example, is resolved from
its ends. If several variables remain indistinguishable, as in a ring, one is assigned a candidate of the other side and
the groups are refined again; if that fails, the next candidate is tried. The number of steps is bounded, and only
adversarial facts come near the bound.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import NamedTuple, TypeAlias

from formalimg.language.description import count_with_sign
from formalimg.language.lexicon import WordingError
from formalimg.logic.prenex import Component, to_prenex
from formalimg.logic.syntax import (
    DISTINCT,
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
    Variable,
    children,
    map_children,
    subformulas,
    to_text,
)
from formalimg.logic.variables import bound_variables, rename_apart

MAX_STEPS = 200_000  # per comparison; a chain of 190 objects takes some thousand


class SignedAtom(NamedTuple):
    """A literal or other statement, with variables written with a question mark."""

    text: str
    positive: bool
    arguments: tuple[str, ...]

    def renamed(self, names: Mapping[str, str]) -> SignedAtom:
        """Return the statement with variables renamed."""
        return SignedAtom(
            self.text, self.positive, tuple([names.get(argument, argument) for argument in self.arguments])
        )


Fact: TypeAlias = frozenset[SignedAtom]  # Statements of which at least one holds


@dataclass(frozen=True)
class FactSet:
    """One side of a comparison, with its variable kinds and a multiset of facts."""

    kinds: Mapping[str, str]
    facts: Counter[Fact]

    @cached_property
    def outline(self) -> tuple[list[str], list[tuple[list[SignedAtom], int]]]:
        """The facts with variable names removed. Fact sets with different outlines cannot be isomorphic."""
        blank = dict.fromkeys(self.kinds, "?")
        outline = [(sorted(atom.renamed(blank) for atom in fact), count) for fact, count in self.facts.items()]
        return sorted(self.kinds.values()), sorted(outline)


def is_isomorphic(first: FactSet, second: FactSet) -> bool:
    """Return whether some renaming of variables makes two fact sets equal."""
    return first.outline == second.outline and _Isomorphism(first, second).search()


class _CountedFact(NamedTuple):
    atoms: tuple[SignedAtom, ...]
    names: tuple[str, ...]
    times: int

    def seen_from(self, name: str, groups: Mapping[str, int]) -> tuple[tuple[SignedAtom, ...], int]:
        """Return the fact with every variable except `name` replaced by its group."""
        marks = {variable: f"?{groups[variable]}" for variable in self.names}
        marks[name] = "?"
        return tuple(sorted([atom.renamed(marks) for atom in self.atoms])), self.times


class _Isomorphism:
    """Search for a variable renaming. Variables of the second side are starred to refine both sides together."""

    def __init__(self, first: FactSet, second: FactSet) -> None:
        self._first, self._second = first, second
        self._stars = {name: f"{name}*" for name in second.kinds}
        kinds = {**first.kinds, **{self._stars[name]: kind for name, kind in second.kinds.items()}}
        groups = {kind: number for number, kind in enumerate(dict.fromkeys(kinds.values()))}
        self._groups_of = {name: groups[kind] for name, kind in kinds.items()}
        self._sizes = Counter(self._groups_of.values())
        self._facts: dict[str, list[_CountedFact]] = {name: [] for name in kinds}
        for fact, count in first.facts.items():
            self._add(sorted(fact), count)
        for fact, count in second.facts.items():
            self._add(sorted(atom.renamed(self._stars) for atom in fact), count)
        self._group_count = len(groups)
        self._changes: list[tuple[str, int]] = []  # the undo log: previous groups of variables
        self._steps = 0

    def _add(self, atoms: list[SignedAtom], count: int) -> None:
        names = tuple(dict.fromkeys(name for atom in atoms for name in atom.arguments if name in self._groups_of))
        fact = _CountedFact(tuple(atoms), names, count)
        for name in names:
            self._facts[name].append(fact)

    def search(self) -> bool:
        if not self._refine(list(self._groups_of)):
            return False
        ties: list[tuple[str, Iterator[str], int]] = []  # a variable, its candidates and the length of the undo log
        while True:
            name = next((name for name in self._first.kinds if self._sizes[self._groups_of[name]] > 2), None)
            if name is not None:
                group = self._groups_of[name]
                candidates = [star for star in self._stars.values() if self._groups_of[star] == group]
                ties.append((name, iter(candidates), len(self._changes)))
            elif self._agrees():
                return True
            if not self._assign_next(ties):
                return False

    def _assign_next(self, ties: list[tuple[str, Iterator[str], int]]) -> bool:
        """Assign the next candidate to the most recent variable, backtracking when none are left."""
        while ties:
            name, candidates, changes = ties[-1]
            while len(self._changes) > changes:
                self._set_group(*self._changes.pop())
            candidate = next(candidates, None)
            if candidate is None:
                ties.pop()
                continue
            self._count_steps(1)
            self._separate([name, candidate])
            if self._refine([name, candidate]):
                return True
        return False

    def _refine(self, changed: list[str]) -> bool:
        """Refine the groups until they are stable. Return False if the two sides are refined differently.

        Only facts about variables with changed groups are compared again. If every variable has a single counterpart,
        there is nothing to refine, and `_agrees` compares all facts.
        """
        while changed and max(self._sizes.values()) > 2:
            views: dict[str, list[tuple[tuple[SignedAtom, ...], int]]] = defaultdict(list)
            for fact in {id(fact): fact for name in changed for fact in self._facts[name]}.values():
                self._count_steps(len(fact.atoms) * len(fact.names))
                for name in fact.names:
                    views[name].append(fact.seen_from(name, self._groups_of))
            parts: dict[tuple[int, object], list[str]] = defaultdict(list)
            for name, facts in views.items():
                parts[self._groups_of[name], tuple(sorted(facts))].append(name)
            if any(2 * sum(name in self._first.kinds for name in part) != len(part) for part in parts.values()):
                return False
            changed = []
            for (group, _), part in parts.items():
                if len(part) < self._sizes[group]:
                    self._separate(part)
                    changed += part
        return True

    def _count_steps(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise WordingError("too many of its objects look alike: give some of them other classes or colors")

    def _separate(self, names: list[str]) -> None:
        for name in names:
            self._changes.append((name, self._groups_of[name]))
            self._set_group(name, self._group_count)
        self._group_count += 1

    def _set_group(self, name: str, group: int) -> None:
        self._sizes[self._groups_of[name]] -= 1
        self._sizes[group] += 1
        self._groups_of[name] = group

    def _agrees(self) -> bool:
        """Return whether matching variables by group makes the two sides equal."""
        self._count_steps(len(self._first.facts))
        by_group = {self._groups_of[star]: name for name, star in self._stars.items()}
        names = {name: by_group[self._groups_of[name]] for name in self._first.kinds}
        facts = [(frozenset(atom.renamed(names) for atom in fact), count) for fact, count in self._first.facts.items()]
        return all(self._second.facts[fact] == count for fact, count in facts)


def is_equivalent_as_written(one: Formula, other: Formula) -> bool:
    """Return whether two closed formulas are equal up to variable names, conjunct order and quantifier placement.

    Raises:
        WordingError: if this cannot be decided in a bounded number of steps because many variables have similar facts.
    """
    first, second = _fact_sets(one), _fact_sets(other)
    if len(first) != len(second):
        return False
    for side in first:
        match = next((index for index, candidate in enumerate(second) if is_isomorphic(side, candidate)), None)
        if match is None:
            return False
        del second[match]
    return True


# --- one form of formulas


def _expand_iff(formula: Formula, *, positive: bool) -> Formula:
    """Expand each `iff` as in prenex form, duplicating its quantifiers."""
    match formula:
        case Iff(left, right):
            (a, not_a), (b, not_b) = (
                (_expand_iff(side, positive=True), Not(_expand_iff(side, positive=False))) for side in (left, right)
            )
            if positive:
                return And((Or((not_a, b)), Or((a, not_b))))
            return Not(And((Or((not_a, not_b)), Or((a, b)))))
        case Not(body):
            return Not(_expand_iff(body, positive=not positive))
        case Implies(antecedent, consequent):
            condition = _expand_iff(antecedent, positive=not positive)
            return Implies(condition, _expand_iff(consequent, positive=positive))
        case Atom() | Count():  # a count is a literal: what is inside it is not expanded
            return formula
        case _:
            return map_children(formula, lambda child: _expand_iff(child, positive=positive))


def _normalize(formula: Formula) -> Formula:
    """Normalize counts and expand `distinct` into atoms for all ordered pairs of variables."""
    signed = count_with_sign(formula)
    if signed is not None:
        count = map_children(signed[0], _normalize)
        return count if signed[1] else Not(count)
    if isinstance(formula, Atom) and formula.predicate == DISTINCT:
        return And(tuple(Atom(DISTINCT, pair) for pair in permutations(formula.arguments, 2)))
    return formula if isinstance(formula, Atom) else map_children(formula, _normalize)


# --- from formulas to facts


def _fact_sets(formula: Formula) -> list[FactSet]:
    if any(isinstance(part, Iff) for part in subformulas(formula)):
        to_prenex(formula)  # refuses what would grow too large
        formula = _expand_iff(formula, positive=True)
    parts = subformulas(formula)
    if any(isinstance(part, Count) or (isinstance(part, Atom) and part.predicate == DISTINCT) for part in parts):
        formula = _normalize(formula)  # otherwise it stays the same object, whose prenex form is cached
    formula = rename_apart(formula)
    quantified: dict[str, tuple[tuple[str, ...], tuple[Formula, ...]]] = {}
    _collect_quantifiers(formula, (), quantified)
    return [_fact_set(component, quantified) for component in to_prenex(formula).components]


def _collect_quantifiers(
    formula: Formula, enclosing: tuple[str, ...], quantified: dict[str, tuple[tuple[str, ...], tuple[Formula, ...]]]
) -> None:
    """Record the enclosing quantifiers of each quantifier, and the condition of its implication if it has one."""
    if isinstance(formula, Exists | Forall):
        body = formula.body
        guard = _conjuncts(body.antecedent) if isinstance(formula, Forall) and isinstance(body, Implies) else ()
        quantified[formula.variable.name] = enclosing, guard
        enclosing = (*enclosing, formula.variable.name)
    for child in children(formula):
        _collect_quantifiers(child, enclosing, quantified)


def _fact_set(component: Component, quantified: Mapping[str, tuple[tuple[str, ...], tuple[Formula, ...]]]) -> FactSet:
    kinds: dict[str, str] = {f"?{variable}": kind for kind, variable in component.prefix}
    facts = Counter[Fact]()
    for clause in component.clauses:
        facts[frozenset(_to_statement(literal.atom, literal.positive) for literal in clause.literals)] += 1
        for literal in clause.literals:
            if isinstance(literal.atom, Count):
                _add_count(literal.atom, kinds, facts)
    for kind, name in component.prefix:
        enclosing, guard = quantified[name]
        for outer in enclosing:
            if kind == "exists" and kinds.get(f"?{outer}") == "forall":
                facts[_inside(name, outer)] += 1
        for conjunct in guard:
            facts[_guard_fact(conjunct, f"?{name}")] += 1
    return FactSet(kinds, facts)


def _add_count(count: Count, kinds: dict[str, str], facts: Counter[Fact]) -> None:
    """Record the variables of a count and convert its body to facts."""
    owner = count.variable.name
    kinds[f"?{owner}"] = f"{count.bound} {count.number}"
    within = SignedAtom("within", True, (f"?{owner}",))
    conjuncts, inner = _inside_exists(count.body)
    for name in inner:
        kinds[f"?{name}"] = "exists"
        facts[_inside(name, owner)] += 1
    for conjunct in conjuncts:
        alternatives = conjunct.parts if isinstance(conjunct, Or) else (conjunct,)
        literals = [(part.body, False) if isinstance(part, Not) else (part, True) for part in alternatives]
        if all(isinstance(part, Atom | Count) for part, _ in literals):
            signed = [_to_statement(part, sign) for part, sign in literals if isinstance(part, Atom | Count)]
            facts[frozenset({within, *signed})] += 1
            for part, _ in literals:
                if isinstance(part, Count):
                    _add_count(part, kinds, facts)
        else:
            kinds |= {f"?{name}": "inside a text" for name in bound_variables(conjunct)}
            facts[frozenset({within, _as_text(conjunct)})] += 1


def _inside_exists(formula: Formula) -> tuple[list[Formula], list[str]]:
    """Return the conjuncts of a formula and the variables bound by its enclosing `exists`."""
    match formula:
        case And(parts):
            inner = [_inside_exists(part) for part in parts]
            return [part for conjuncts, _ in inner for part in conjuncts], [n for _, names in inner for n in names]
        case Exists(variable, body):
            conjuncts, names = _inside_exists(body)
            return conjuncts, [variable.name, *names]
        case _:
            return [formula], []


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    if isinstance(formula, And):
        return tuple(conjunct for part in formula.parts for conjunct in _conjuncts(part))
    return (formula,)


def _guard_fact(conjunct: Formula, owner: str) -> Fact:
    """Convert the condition of a forall to a fact. Non-literal alternatives are compared in order."""
    atoms = [SignedAtom("guard of", True, (owner,))]
    for part in conjunct.parts if isinstance(conjunct, Or) else (conjunct,):
        atom = part.body if isinstance(part, Not) else part
        if not isinstance(atom, Atom):
            return frozenset({*atoms[:1], _as_text(conjunct)})
        atoms.append(_to_statement(atom, part is atom))
    return frozenset(atoms)


def _as_text(formula: Formula) -> SignedAtom:
    text = to_text(formula)
    return SignedAtom(re.sub(r"\?[\w-]+", "?", text), True, tuple(re.findall(r"\?[\w-]+", text)))


def _to_statement(atom: Atom | Count, positive: bool) -> SignedAtom:
    if isinstance(atom, Count):
        return SignedAtom("count", positive, (f"?{atom.variable.name}",))
    arguments = [f"?{a.name}" if isinstance(a, Variable) else f"'{a.text}'" for a in atom.arguments]
    return SignedAtom(atom.predicate, positive, tuple(arguments))


def _inside(name: str, outer: str) -> Fact:
    return frozenset({SignedAtom("inside", True, (f"?{name}", f"?{outer}"))})
