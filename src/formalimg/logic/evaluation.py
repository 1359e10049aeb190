"""Evaluate formulas exactly, using relations instead of enumerating assignments.

The work grows with the number of variables that are linked to each other. If a table would become too large, the
outermost quantifier is evaluated value by value. Answers are always exact: evaluation raises an error if it takes more
than MAX_STEPS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from formalimg.logic.constraints import ConstraintBuilder, Semantics
from formalimg.logic.errors import NOWHERE, FormulaError, Problem, SourceText, Span
from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or
from formalimg.logic.variables import FormulaStructure
from formalimg.logic.world import Domains, OutOfStepsError, TooWideError, World, join, members

Binding: TypeAlias = Mapping[str, int]  # Which object each variable stands for


class TooHardError(FormulaError):
    """Raised if deciding a formula in a scene would take too many steps."""


class Evaluator:
    """Decides formulas in one world under one semantics, with a shared limit of `MAX_STEPS`.

    Formulas must bind every name only once (see `rename_apart`), and the world must support all of their atoms. All
    methods except `holds` raise OutOfStepsError if the step limit is exceeded.
    """

    def __init__(
        self, world: World, semantics: Semantics, style: str | None, structure: FormulaStructure | None = None
    ) -> None:
        self.world = world
        self.semantics: Semantics = semantics
        self.strict = semantics == "strict"
        self.style = style
        self._builder = ConstraintBuilder(world, semantics, style, structure or FormulaStructure())
        self.query = self._builder.query

    def holds(self, formula: Formula, binding: Binding) -> bool:
        """Return whether the formula holds when its free variables are bound to the given objects."""
        try:
            return self.satisfiable((), [formula], binding)
        except OutOfStepsError:
            objects, text = len(self.world), str(formula)
            span = Span(SourceText(text), 0, len(text)) if formula.span is NOWHERE else formula.span
            among = f"among {objects:,} object{'s' * (objects > 1)}"
            advice = "use fewer variables that are linked, or a scene with fewer objects"
            message = f"this takes too many steps to decide {among}: {advice}"
            raise TooHardError([Problem("size", message, span)]) from None

    def satisfiable(self, variables: Sequence[str], formulas: Sequence[Formula], binding: Binding) -> bool:
        """Return whether some assignment to the variables makes all formulas hold."""
        if not len(self.world):
            return not variables and all(self._holds_in_empty_world(formula) for formula in formulas)
        try:
            block = self._builder.block(variables, formulas, _as_domains(binding))
            if block is None or not binding:
                return block is not None
            return bool(join(block.relations, tuple(binding), block.domains, self.query).rows)
        except TooWideError:
            return self._satisfiable_by_value(variables, formulas, binding)

    def selected(
        self, variable: str, other_variables: Sequence[str], formulas: Sequence[Formula], binding: Binding
    ) -> int:
        """Return the values of `variable` for which some assignment to `other_variables` makes all formulas hold."""
        try:
            domains = {**_as_domains(binding), variable: self._builder.everything}
            block = self._builder.block(other_variables, formulas, domains)
            if block is None:
                return 0
            table = join(block.relations, (*binding, variable), block.domains, self.query)
            return table.rows.get(tuple(binding.values()), 0)
        except TooWideError:
            objects = range(len(self.world))
            allowed = (i for i in objects if self.satisfiable(other_variables, formulas, {**binding, variable: i}))
            return sum(1 << obj for obj in allowed)

    def numbers(self, count: Count, variables: tuple[str, ...]) -> dict[tuple[int, ...], int]:
        """Return the number of objects for each assignment of the free variables, omitting zero counts."""
        name = count.variable.name
        try:
            domains = dict.fromkeys([*variables, name], self._builder.everything)
            block = self._builder.block((), [count.body], domains)
            if block is None:
                return {}
            table = join(block.relations, (*variables, name), block.domains, self.query)
            return {objects: row.bit_count() for objects, row in table.rows.items()}
        except TooWideError:
            counts = {}
            for objects in product(range(len(self.world)), repeat=len(variables)):
                binding = dict(zip(variables, objects, strict=True))
                counts[objects] = self.selected(name, (), [count.body], binding).bit_count()
            return counts

    def first_binding(
        self, variables: Sequence[str], formulas: Sequence[Formula], binding: Binding
    ) -> dict[str, int] | None:
        """Return the first assignment, in scene order, that satisfies the formulas, or None if there is none."""
        chosen = dict(binding)
        for index, name in enumerate(variables):
            possible = self.selected(name, variables[index + 1 :], formulas, chosen)
            if not possible:
                return None
            chosen[name] = next(members(possible))
        return chosen

    # --- value by value, where tables would be too large, and for the empty world

    def _satisfiable_by_value(self, variables: Sequence[str], formulas: Sequence[Formula], binding: Binding) -> bool:
        if variables:
            first, *rest = variables
            objects = range(len(self.world))
            return any(self.satisfiable(rest, formulas, {**binding, first: obj}) for obj in objects)
        if len(formulas) > 1:
            return all(self._holds(formula, binding) for formula in formulas)
        return self._holds_by_value(formulas[0], binding)

    def _holds(self, formula: Formula, binding: Binding) -> bool:
        return self.satisfiable((), [formula], binding)

    def _holds_by_value(self, formula: Formula, binding: Binding) -> bool:
        match formula:
            case Exists(variable, body):
                return self.satisfiable([variable.name], [body], binding)
            case Forall(variable, body):
                objects = range(len(self.world))
                if not all(self._holds(body, {**binding, variable.name: obj}) for obj in objects):
                    return False
                if not self.strict or not isinstance(body, Implies):
                    return True
                return self.satisfiable([variable.name], [body.antecedent], binding)
            case Count(_, _, variable, body):
                return formula.allows(self.selected(variable.name, (), [body], binding).bit_count())
            case _:
                return _by_truth_table(formula, lambda part: self._holds(part, binding))

    def _holds_in_empty_world(self, formula: Formula) -> bool:
        match formula:
            case Exists():
                return False
            case Forall():
                return not self.strict
            case Count():
                return formula.allows(0)
            case Atom():
                return self._builder.style_is(formula)
            case _:
                return _by_truth_table(formula, self._holds_in_empty_world)


def _by_truth_table(formula: Formula, holds: Callable[[Formula], bool]) -> bool:
    """Evaluate a propositional formula, given the truth values of its parts."""
    match formula:
        case Not(body):
            return not holds(body)
        case And(parts):
            return all(map(holds, parts))
        case Or(parts):
            return any(map(holds, parts))
        case Implies(antecedent, consequent):
            return not holds(antecedent) or holds(consequent)
        case Iff(left, right):
            return holds(left) == holds(right)
        case _:
            raise AssertionError(f"{formula} has no truth table")


def _as_domains(binding: Binding) -> Domains:
    return {name: 1 << obj for name, obj in binding.items()}
