"""Determine what a scene must contain before a satisfied clause earns credit.

A clause may hold for the wrong reason: a `forall` without an instance breaks no clause, and a forbidden object is also
absent from an unrelated scene. In a reward, such clauses earn nothing until

- the `exists` variables of a literal stand for objects of their *classes*;
- each strict `forall` of the clause has an *instance*;
- the scene has any requested object at all. A count earns nothing until it has found an object.

Only the truth tables of literals become narrower, so the minimax game stays the same. The prenex form has only the
classical reading of `forall`, so `expand_strict_forall` first adds the instance that the strict reading requires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.prenex import MAX_LITERALS, Clause, Component, Literal
from formalimg.logic.syntax import (
    DISTINCT,
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Value,
    Variable,
    atoms,
    children,
    map_children,
)
from formalimg.logic.variables import FreshNames, rename_arguments, rename_variables, require_closed
from formalimg.logic.world import World

MAX_CLASS_CLAUSES = 20
"""How many clauses about the class of a variable are looked at; formulas with more are very far from instructions."""


class UnaryLiteral(NamedTuple):
    """A literal with one variable, stored without the variable name."""

    predicate: str
    word: str | None
    positive: bool


class RequiredRelation(NamedTuple):
    """A relation that an instance of a `forall` must have to another object."""

    predicate: str  # the relation
    is_first: bool  # whether the instance is its first object
    classes: tuple[str, ...]  # the classes of which the other object must have one; empty if any will do


class InstanceCondition(NamedTuple):
    """The condition that an object must meet to be an instance of a `forall`."""

    own: tuple[tuple[UnaryLiteral, ...], ...]  # what is said of the object alone: a conjunction of disjunctions
    relations: tuple[RequiredRelation, ...] = ()  # its relations to objects outside of the `forall`


class LiteralCredit(NamedTuple):
    """The conditions, beyond its truth, under which a literal earns credit."""

    # for each axis of the truth table the classes of which one is required; empty if any will do
    classes: tuple[tuple[str, ...], ...] = ()
    instances: tuple[InstanceCondition, ...] = ()  # the conditions of `forall`s for which there must be an instance


ANY = LiteralCredit()  # Nothing else is required: the literal counts where it holds


class ClauseCredit(NamedTuple):
    """The conditions, beyond its truth, under which a clause earns credit."""

    classes: Mapping[str, tuple[str, ...]]  # by variable, the classes of which its object must have one
    instances: tuple[InstanceCondition, ...]  # the conditions of the strict `forall`s in the clause

    def of(self, literal: Literal, scope: Sequence[str]) -> LiteralCredit:
        """Return the credit conditions of a literal in the clause. `scope` lists its variables in order."""
        if states_class(literal):
            return LiteralCredit((), self.instances)  # it is itself what is required
        classes = tuple([self.classes.get(name, ()) for name in scope])
        return LiteralCredit(classes if any(classes) else (), self.instances)


NO_CREDIT_NEEDED = ClauseCredit({}, ())  # A clause counts where it holds


def component_credits(
    component: Component, conditions: Mapping[str, InstanceCondition], universal: frozenset[str]
) -> list[ClauseCredit]:
    """Return the credit conditions of each clause in a component."""
    by_variable = _class_clauses(component, universal)
    clause_credits = []
    for clause in component.clauses:
        literals = frozenset(clause.literals)
        classes: dict[str, tuple[str, ...]] = {}
        for name in clause.names:
            # Only where the class is required in the same circumstances as the clause: so a formula that holds
            # loses nothing, and a change that breaks no clause lowers no score.
            fitting = (words for rest, words in by_variable.get(name, ()) if rest <= literals)
            words = next(fitting, None)
            if words is not None:
                classes[name] = words
        instances = tuple([conditions[name] for name in clause.names if name in conditions])
        clause_credits.append(ClauseCredit(classes, instances) if classes or instances else NO_CREDIT_NEEDED)
    return clause_credits


def _class_clauses(
    component: Component, universal: frozenset[str]
) -> dict[str, list[tuple[frozenset[Literal], tuple[str, ...]]]]:
    """Return the clauses that state the class of each `exists` variable, as pairs of other literals and classes."""
    by_variable: dict[str, list[tuple[frozenset[Literal], tuple[str, ...]]]] = {}
    for clause in component.clauses:
        stating = [literal for literal in clause.literals if states_class(literal)]
        names = {literal.variables for literal in stating}
        if len(names) != 1:
            continue
        ((name,),) = names
        rest = frozenset(clause.literals) - frozenset(stating)
        entries = by_variable.setdefault(name, [])
        bound_by_forall = all(universal.issuperset(literal.variables) for literal in rest)
        if name not in universal and bound_by_forall and len(entries) < MAX_CLASS_CLAUSES:
            entries.append((rest, tuple(sorted({_find_word(literal) or "" for literal in stating}))))
    return by_variable


def instance_conditions(
    components: Sequence[Component], instances: Mapping[str, str], universal: frozenset[str]
) -> dict[str, InstanceCondition]:
    """Return the conditions of the strict `forall`s, by variable.

    If a condition mentions other variables, only its necessary part is used: the instance may be related to any object
    of the right class. A weaker condition can only make a clause count sooner.
    """
    clauses_of: dict[str, list[Clause]] = {}
    classes_of: dict[str, tuple[str, ...]] = {}
    for component in components:
        for name, stated in _class_clauses(component, universal).items():
            classes_of[name] = next((words for rest, words in stated if not rest), ())
        for clause in component.clauses:
            for name in clause.names:
                clauses_of.setdefault(name, []).append(clause)
    conditions: dict[str, InstanceCondition] = {}
    denied: set[Literal] = set()  # circumstances in which an inner forall need not have an instance
    for name, instance in instances.items():
        if name not in universal or instance in universal:
            continue
        own_literals, relations = [], []
        for clause in clauses_of.get(instance, ()):
            instance_literals = [literal for literal in clause.literals if instance in literal.variables]
            if any(
                isinstance(literal.atom, Count) or literal.atom.predicate == DISTINCT for literal in instance_literals
            ):
                continue
            if not denied.issuperset(literal for literal in clause.literals if literal not in instance_literals):
                continue
            if all(literal.variables == (instance,) for literal in instance_literals):
                own_literals.append(
                    tuple(
                        UnaryLiteral(_as_atom(literal).predicate, _find_word(literal), literal.positive)
                        for literal in instance_literals
                    )
                )
                if len(instance_literals) == 1:
                    atom = _as_atom(instance_literals[0])
                    renamed = Atom(atom.predicate, rename_arguments(atom.arguments, {instance: name}))
                    denied.add(Literal(renamed, not instance_literals[0].positive))
            elif len(clause.literals) == 1 and instance_literals[0].positive and universal.isdisjoint(clause.variables):
                first, second = instance_literals[0].variables
                if first != second:
                    partner = second if first == instance else first
                    predicate = _as_atom(instance_literals[0]).predicate
                    relations.append(RequiredRelation(predicate, first == instance, classes_of.get(partner, ())))
        if own_literals or relations:
            conditions[name] = InstanceCondition(tuple(own_literals), tuple(relations))
    return conditions


def states_class(literal: Literal) -> bool:
    """Return whether a literal states the class of an object."""
    return literal.positive and isinstance(literal.atom, Atom) and literal.atom.predicate == "Is"


def is_asking(clause: Clause, universal: frozenset[str]) -> bool:
    """Return whether a clause requires objects: all variables are bound by `exists` and no literal is negated."""
    return universal.isdisjoint(clause.variables) and all(map(asks_for_objects, clause.literals))


def has_instance(world: World, condition: InstanceCondition) -> bool:
    """Return whether some object in the world meets the condition."""
    everything = remaining = (1 << len(world)) - 1
    for literals in condition.own:
        meeting = 0
        for predicate, word, positive in literals:
            objects = world.having(predicate, word)
            meeting |= objects if positive else everything & ~objects
        remaining &= meeting
    for predicate, is_first, classes in condition.relations:
        partners = of_classes(world, classes)
        remaining = (
            world.firsts(predicate, partners, remaining) if is_first else world.seconds(predicate, partners, remaining)
        )
    return remaining != 0


class CountingObjects:
    """Cached lookup of the objects in a world that belong to a class and of the conditions with an instance."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._of_classes: dict[tuple[str, ...], int] = {(): (1 << len(world)) - 1}
        self._has_instances: dict[tuple[InstanceCondition, ...], bool] = {(): True}

    def of_classes(self, classes: tuple[str, ...]) -> int:
        """Return the objects of the given classes as a bit set, or all objects if `classes` is empty."""
        objects = self._of_classes.get(classes)
        if objects is None:
            objects = self._of_classes[classes] = of_classes(self._world, classes)
        return objects

    def have_instances(self, conditions: tuple[InstanceCondition, ...]) -> bool:
        """Return whether every condition is met by at least one object."""
        is_met = self._has_instances.get(conditions)
        if is_met is None:
            is_met = all(has_instance(self._world, condition) for condition in conditions)
            self._has_instances[conditions] = is_met
        return is_met


