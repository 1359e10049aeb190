"""Geometric implication by difference constraints: which atoms follow from other atoms or contradict them.

All geometric rules compare two measures, so that implication is a shortest-path problem: x - y <= 3 and y - z <= 4
imply x - z <= 7. Coordinates are counted in halves, so that centres are whole numbers and strict comparisons are exact.
Two facts are left out on purpose: that boxes must not overlap, because this is a property of images and not of the
prompt, and that a centre is the mean of its edges, of which only its lying between them is used. An atom is therefore
never reported as implied when it is not. The facts depend on a reading: the stricter it is, the more atoms are implied
or contradictory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor
from typing import NamedTuple, TypeAlias

from formalimg.logic.syntax import Atom
from formalimg.scenes.objects import CANVAS
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES, Greater, Less, Near, Reading

Quantity: TypeAlias = tuple[str, str]  # A measure of an object, such as `("cup", "center_x")`
ZERO: Quantity = ("", "zero")  # The quantity that is 0, for bounds on single quantities
_BARE = Reading.by_margin(0)

_AXES = (("xmin", "center_x", "xmax"), ("ymin", "center_y", "ymax"))


class DifferenceBound(NamedTuple):
    """An upper bound on a difference: `larger - smaller <= limit`."""

    larger: Quantity
    smaller: Quantity
    limit: int


class DifferenceConstraints:
    """A set of bounds, closed under implication."""

    def __init__(self, bounds: Iterable[DifferenceBound] = ()) -> None:
        self._limits: dict[Quantity, dict[Quantity, int]] = {}
        self.possible = True
        for bound in bounds:
            self.add(bound)

    def follows(self, bound: DifferenceBound) -> bool:
        """Return whether the bound follows from those in the set."""
        if not self.possible or (bound.larger == bound.smaller and bound.limit >= 0):
            return True
        limit = self._limits.get(bound.larger, {}).get(bound.smaller)
        return limit is not None and limit <= bound.limit

    def allows(self, bound: DifferenceBound) -> bool:
        """Return whether the bound is consistent with those in the set."""
        opposite = self._limits.get(bound.smaller, {}).get(bound.larger)
        if bound.larger == bound.smaller:
            return self.possible and bound.limit >= 0
        return self.possible and (opposite is None or opposite + bound.limit >= 0)

    def add(self, bound: DifferenceBound) -> None:
        """Add a bound with all bounds that follow from it."""
        if self.follows(bound):
            return
        larger, smaller, limit = bound
        if not self.allows(bound):
            self.possible = False
            return
        after = {**self._limits.get(smaller, {}), smaller: 0}
        before = [(quantity, limits[larger]) for quantity, limits in self._limits.items() if larger in limits]
        for start, first in [*before, (larger, 0)]:
            limits = self._limits.setdefault(start, {})
            for end, second in after.items():
                total = first + limit + second
                if start != end and total < limits.get(end, total + 1):
                    limits[end] = total


def follows_from(bounds: Sequence[DifferenceBound], target: DifferenceBound) -> bool:
    """Return whether a bound follows from other, consistent bounds, by searching for a shortest path."""
    outgoing: dict[Quantity, list[DifferenceBound]] = {}
    for bound in bounds:
        outgoing.setdefault(bound.larger, []).append(bound)
    best = {target.larger: 0}
    frontier = [target.larger]
    while frontier:
        reached = []
        for quantity in frontier:
            for bound in outgoing.get(quantity, ()):
                limit = best[quantity] + bound.limit
                if limit < best.get(bound.smaller, limit + 1):
                    best[bound.smaller] = limit
                    reached.append(bound.smaller)
        frontier = reached
    return best.get(target.smaller, target.limit + 1) <= target.limit


class GeometricFacts:
    """Geometric facts about objects, named by their variables."""

    def __init__(self, atoms: Iterable[Atom] = (), reading: Reading = _BARE) -> None:
        self._reading = reading
        self._known = DifferenceConstraints()
        self._named: set[str] = set()
        for atom in atoms:
            self.add(atom)

    def add(self, atom: Atom) -> None:
        """Add an atom as a fact; atoms without a geometric rule are ignored."""
        for bound in self._introduced(atom, self._reading):
            self._known.add(bound)

    @property
    def possible(self) -> bool:
        """Whether all facts can hold together."""
        return self._known.possible

    def allows(self, atom: Atom) -> bool:
        """Return whether the atom is consistent with the facts."""
        return all(self._known.allows(bound) for bound in self._introduced(atom, self._reading))

    def implies(self, atom: Atom) -> bool:
        """Return whether the atom follows from the facts, by whatever margin."""
        bounds = self._introduced(atom, _BARE)
        return bool(bounds) and all(self._known.follows(bound) for bound in bounds)

    def _introduced(self, atom: Atom, reading: Reading) -> list[DifferenceBound]:
        for name in atom.variables:
            if name not in self._named:
                self._named.add(name)
                for bound in _of_every_box(name):
                    self._known.add(bound)
        return _atom_bounds(atom, reading)


def find_redundant(atoms: list[Atom], reading: Reading = _BARE) -> list[Atom]:
    """Return the atoms that follow from the others under a reading, given consistent atoms."""
    names = dict.fromkeys(name for atom in atoms for name in atom.variables)
    certain = [bound for name in names for bound in _of_every_box(name)]
    stated = [_atom_bounds(atom, reading) for atom in atoms]
    redundant = []
    for index, atom in enumerate(atoms):
        other_bounds = [bound for number, bounds in enumerate(stated) if number != index for bound in bounds]
        bounds = _atom_bounds(atom, _BARE)
        if bounds and all(follows_from([*certain, *other_bounds], bound) for bound in bounds):
            redundant.append(atom)
    return redundant


def _of_every_box(name: str) -> Iterator[DifferenceBound]:
    for low, center, high in _AXES:
        yield DifferenceBound(ZERO, (name, low), 0)
        yield DifferenceBound((name, low), (name, center), -1)
        yield DifferenceBound((name, center), (name, high), -1)
        yield DifferenceBound((name, high), ZERO, 2 * CANVAS)


def _atom_bounds(atom: Atom, reading: Reading) -> list[DifferenceBound]:
    """Return the bounds implied by an atom under a reading; empty if it has no geometric rule."""
    beyond = -max(1, 2 * reading.margin)
    if atom.predicate in UNARY_RULES:
        rule = UNARY_RULES[atom.predicate]
        quantities = [(atom.variables[0], measure) for measure in rule.measures]
        return [bound for quantity in quantities for bound in _interval_bounds(quantity, *reading.interval(rule))]
    match BINARY_RULES.get(atom.predicate):
        case Less(first, second):
            limit = -1 if first == "area" else beyond
            return [DifferenceBound((atom.variables[0], first), (atom.variables[1], second), limit)]
        case Greater(first, second):
            limit = -1 if first == "area" else beyond
            return [DifferenceBound((atom.variables[1], second), (atom.variables[0], first), limit)]
        case Near(measure, _):
            a, b = ((name, measure) for name in atom.variables)
            limit = ceil(2 * reading.alignment) - 1
            return [DifferenceBound(a, b, limit), DifferenceBound(b, a, limit)]
        case _:
            return []


def _interval_bounds(quantity: Quantity, low: float, high: float) -> list[DifferenceBound]:
    bounds = []
    if high != float("inf"):
        bounds.append(DifferenceBound(quantity, ZERO, ceil(2 * high) - 1))
    if low != -float("inf"):
        bounds.append(DifferenceBound(ZERO, quantity, -floor(2 * low) - 1))
    return bounds
