"""The baseline: a straightforward interpreter that tries assignments.

Exists-hoisting as in the published evaluator (a conjunct that does not mention the variable of an `exists` is moved in
front of it), short-circuit `and`, `or` and quantifiers, objects tried in their order, the strict rule for `forall`.

A count tries every object.
"""

from __future__ import annotations

import time

from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or, Variable
from formalimg.logic.variables import free_variables
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene


class OutOfTimeError(Exception):
    """The search has passed its time limit."""


def backtrack(formula: Formula, scene: Scene, limit: float) -> bool:
    """Does the formula hold in the scene (strict semantics)?"""
    return _Search(scene, time.perf_counter() + limit).holds(hoist(formula), {})


def hoist(formula: Formula) -> Formula:
    """Move conjuncts in front of every `exists` whose variable they do not mention, from the inside out."""
    return _conjunction([part for part, _ in _conjuncts(formula)])


def _conjuncts(formula: Formula) -> list[tuple[Formula, frozenset[str]]]:
    """The conjuncts that a formula becomes by hoisting, each with its free variables."""
    match formula:
        case Atom():
            return [(formula, frozenset(formula.variables))]
        case And(parts):
            return [conjunct for part in parts for conjunct in _conjuncts(part)]
        case Exists(variable, body):
            name = variable.name
            inside = _conjuncts(body)
            tied = [(part, free) for part, free in inside if name in free]
            outside = [(part, free) for part, free in inside if name not in free]
            if not tied:
                return outside
            free = frozenset().union(*(free for _, free in tied)) - {name}
            return [*outside, (Exists(variable, _conjunction([part for part, _ in tied])), free)]
        case Forall(variable, Implies(antecedent, consequent)):
            inner: Formula = Forall(variable, Implies(hoist(antecedent), hoist(consequent)))
        case Forall(variable, body):
            inner = Forall(variable, hoist(body))
        case Count(bound, number, variable, body):
            inner = Count(bound, number, variable, hoist(body))
        case Not(body):
            inner = Not(hoist(body))
        case Or(parts):
            inner = Or(tuple(map(hoist, parts)))
        case Implies(antecedent, consequent):
            inner = Implies(hoist(antecedent), hoist(consequent))
        case Iff(left, right):
            inner = Iff(hoist(left), hoist(right))
    return [(inner, free_variables(inner))]


def _conjunction(parts: list[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


class _Search:
    def __init__(self, scene: Scene, deadline: float) -> None:
        self.objects = scene.objects
        self.deadline = deadline
        self.steps = 0

    def holds(self, formula: Formula, binding: dict[str, SceneObject]) -> bool:
        kind = type(formula)
        if kind is Atom:
            return self.atom(formula, binding)  # type: ignore[arg-type]
        if kind is And:
            return all(self.holds(part, binding) for part in formula.parts)  # type: ignore[union-attr]
        match formula:
            case Exists(variable, body):
                return any(self.holds(body, inner) for inner in self.choices(variable.name, binding))
            case Forall(variable, Implies(antecedent, consequent)):
                found = False
                for inner in self.choices(variable.name, binding):
                    if self.holds(antecedent, inner):
                        found = True
                        if not self.holds(consequent, inner):
                            return False
                return found
            case Forall(variable, body):
                return bool(self.objects) and all(
                    self.holds(body, inner) for inner in self.choices(variable.name, binding)
                )
            case Count(_, _, variable, body):
                return formula.allows(sum(self.holds(body, inner) for inner in self.choices(variable.name, binding)))
            case Or(parts):
                return any(self.holds(part, binding) for part in parts)
            case Not(body):
                return not self.holds(body, binding)
            case Implies(antecedent, consequent):
                return not self.holds(antecedent, binding) or self.holds(consequent, binding)
            case Iff(left, right):
                return self.holds(left, binding) == self.holds(right, binding)
            case _:
                raise AssertionError(formula)

    def choices(self, name: str, binding: dict[str, SceneObject]):  # type: ignore[no-untyped-def]
        for obj in self.objects:
            binding[name] = obj
            yield binding

    def atom(self, atom: Atom, binding: dict[str, SceneObject]) -> bool:
        self.steps += 1
        if self.steps % 4096 == 0 and time.perf_counter() > self.deadline:
            raise OutOfTimeError
        arguments = atom.arguments
        first = arguments[0]
        assert isinstance(first, Variable)
        obj = binding[first.name]
        if atom.predicate == "distinct":
            objects = [binding[argument.name] for argument in arguments]  # type: ignore[union-attr]
            return len(set(map(id, objects))) == len(objects)
        if atom.predicate == "Is":
            return obj.label == arguments[1].text  # type: ignore[union-attr]
        if atom.predicate == "Has":
            return obj.color == arguments[1].text  # type: ignore[union-attr]
        if len(arguments) == 1:
            return UNARY_RULES[atom.predicate].holds(obj.box)
        return BINARY_RULES[atom.predicate].holds(obj.box, binding[arguments[1].name].box)  # type: ignore[union-attr]
