"""Do two formulas say the same, as they are written?

Two formulas are the same as written if a renaming of their variables makes their lifted forms equal, clause for
clause, and respects three things that the clauses do not show: the kind of each quantifier, which `exists` stands
inside which `forall`, and what an `implies` directly under a `forall` has in front (the strict reading hangs on it).
The order of conjuncts, the names of variables, and an `exists` moved within the same `forall` make no difference.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.logic import (
    And,
    Atom,
    Component,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Or,
    Variable,
    children,
    lift,
    rename_apart,
    to_text,
)


class _Word(NamedTuple):
    """A literal, or something else that is said of variables; a variable is written with its question mark."""

    text: str
    positive: bool
    arguments: tuple[str, ...]


_Fact = frozenset[_Word]


@dataclass(frozen=True)
class _Quantified:
    """What stands around a quantifier, and in front of the implies directly under it."""

    around: tuple[str, ...]
    guard: tuple[Formula, ...] | None


@dataclass(frozen=True)
class _Side:
    """One component of a formula, ready to be compared: the kinds of its variables, and all that is said of them."""

    kinds: Mapping[str, str]
    facts: Counter[_Fact]

    def signatures(self) -> dict[str, tuple[object, ...]]:
        """For each variable, what can be told of it without naming another."""
        shapes: dict[str, list[object]] = defaultdict(list)
        for fact, count in self.facts.items():
            for name in _names(fact):
                seen = sorted((w.text, w.positive, tuple(_mark(a, name) for a in w.arguments)) for w in fact)
                shapes[name].append((seen, count))
        return {name: (kind, *sorted(map(repr, shapes[name]))) for name, kind in self.kinds.items()}


def same_meaning_as_written(one: Formula, other: Formula) -> bool:
    """Do two closed formulas say the same up to names, order of conjuncts and idle positions of quantifiers?"""
    left, right = _sides(one), _sides(other)
    if len(left) != len(right):
        return False
    for side in left:
        match = next((index for index, candidate in enumerate(right) if _same(side, candidate)), None)
        if match is None:
            return False
        del right[match]
    return True


def _sides(formula: Formula) -> list[_Side]:
    formula = rename_apart(formula)
    quantified: dict[str, _Quantified] = {}
    _note_quantifiers(formula, (), quantified)
    return [_side(component, quantified) for component in lift(formula).components]


def _note_quantifiers(formula: Formula, around: tuple[str, ...], noted: dict[str, _Quantified]) -> None:
    if isinstance(formula, Exists | Forall):
        implied = isinstance(formula, Forall) and isinstance(formula.body, Implies)
        guard = _conjuncts(formula.body.antecedent) if implied and isinstance(formula.body, Implies) else None
        noted[formula.variable.name] = _Quantified(around, guard)
        around = (*around, formula.variable.name)
    for child in children(formula):
        _note_quantifiers(child, around, noted)


def _side(component: Component, quantified: Mapping[str, _Quantified]) -> _Side:
    kinds = {f"?{variable}": kind for kind, variable in component.prefix}
    facts = Counter(
        frozenset(_word(literal.atom, literal.positive) for literal in clause.literals) for clause in component.clauses
    )
    for kind, name in component.prefix:
        around, guard = quantified[name].around, quantified[name].guard
        inside = [outer for outer in around if kind == "exists" and kinds.get(f"?{outer}") == "forall"]
        facts.update(_fact("inside", f"?{name}", f"?{outer}") for outer in inside)
        for conjunct in guard or ():
            facts[_guard_fact(conjunct, f"?{name}")] += 1
    return _Side(kinds, facts)


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    if isinstance(formula, And):
        return tuple(conjunct for part in formula.parts for conjunct in _conjuncts(part))
    return (formula,)


def _guard_fact(conjunct: Formula, owner: str) -> _Fact:
    """A condition of a forall; the order of alternatives counts only where they are more than literals."""
    words = [_Word("guard of", True, (owner,))]
    for part in conjunct.parts if isinstance(conjunct, Or) else (conjunct,):
        atom = part.body if isinstance(part, Not) else part
        if not isinstance(atom, Atom):
            text = to_text(conjunct)
            return frozenset({*words[:1], _Word(re.sub(r"\?[\w-]+", "?", text), True, tuple(_variables(text)))})
        words.append(_word(atom, part is atom))
    return frozenset(words)


def _variables(text: str) -> Iterable[str]:
    return re.findall(r"\?[\w-]+", text)


def _word(atom: Atom, positive: bool) -> _Word:
    arguments = [f"?{a.name}" if isinstance(a, Variable) else f"'{a.text}'" for a in atom.arguments]
    return _Word(atom.predicate, positive, tuple(arguments))


def _fact(text: str, *arguments: str) -> _Fact:
    return frozenset({_Word(text, True, arguments)})


def _names(fact: _Fact) -> set[str]:
    return {argument for word in fact for argument in word.arguments if argument.startswith("?")}


def _mark(argument: str, name: str) -> str:
    if argument == name:
        return "this"
    return "other" if argument.startswith("?") else argument


def _same(left: _Side, right: _Side) -> bool:
    if sum(left.facts.values()) != sum(right.facts.values()) or len(left.kinds) != len(right.kinds):
        return False
    signatures, others = left.signatures(), right.signatures()
    candidates = {name: [o for o in others if others[o] == signature] for name, signature in signatures.items()}
    order = sorted(candidates, key=lambda name: (len(candidates[name]), name))
    return _extends({}, order, candidates, left, right)


def _extends(
    renaming: dict[str, str], order: list[str], candidates: Mapping[str, list[str]], left: _Side, right: _Side
) -> bool:
    """Can the renaming be completed so that all facts agree? Facts are checked as soon as all their names are known."""
    name = order[len(renaming)] if len(renaming) < len(order) else None
    known = renaming.keys()
    last = next(reversed(renaming), None)
    for fact, count in left.facts.items():
        names = _names(fact)
        if (last is None or last in names) and names <= known and right.facts[_renamed(fact, renaming)] != count:
            return False
    if name is None:
        return True
    taken = set(renaming.values())
    return any(
        _extends({**renaming, name: candidate}, order, candidates, left, right)
        for candidate in candidates[name]
        if candidate not in taken
    )


def _renamed(fact: _Fact, renaming: Mapping[str, str]) -> _Fact:
    return frozenset(
        _Word(word.text, word.positive, tuple(renaming.get(argument, argument) for argument in word.arguments))
        for word in fact
    )
