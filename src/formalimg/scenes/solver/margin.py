"""Margin check: whether a scene satisfies a formula with room to spare, without the constraint solver."""

from __future__ import annotations

from formalimg.logic.parser import parse
from formalimg.logic.syntax import DISTINCT, And, Atom, Count, Exists, Forall, Formula, Not, Or, Value, Variable
from formalimg.logic.variables import rename_apart
from formalimg.logic.verification import verify
from formalimg.logic.world import members
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES, Reading
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.inequalities import DEFAULT_MARGIN, Alternatives, alternatives, holds_reflexively
from formalimg.scenes.solver.nnf import AllBut, AllOf, AnyOf, AtomClaim, Claim, Each, Every, Many, Some, build_claim

_NOT = "not "


def keeps_margin(
    formula: Formula | str, scene: Scene, margin: int | Reading = DEFAULT_MARGIN, *, style: str | None = None
) -> bool:
    """Return whether a formula holds (strictly), and still would if every relation were a margin less clear.

    This is about the relations that its truth depends on; those that must fail are kept from holding in the same way.
    The margin is a length on the canvas; areas are compared with half as many per cent. A reading has its own margins.
    """
    if isinstance(formula, str):
        formula = parse(formula)
    if not verify(formula, scene, style=style):
        return False
    if margin == 0 or not scene.objects:
        return True
    reading = Reading.by_margin(margin) if isinstance(margin, int) else margin
    spelt_out = _claim_formula(build_claim(rename_apart(formula)), style)
    return verify(spelt_out, _MarginWorld(scene, reading), "classical").passed


def _claim_formula(claim: Claim, style: str | None) -> Formula:
    """Return a claim as a formula without style, in which the negation of an atom is a predicate of its own."""

    def inner(part: Claim) -> Formula:
        return _claim_formula(part, style)

    match claim:
        case AtomClaim(Atom("IsStyle", (Value(word),)), holds):
            return Exists(_ANY, Atom(str((word == style) == holds), (_ANY,)))
        case AtomClaim(atom, holds):
            return atom if holds else Atom(_NOT + atom.predicate, atom.arguments)
        case AllOf(parts):
            return And(tuple(map(inner, parts)))
        case AnyOf(parts):
            return Or(tuple(map(inner, parts)))
        case Some(variable, body):
            return Exists(Variable(variable), inner(body))
        case Each(variable, body):
            return Forall(Variable(variable), inner(body))
        case Many(number, variable, body):
            return Count("at-least", number, Variable(variable), inner(body))
        case AllBut(number, variable, body):
            return Count("at-most", number, Variable(variable), Not(inner(body)))
        case Every(variable, condition, exception, consequent):
            name = Variable(variable)
            rule = Forall(name, Or((inner(exception), inner(consequent))))
            return And((Exists(name, inner(condition)), rule))


_ANY = Variable("any object")


class _MarginWorld:
    """A world over a scene in which a relation holds, or fails, only as clearly as a reading demands."""

    def __init__(self, scene: Scene, reading: Reading) -> None:
        self.scene = scene
        self.reading = reading

    def __len__(self) -> int:
        return len(self.scene)

    def objection(self, atom: Atom) -> str | None:
        """Return None: the formula has been verified already."""
        return None

    def having(self, predicate: str, value: str | None, among: int = -1) -> int:
        """Return the objects of `among` for which a predicate of one variable holds, as a bit set."""
        name, holds = predicate.removeprefix(_NOT), not predicate.startswith(_NOT)
        everything = (1 << len(self.scene)) - 1
        if name in ("True", "False"):
            return everything & among if name == "True" else 0
        if name in UNARY_RULES:
            found = alternatives(name, holds, self.reading)
            objects = self.scene.objects
            return sum(1 << i for i in members(everything & among) if _holds_with_margin(found, objects[i].box))
        having = self.scene.having(name, value, among)
        return having if holds else everything & among & ~having

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """Return the objects b of `among` with predicate(a, b) for some a of `firsts`."""
        return sum(1 << b for b in members(among) if any(self._related(predicate, a, b) for a in members(firsts)))

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """Return the objects a of `among` with predicate(a, b) for some b of `seconds`."""
        return sum(1 << a for a in members(among) if any(self._related(predicate, a, b) for b in members(seconds)))

    def describe(self, obj: int) -> str:
        """Return a short description of an object."""
        return self.scene.describe(obj)

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return nothing: only the yes or no is used."""
        return ""

    def _related(self, predicate: str, a: int, b: int) -> bool:
        name, holds = predicate.removeprefix(_NOT), not predicate.startswith(_NOT)
        if name == DISTINCT:
            return (a != b) == holds
        assert name in BINARY_RULES
        if a == b:
            return holds_reflexively(name) == holds  # no detector error separates an object from itself
        return _holds_with_margin(
            alternatives(name, holds, self.reading), self.scene.objects[a].box, self.scene.objects[b].box
        )


def _holds_with_margin(found: Alternatives, *boxes: object) -> bool:
    return any(all(inequality.holds(*boxes) for inequality in way) for way in found)  # type: ignore[arg-type]
