"""The truth of formulas by the model checker of nltk."""

from __future__ import annotations

from itertools import product
from typing import Any

from nltk.sem import logic as nltk_logic
from nltk.sem.evaluate import Assignment, Model, Valuation

from formalimg.logic.syntax import And, Atom, Exists, Forall, Formula, Iff, Implies, Not, Or, Value, Variable, atoms
from formalimg.scenes.scene import Scene
from tests.support.brute_force import atom_truth


def nltk_truth(formula: Formula, scene: Scene) -> bool:
    """Whether nltk finds a formula true in a scene, by the classical reading."""
    domain = {f"t{number}" for number in range(len(scene))}
    valuation = Valuation([(_symbol(atom), _extension(atom, scene)) for atom in atoms(formula)])
    model = Model(domain, valuation)
    result = model.satisfy(_expression(formula), Assignment(domain))
    assert isinstance(result, bool)
    return result


def _symbol(atom: Atom) -> str:
    return "_".join([atom.predicate, *(a.text for a in atom.arguments if isinstance(a, Value))])


def _extension(atom: Atom, scene: Scene) -> set[tuple[str, ...]]:
    """All tuples of objects for which the atom's predicate holds, whatever its variables are called."""
    places = [isinstance(argument, Variable) for argument in atom.arguments]
    words = [argument.text for argument in atom.arguments if isinstance(argument, Value)]
    found = set()
    for numbers in product(range(len(scene)), repeat=sum(places)):
        if atom_truth(atom.predicate, [*(scene.objects[number] for number in numbers), *words]):
            found.add(tuple(f"t{number}" for number in numbers))
    return found


def _expression(formula: Formula) -> Any:
    match formula:
        case Atom():
            expression: Any = nltk_logic.ConstantExpression(nltk_logic.Variable(_symbol(formula)))
            for name in formula.variables:
                expression = nltk_logic.ApplicationExpression(expression, _variable(name))
            return expression
        case Not(body):
            return nltk_logic.NegatedExpression(_expression(body))
        case And(parts):
            return _folded(nltk_logic.AndExpression, parts)
        case Or(parts):
            return _folded(nltk_logic.OrExpression, parts)
        case Implies(antecedent, consequent):
            return nltk_logic.ImpExpression(_expression(antecedent), _expression(consequent))
        case Iff(left, right):
            return nltk_logic.IffExpression(_expression(left), _expression(right))
        case Exists(variable, body):
            return nltk_logic.ExistsExpression(nltk_logic.Variable(variable.name), _expression(body))
        case Forall(variable, body):
            return nltk_logic.AllExpression(nltk_logic.Variable(variable.name), _expression(body))


def _folded(connective: Any, parts: tuple[Formula, ...]) -> Any:
    first, *others = map(_expression, parts)
    for other in others:
        first = connective(first, other)
    return first


def _variable(name: str) -> Any:
    return nltk_logic.IndividualVariableExpression(nltk_logic.Variable(name))