def of_classes(world: World, classes: Sequence[str]) -> int:
    """Return the objects of the given classes as a bit set, or all objects if `classes` is empty."""
    objects = 0
    for name in classes:
        objects |= world.having("Is", name)
    return objects if classes else (1 << len(world)) - 1


def describe_condition(condition: InstanceCondition) -> str:
    """Describe a condition in English, such as `red cup`."""
    conjuncts = condition.own
    classes = [
        " or ".join(word or "" for _, word, _ in literals)
        for literals in conjuncts
        if _is_only_predicate(literals, "Is")
    ]
    attributes = [
        " or ".join(("" if positive else "not ") + (word or predicate) for predicate, word, positive in literals)
        for literals in conjuncts
        if not _is_only_predicate(literals, "Is")
    ]
    relations = [
        f"({predicate} {'it' if is_first else partner} {partner if is_first else 'it'})"
        for predicate, is_first, words in condition.relations
        for partner in [" or ".join(words) or "object"]
    ]
    return " ".join([*attributes, *(classes or ["object"]), *(["with", *relations] if relations else [])])


def _is_only_predicate(literals: Sequence[UnaryLiteral], predicate: str) -> bool:
    return all(literal.predicate == predicate and literal.positive for literal in literals)


def _find_word(literal: Literal) -> str | None:
    return next((argument.text for argument in _as_atom(literal).arguments if isinstance(argument, Value)), None)


