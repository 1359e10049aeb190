"""What follows from what among geometric atoms, by the rules alone: for formulas that say nothing twice.

Every atom of the rules bounds differences of measures (`differences.py`). Coordinates are counted in halves, so that
centres are whole numbers and strict comparisons are exact. Two things are left out on purpose: that boxes must not
overlap, because it is the picture that demands it and not the words, and that a centre is the mean of its edges, which
is kept only as lying between them. So nothing is called a consequence that is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

from formalimg.logic import Atom
from formalimg.scenes import CANVAS, RULES_OF_ONE, RULES_OF_TWO, Between, Greater, Less, Near
from formalimg.suites.synthesis.differences import ZERO, Bound, Differences, Quantity

_AXES = (("xmin", "center_x", "xmax"), ("ymin", "center_y", "ymax"))


class Geometry:
    """Geometric facts about things, which go by the names of their variables."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self._known = Differences()
        self._named: set[str] = set()
        for atom in atoms:
            self.add(atom)

    def add(self, atom: Atom) -> None:
        """Take an atom for a fact. Atoms that no rule decides say nothing about geometry."""
        for bound in self._bounds(atom):
            self._known.add(bound)

    @property
    def possible(self) -> bool:
        """Can all facts hold together?"""
        return self._known.possible

    def allows(self, atom: Atom) -> bool:
        """Could the atom be a fact beside the others?"""
        return all(self._known.allows(bound) for bound in self._bounds(atom))

    def implies(self, atom: Atom) -> bool:
        """Does the atom follow from the facts?"""
        bounds = self._bounds(atom)
        return bool(bounds) and all(self._known.follows(bound) for bound in bounds)

    def _bounds(self, atom: Atom) -> list[Bound]:
        for name in atom.variables:
            self._introduce(name)
        return _bounds(atom)

    def _introduce(self, name: str) -> None:
        """Say of a new thing what is true of every box: its edges around its centre, on the canvas."""
        if name in self._named:
            return
        self._named.add(name)
        for low, center, high in _AXES:
            for bound in (
                Bound(ZERO, (name, low), 0),
                Bound((name, low), (name, center), -1),
                Bound((name, center), (name, high), -1),
                Bound((name, high), ZERO, 2 * CANVAS),
            ):
                self._known.add(bound)


def redundant(atoms: list[Atom]) -> list[Atom]:
    """The atoms that follow from the others."""
    found = []
    for atom in atoms:
        # Across, down and in size are independent: only what is said of the same direction can imply an atom.
        related = [other for other in atoms if other is not atom and _directions(other) & _directions(atom)]
        if Geometry(related).implies(atom):
            found.append(atom)
    return found


def _directions(atom: Atom) -> set[str]:
    measures = {measure for bound in _bounds(atom) for _, measure in bound[:2] if measure != ZERO[1]}
    return {"size" if measure == "area" else measure.removeprefix("center_")[0] for measure in measures}


def _bounds(atom: Atom) -> list[Bound]:
    """What an atom says when it holds; nothing if no rule decides it."""
    if atom.predicate in RULES_OF_ONE:
        rule = RULES_OF_ONE[atom.predicate]
        quantities = [(atom.variables[0], measure) for measure in rule.measures]
        return [bound for quantity in quantities for bound in _inside(quantity, rule)]
    match RULES_OF_TWO.get(atom.predicate):
        case Less(first, second):
            return [Bound((atom.variables[0], first), (atom.variables[1], second), -1)]
        case Greater(first, second):
            return [Bound((atom.variables[1], second), (atom.variables[0], first), -1)]
        case Near(measure, distance):
            a, b = ((name, measure) for name in atom.variables)
            return [Bound(a, b, ceil(2 * distance) - 1), Bound(b, a, ceil(2 * distance) - 1)]
        case _:
            return []


def _inside(quantity: Quantity, rule: Between) -> list[Bound]:
    bounds = []
    if rule.high != float("inf"):
        bounds.append(Bound(quantity, ZERO, ceil(2 * rule.high) - 1))
    if rule.low != -float("inf"):
        bounds.append(Bound(ZERO, quantity, -floor(2 * rule.low) - 1))
    return bounds
