"""Verifying: does a formula hold in a scene? With a proof either way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from formalimg.errors import FormalimgError
from formalimg.logic.assuming import Semantics
from formalimg.logic.deciding import Decider
from formalimg.logic.parser import as_formula
from formalimg.logic.problem import FormulaError, Problem
from formalimg.logic.proof import Proof, prove
from formalimg.logic.source import NOWHERE
from formalimg.logic.syntax import Atom, Exists, Forall, Formula, Value, Variable, children
from formalimg.logic.telling import tell
from formalimg.logic.variables import rename_apart, unbound
from formalimg.logic.world import World

STYLE = "IsStyle"
"""The predicate about the picture as a whole."""


@dataclass(frozen=True)
class Verification:
    """Whether a formula holds in a scene. True in conditions if and only if it does."""

    passed: bool
    formula: Formula
    scene: World
    semantics: Semantics
    style: str | None

    def __bool__(self) -> bool:
        return self.passed

    @cached_property
    def proof(self) -> Proof:
        """Why: a witness for each variable, or what stands in the way. Worked out when first asked for."""
        return prove(rename_apart(self.formula), Decider(self.scene, self.semantics, self.style))

    def explain(self) -> str:
        """The proof or refutation in words, a screen or two at most."""
        return tell(self.proof)

    def to_json(self) -> dict[str, object]:
        """Verification and proof as plain data."""
        return {
            "passed": self.passed,
            "semantics": self.semantics,
            "style": self.style,
            "formula": str(self.formula),
            "proof": self.proof.to_json(),
        }


def verify(
    formula: Formula | str, scene: World, semantics: Semantics = "strict", style: str | None = None
) -> Verification:
    """Decide exactly whether a formula holds in a scene.

    Args:
        formula: a closed formula, parsed or as text.
        scene: a `Scene`, or anything that answers as a `World`.
        semantics: `"strict"`: `(forall ?x (implies A B))` also wants some thing for which A holds, and the empty
            scene satisfies no quantifier. `"classical"`: as in textbooks.
        style: the style of the picture, which decides `(IsStyle '…')`.

    Raises:
        FormulaError: if a variable is unbound, or the scene cannot decide an atom; never a silent False.
    """
    if semantics not in ("strict", "classical"):
        raise FormalimgError(f"unknown semantics {semantics!r}: use 'strict' or 'classical'")
    formula = as_formula(formula)
    examination = _Examination(scene, style)
    examination.visit(formula)
    if examination.problems:
        if formula.span is NOWHERE:  # built by code: give the problems a place
            return verify(str(formula), scene, semantics, style)
        raise FormulaError(examination.problems)
    once = rename_apart(formula) if examination.names_repeat else formula
    return Verification(Decider(scene, semantics, style).holds(once, {}), formula, scene, semantics, style)


class _Examination:
    """One walk that finds everything which would keep a formula from being decided."""

    def __init__(self, world: World, style: str | None) -> None:
        self.world = world
        self.style = style
        self.problems: list[Problem] = []
        self.scope: dict[str, int] = {}  # how many quantifiers around this place bind each name seen so far
        self.names_repeat = False
        self._known: set[tuple[object, ...]] = set()

    def visit(self, formula: Formula) -> None:
        kind = type(formula)
        if kind is Atom:
            self.atom(formula)  # type: ignore[arg-type]
        elif kind is Exists or kind is Forall:
            name: str = formula.variable.name  # type: ignore[union-attr]
            depth = self.scope.get(name)
            self.names_repeat |= depth is not None
            self.scope[name] = (depth or 0) + 1
            self.visit(formula.body)  # type: ignore[union-attr]
            self.scope[name] -= 1
        else:
            for part in children(formula):
                self.visit(part)

    def atom(self, atom: Atom) -> None:
        for argument in atom.arguments:
            if type(argument) is Variable and not self.scope.get(argument.name):
                self.problems.append(unbound(argument))
        shape = (atom.predicate, *map(type, atom.arguments))
        if shape not in self._known:
            objection = self.objection(atom)
            if objection is None:
                self._known.add(shape)
            else:
                self.problems.append(Problem("undecided", objection, atom.span))

    def objection(self, atom: Atom) -> str | None:
        if atom.predicate != STYLE:
            return self.world.objection(atom)
        if len(atom.arguments) != 1 or not isinstance(atom.arguments[0], Value):
            return f"{STYLE} is written ({STYLE} 'word')"
        if self.style is None:
            return f"the style of the picture is not known: say which it is (style={atom.arguments[0]}, …)"
        return None
