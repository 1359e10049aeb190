"""Test formulas for equivalence up to variable names by comparing prenex clauses as graphs.

Two formulas are equal as written if a renaming of variables makes their prenex forms equal, clause for clause, and
respects three things that the clauses do not show: the kind of each quantifier, which `exists` stands inside which
`forall`, and the antecedent of an `implies` directly under a `forall` (the strict reading depends on it). The order of
conjuncts, the names of variables, and an `exists` moved within the same `forall` make no difference.

A count is one literal of its clause, and its variable one of the renamed ones; what is inside it becomes facts that are
marked as inside. Where that is more than a conjunction of literals and counts behind `exists`, it is compared as text
up to names: then equal counts may be told apart, but different ones are never taken for equal.

The variables of both sides are sorted into groups of those that look alike: first by the facts about each, then by the
groups of the variables in these facts, and so on until nothing changes. So a chain comes apart from its ends. Where
several still look alike, as in a ring, one is assigned a candidate of the other side, and the groups are refined again;
if that fails, the next candidate is tried. The number of steps is bounded, and only adversarial facts come near the
bound.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from formalimg.language.lexicon import WordingError
from formalimg.language.rewriting import in_one_form, without_iff
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
    subformulas,
    to_text,
)
from formalimg.logic.variables import bound_variables, rename_apart

MAX_STEPS = 200_000  # Limit on the steps of a comparison; a chain of 190 objects takes some thousand


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


def is_isomorphic(left: FactSet, right: FactSet) -> bool:
    """Return whether some renaming of variables makes two fact sets equal."""
    return left.outline == right.outline and _Isomorphism(left, right).succeeds()


class _CountedFact(NamedTuple):
    """A fact with its variables and multiplicity."""

    atoms: tuple[SignedAtom, ...]
    names: tuple[str, ...]
    times: int

    def seen_from(self, name: str, groups: Mapping[str, int]) -> tuple[tuple[SignedAtom, ...], int]:
        """Return the fact with every variable except `name` replaced by its group."""
        marks = {other: f"?{groups[other]}" for other in self.names}
        marks[name] = "?"
        return tuple(sorted([atom.renamed(marks) for atom in self.atoms])), self.times


class _Assignment(NamedTuple):
    """A variable on the left, its candidates on the right and the length of the undo log."""

    name: str
    candidates: Iterator[str]
    changes: int


class _Isomorphism:
    """Search for a variable renaming. Variables on the right are starred to refine both sides together."""

    def __init__(self, left: FactSet, right: FactSet) -> None:
        self._left, self._right = left, right
        self._stars = {name: f"{name}*" for name in right.kinds}
        kinds = {**left.kinds, **{self._stars[name]: kind for name, kind in right.kinds.items()}}
        groups = {kind: number for number, kind in enumerate(dict.fromkeys(kinds.values()))}
        self._groups_of = {name: groups[kind] for name, kind in kinds.items()}
        self._sizes = Counter(self._groups_of.values())
        self._facts: dict[str, list[_CountedFact]] = {name: [] for name in kinds}
        for fact, count in left.facts.items():
            self._note(sorted(fact), count)
        for fact, count in right.facts.items():
            self._note(sorted(atom.renamed(self._stars) for atom in fact), count)
        self._groups = len(groups)
        self._changes: list[tuple[str, int]] = []  # what looked how before, to be taken back
        self._steps = 0

    def _note(self, atoms: list[SignedAtom], count: int) -> None:
        names = tuple(dict.fromkeys(name for atom in atoms for name in atom.arguments if name in self._groups_of))
        fact = _CountedFact(tuple(atoms), names, count)
        for name in names:
            self._facts[name].append(fact)

    def succeeds(self) -> bool:
        """Return whether a renaming exists."""
        if not self._sort_out(list(self._groups_of)):
            return False
        ties: list[_Assignment] = []
        while True:
            name = next((name for name in self._left.kinds if self._sizes[self._groups_of[name]] > 2), None)
            if name is not None:
                ties.append(_Assignment(name, self._alike(name), len(self._changes)))
            elif self._agrees():
                return True
            if not self._tie_next(ties):
                return False

    def _alike(self, name: str) -> Iterator[str]:
        groups = self._groups_of[name]
        return (other for other in self._stars.values() if self._groups_of[other] == groups)

    def _tie_next(self, ties: list[_Assignment]) -> bool:
        """Assign the next candidate to the most recent variable, backtracking when none are left."""
        while ties:
            tie = ties[-1]
            while len(self._changes) > tie.changes:
                self._set_group(*self._changes.pop())
            candidate = next(tie.candidates, None)
            if candidate is None:
                ties.pop()
                continue
            self._count(1)
            self._set_apart([tie.name, candidate])
            if self._sort_out([tie.name, candidate]):
                return True
        return False

    def _sort_out(self, changed: list[str]) -> bool:
        """Refine the groups until they are stable. Return False if the two sides are refined differently.

        Only facts about variables with changed groups are compared again. If every variable has a single counterpart,
        there is nothing to refine, and `_agrees` compares all facts.
        """
        while changed and max(self._sizes.values()) > 2:
            seen: dict[str, list[tuple[tuple[SignedAtom, ...], int]]] = defaultdict(list)
            for fact in {id(fact): fact for name in changed for fact in self._facts[name]}.values():
                self._count(len(fact.atoms) * len(fact.names))
                for name in fact.names:
                    seen[name].append(fact.seen_from(name, self._groups_of))
            parts: dict[tuple[int, object], list[str]] = defaultdict(list)
            for name, facts in seen.items():
                parts[self._groups_of[name], tuple(sorted(facts))].append(name)
            if any(2 * sum(name in self._left.kinds for name in part) != len(part) for part in parts.values()):
                return False
            changed = []
            for (group, _), part in parts.items():
                if len(part) < self._sizes[group]:
                    self._set_apart(part)
                    changed += part
        return True

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise WordingError("too many of its objects look alike: give some of them other classes or colors")

    def _set_apart(self, names: list[str]) -> None:
        for name in names:
            self._changes.append((name, self._groups_of[name]))
            self._set_group(name, self._groups)
        self._groups += 1

    def _set_group(self, name: str, group: int) -> None:
        self._sizes[self._groups_of[name]] -= 1
        self._sizes[group] += 1
        self._groups_of[name] = group

    def _agrees(self) -> bool:
        """Return whether matching variables by group makes the two sides equal."""
        self._count(len(self._left.facts))
        by_groups_of = {self._groups_of[star]: name for name, star in self._stars.items()}
        names = {name: by_groups_of[self._groups_of[name]] for name in self._left.kinds}
        facts = [(frozenset(atom.renamed(names) for atom in fact), count) for fact, count in self._left.facts.items()]
        return all(self._right.facts[fact] == count for fact, count in facts)


@dataclass(frozen=True)
class _Quantified:
    """The enclosing quantifiers of a quantifier, and the condition of its implication if it has one."""

    around: tuple[str, ...]
    guard: tuple[Formula, ...] | None


def is_equivalent_as_written(one: Formula, other: Formula) -> bool:
    """Return whether two closed formulas are equal up to variable names, conjunct order and quantifier placement.

    Raises:
        WordingError: if variables look so much alike that this cannot be decided with a bounded number of steps.
    """
    left, right = _sides(one), _sides(other)
    if len(left) != len(right):
        return False
    for side in left:
        match = next((index for index, candidate in enumerate(right) if is_isomorphic(side, candidate)), None)
        if match is None:
            return False
        del right[match]
    return True


def _sides(formula: Formula) -> list[FactSet]:
    if any(isinstance(part, Iff) for part in subformulas(formula)):
        to_prenex(formula)  # refuses what would grow too large
        formula = without_iff(formula, positive=True)
    if any(_has_several_forms(part) for part in subformulas(formula)):  # else it stays the same object, and is known
        formula = in_one_form(formula)
    formula = rename_apart(formula)
    quantified: dict[str, _Quantified] = {}
    _note_quantifiers(formula, (), quantified)
    return [_side(component, quantified) for component in to_prenex(formula).components]


def _has_several_forms(part: Formula) -> bool:
    return isinstance(part, Count) or (isinstance(part, Atom) and part.predicate == DISTINCT)


def _note_quantifiers(formula: Formula, around: tuple[str, ...], noted: dict[str, _Quantified]) -> None:
    if isinstance(formula, Exists | Forall):
        implied = isinstance(formula, Forall) and isinstance(formula.body, Implies)
        guard = _conjuncts(formula.body.antecedent) if implied and isinstance(formula.body, Implies) else None
        noted[formula.variable.name] = _Quantified(around, guard)
        around = (*around, formula.variable.name)
    for child in children(formula):
        _note_quantifiers(child, around, noted)


def _side(component: Component, quantified: Mapping[str, _Quantified]) -> FactSet:
    kinds: dict[str, str] = {f"?{variable}": kind for kind, variable in component.prefix}
    facts = Counter[Fact]()
    for clause in component.clauses:
        facts[frozenset(_signed_atom(literal.atom, literal.positive) for literal in clause.literals)] += 1
        for literal in clause.literals:
            if isinstance(literal.atom, Count):
                _note_count(literal.atom, kinds, facts)
    for kind, name in component.prefix:
        around, guard = quantified[name].around, quantified[name].guard
        inside = [outer for outer in around if kind == "exists" and kinds.get(f"?{outer}") == "forall"]
        facts.update(_fact("inside", f"?{name}", f"?{outer}") for outer in inside)
        for conjunct in guard or ():
            facts[_guard_fact(conjunct, f"?{name}")] += 1
    return FactSet(kinds, facts)


def _note_count(count: Count, kinds: dict[str, str], facts: Counter[Fact]) -> None:
    """Record the variables of a count and convert its body to facts."""
    owner = f"?{count.variable.name}"
    kinds[owner] = f"{count.bound} {count.number}"
    within = SignedAtom("within", True, (owner,))
    conjuncts, inner = _inside_exists(count.body)
    for name in inner:
        kinds[f"?{name}"] = "exists"
        facts[_fact("inside", f"?{name}", owner)] += 1
    for conjunct in conjuncts:
        literals = [(part.body, False) if isinstance(part, Not) else (part, True) for part in _alternatives(conjunct)]
        if all(isinstance(part, Atom | Count) for part, _ in literals):
            signed = [_signed_atom(part, sign) for part, sign in literals if isinstance(part, Atom | Count)]
            facts[frozenset({within, *signed})] += 1
            for part, _ in literals:
                if isinstance(part, Count):
                    _note_count(part, kinds, facts)
        else:
            kinds |= {f"?{name}": "inside a text" for name in bound_variables(conjunct)}
            facts[frozenset({within, _as_text(conjunct)})] += 1


def _inside_exists(formula: Formula) -> tuple[list[Formula], list[str]]:
    """Return the conjuncts of a formula and the variables bound by its enclosing `exists`."""
    match formula:
        case And(parts):
            found = [_inside_exists(part) for part in parts]
            return [part for parts_, _ in found for part in parts_], [name for _, names in found for name in names]
        case Exists(variable, body):
            conjuncts, names = _inside_exists(body)
            return conjuncts, [variable.name, *names]
        case _:
            return [formula], []


def _alternatives(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, Or) else (formula,)


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
        atoms.append(_signed_atom(atom, part is atom))
    return frozenset(atoms)


def _as_text(formula: Formula) -> SignedAtom:
    """Convert a formula to a single statement about its variables."""
    text = to_text(formula)
    return SignedAtom(re.sub(r"\?[\w-]+", "?", text), True, tuple(re.findall(r"\?[\w-]+", text)))


def _signed_atom(atom: Atom | Count, positive: bool) -> SignedAtom:
    if isinstance(atom, Count):
        return SignedAtom("count", positive, (f"?{atom.variable.name}",))
    arguments = [f"?{a.name}" if isinstance(a, Variable) else f"'{a.text}'" for a in atom.arguments]
    return SignedAtom(atom.predicate, positive, tuple(arguments))


def _fact(text: str, *arguments: str) -> Fact:
    return frozenset({SignedAtom(text, True, arguments)})