def _as_atom(literal: Literal) -> Atom:
    assert isinstance(literal.atom, Atom), "counts have been left out"
    return literal.atom


def asks_for_objects(literal: Literal) -> bool:
    """Return whether a literal requires objects: a positive atom about objects, or a count of at least one."""
    if isinstance(literal.atom, Count):
        return literal.atom.limits(literal.positive).least > 0
    return literal.positive and bool(literal.atom.variables)


class StrictExpansion(NamedTuple):
    """A formula whose classical reading matches the strict reading of the original in every non-empty scene."""

    formula: Formula  # the formula; every quantifier binds a name of its own
    presence: frozenset[str]  # the variables of the instances that strict `forall`s require, such as `some_x` for `x`
    instances: Mapping[str, str]  # by the variable of a strict `forall`, that of its instance; outer ones first


def expand_strict_forall(formula: Formula) -> StrictExpansion:
    """Rewrite each strict `(forall ?x (implies A B))` as `(and (exists ?some_x A) (forall ?x (implies A B)))`."""
    if _count_expanded_literals(formula) > MAX_LITERALS:
        message = f"expanded, the formula would have more than {MAX_LITERALS:,} literals: nest fewer foralls"
        raise FormulaError([Problem("size", message, formula.span)])
    expander = _StrictExpander(formula)
    expanded = expander.walk(formula, {}, copying=False)
    return StrictExpansion(expanded, frozenset(expander.presence), dict(reversed(expander.instances.items())))


class _StrictExpander:
    """Expands a formula in a single pass, visiting the condition of each strict `forall` twice."""

    def __init__(self, formula: Formula) -> None:
        self.names = FreshNames(require_closed(formula))
        self.presence: set[str] = set()
        self.instances: dict[str, str] = {}

    def walk(self, formula: Formula, names: Mapping[str, str], copying: bool) -> Formula:
        match formula:
            case Atom(predicate, arguments, span):
                return Atom(predicate, rename_arguments(arguments, names), span)
            case Exists(variable, body):
                return self.bind(Exists, variable, body, names, copying)
            case Forall(variable, Implies(antecedent, _) as body, span):
                rule = self.bind(Forall, variable, body, names, copying)
                # The minimax game over the clauses needs the instance to be picked before the rule is tested.
                instance = self.bind(Exists, variable, antecedent, names, copying=True)
                self.instances[rule.variable.name] = instance.variable.name
                return And((instance, rule), span)
            case Forall(variable, body):
                return self.bind(Forall, variable, body, names, copying)
            case Count():  # one literal of the prenex form, evaluated as a whole: a forall inside it stays strict
                return rename_variables(formula, names, self.names)
            case _:
                return map_children(formula, lambda part: self.walk(part, names, copying))

    def bind(
        self,
        quantifier: type[Exists] | type[Forall],
        variable: Variable,
        body: Formula,
        names: Mapping[str, str],
        copying: bool,
    ) -> Exists | Forall:
        name = self.names.fresh(f"some_{variable.name}" if copying else variable.name)
        if copying:
            self.presence.add(name)
        return quantifier(Variable(name, variable.span), self.walk(body, {**names, variable.name: name}, copying))


def _count_expanded_literals(formula: Formula) -> int:
    match formula:
        case Atom():
            return 1
        case Forall(_, Implies(antecedent, consequent)):
            return 2 * _count_expanded_literals(antecedent) + _count_expanded_literals(consequent)
        case Count():
            return sum(1 for _ in atoms(formula))
        case _:
            return sum(map(_count_expanded_literals, children(formula)))
