"""Geometric rules that define the predicates for position, alignment and size.

Each rule is a strict comparison of measures, so that verification, explanations and solver use the same definition. The
numbers are those of the published evaluator (paper, appendix A.4). A `Reading` states how clearly the rules must hold:
as the evaluator decides them, by a margin, or as a person reads the words of an instruction.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.logic.world import members
from formalimg.scenes.measures import Measure, Rankings
from formalimg.scenes.objects import CANVAS, Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Measures: TypeAlias = NDArray[np.float64]
    Truth: TypeAlias = NDArray[np.bool]


ALIGNMENT = 100  # Centres less than this apart are aligned
MEASURE_NAMES: dict[Measure, str] = {
    "xmin": "left edge",
    "ymin": "top edge",
    "xmax": "right edge",
    "ymax": "bottom edge",
    "center_x": "centre x",
    "center_y": "centre y",
    "area": "area",
}


class Between(NamedTuple):
    """A rule for one object: each measure must lie strictly between two bounds."""

    measures: tuple[Measure, ...]
    low: float
    high: float

    def holds(self, box: Box) -> bool:
        """Return whether a box satisfies the rule."""
        return all(self.low < getattr(box, measure) < self.high for measure in self.measures)

    def objects(self, among: int, rankings: Rankings) -> int:
        """Return the objects in `among` that satisfy the rule."""
        for measure in self.measures:
            among = rankings[measure].between(self.low, self.high, among)
        return among

    def evidence(self, box: Box) -> str:
        """Describe the first measure that is out of bounds, or all measures if the rule holds."""
        parts = []
        for measure in self.measures:
            value, name = getattr(box, measure), MEASURE_NAMES[measure]
            if value <= self.low:
                return f"{name} {value:g} ≤ {self.low:g}"
            if value >= self.high:
                return f"{name} {value:g} ≥ {self.high:g}"
            parts.append(f"{name} {value:g} {_format_bounds(self.low, self.high)}")
        return ", ".join(parts)


@lru_cache
def _format_bounds(low: float, high: float) -> str:
    parts = [f"> {low:g}"] * (low > -float("inf")) + [f"< {high:g}"] * (high < float("inf"))
    return " and ".join(parts)


class Less(NamedTuple):
    """A rule for two objects: a measure of the first must be strictly less than a measure of the second."""

    first: Measure
    second: Measure

    def holds(self, a: Box, b: Box) -> bool:
        """Return whether a pair of boxes satisfies the rule."""
        return bool(getattr(a, self.first) < getattr(b, self.second))

    def seconds(self, firsts: int, among: int, rankings: Rankings) -> int:
        """Return the objects in `among` that are the second object of a pair with one of `firsts`."""
        return rankings[self.second].above(rankings[self.first].smallest(firsts), among)

    def firsts(self, seconds: int, among: int, rankings: Rankings) -> int:
        """Return the objects in `among` that are the first object of a pair with one of `seconds`."""
        return rankings[self.first].below(rankings[self.second].largest(seconds), among)

    def pairs(self, first: Measures, second: Measures) -> Truth:
        """Return the truth table of the rule, by first and second object. Leading scene dimensions are allowed."""
        return first[..., None] < second[..., None, :]

    def evidence(self, a: Box, b: Box) -> str:
        """Describe how the two measures compare."""
        first_value, second_value = getattr(a, self.first), getattr(b, self.second)
        return _format_comparison(
            self.first, first_value, "<" if first_value < second_value else "≥", self.second, second_value
        )


class Greater(NamedTuple):
    """A rule for two objects: a measure of the first must be strictly greater than a measure of the second."""

    first: Measure
    second: Measure

    def holds(self, a: Box, b: Box) -> bool:
        """Return whether a pair of boxes satisfies the rule."""
        return bool(getattr(a, self.first) > getattr(b, self.second))

    def seconds(self, firsts: int, among: int, rankings: Rankings) -> int:
        """Return the objects in `among` that are the second object of a pair with one of `firsts`."""
        return rankings[self.second].below(rankings[self.first].largest(firsts), among)

    def firsts(self, seconds: int, among: int, rankings: Rankings) -> int:
        """Return the objects in `among` that are the first object of a pair with one of `seconds`."""
        return rankings[self.first].above(rankings[self.second].smallest(seconds), among)

    def pairs(self, first: Measures, second: Measures) -> Truth:
        """Return the truth table of the rule, by first and second object. Leading scene dimensions are allowed."""
        return first[..., None] > second[..., None, :]

    def evidence(self, a: Box, b: Box) -> str:
        """Describe how the two measures compare."""
        first_value, second_value = getattr(a, self.first), getattr(b, self.second)
        return _format_comparison(
            self.first, first_value, ">" if first_value > second_value else "≤", self.second, second_value
        )


class Near(NamedTuple):
    """A rule for two objects: their values of a measure must differ by strictly less than a bound."""

    measure: Measure
    bound: float

    @property
    def first(self) -> Measure:
        """The measure of the first object."""
        return self.measure

    @property
    def second(self) -> Measure:
        """The measure of the second object, which is the same as for the first."""
        return self.measure

    def holds(self, a: Box, b: Box) -> bool:
        """Return whether a pair of boxes satisfies the rule."""
        return bool(abs(getattr(a, self.measure) - getattr(b, self.measure)) < self.bound)

    def seconds(self, firsts: int, among: int, rankings: Rankings) -> int:
        """Return the objects in `among` that are the second object of a pair with one of `firsts`."""
        ranking = rankings[self.measure]
        objects = 0
        for obj in members(firsts):
            objects |= ranking.near(ranking.value(obj), self.bound, among & ~objects)
        return objects

    def firsts(self, seconds: int, among: int, rankings: Rankings) -> int:
        """Return the objects in `among` that are the first object of a pair with one of `seconds`."""
        return self.seconds(seconds, among, rankings)

    def pairs(self, first: Measures, second: Measures) -> Truth:
        """Return the truth table of the rule, by first and second object. Leading scene dimensions are allowed."""
        return abs(first[..., None] - second[..., None, :]) < self.bound

    def evidence(self, a: Box, b: Box) -> str:
        """Describe the difference between the two measures."""
        first_value, second_value = getattr(a, self.measure), getattr(b, self.measure)
        apart = abs(first_value - second_value)
        sign = "<" if apart < self.bound else "≥"
        return (
            f"{MEASURE_NAMES[self.measure]} {first_value:g} and {second_value:g}: diff {apart:g} {sign} {self.bound:g}"
        )


BinaryRule: TypeAlias = Less | Greater | Near

_INFINITY = float("inf")
_HALF = CANVAS / 2

UNARY_RULES: dict[str, Between] = {
    "OnLeftSide": Between(("center_x",), -_INFINITY, _HALF),
    "OnRightSide": Between(("center_x",), _HALF, _INFINITY),
    "OnTopSide": Between(("center_y",), -_INFINITY, _HALF),
    "OnBottomSide": Between(("center_y",), _HALF, _INFINITY),
    "InCenter": Between(("center_x", "center_y"), CANVAS / 3, CANVAS * 2 / 3),
}
"""Rules of the predicates of one variable."""

BINARY_RULES: dict[str, BinaryRule] = {
    "LeftOf": Less("xmax", "center_x"),
    "RightOf": Greater("xmin", "center_x"),
    "Above": Less("ymax", "center_y"),
    "Below": Greater("ymin", "center_y"),
    "AlignedHorizontally": Near("center_y", ALIGNMENT),
    "AlignedVertically": Near("center_x", ALIGNMENT),
    "LargerThan": Greater("area", "area"),
    "SmallerThan": Less("area", "area"),
}
"""Rules of the predicates of two variables."""


class Reading(NamedTuple):
    """Margins by which geometric rules must hold or fail, on a canvas of size 1000."""

    margin: int  # how far edges and centres are beyond their bounds
    area: int  # by how many thousandths the larger of two areas exceeds the smaller
    # centres of aligned objects are less than this apart; of others, at least `ALIGNMENT` and the margin
    alignment: int
    # what is in the center is less than this from the middle, and what is in a half is more; 0: as the rules and the
    # margin have it
    middle: int = 0

    @classmethod
    def by_margin(cls, margin: int) -> Reading:
        """Create the margins for a given length. Areas must differ by half that number in percent."""
        return cls(margin, 5 * margin, ALIGNMENT - margin)

    def interval(self, rule: Between) -> tuple[float, float]:
        """Return the bounds within which the measures must lie for the rule to hold by the margin."""
        is_half = _INFINITY in (-rule.low, rule.high)
        if self.middle and not is_half:
            return _HALF - self.middle, _HALF + self.middle
        beyond = max(self.margin, self.middle)
        return rule.low + beyond, rule.high - beyond


AS_READ = Reading(margin=40, area=500, alignment=1, middle=60)
"""As a person reads them: one row is one height, the center is the middle and in no half, sides and directions are
plain to see, and so is what is larger."""


def _format_comparison(first: Measure, first_value: float, sign: str, second: Measure, second_value: float) -> str:
    name = "" if first == second else f"{MEASURE_NAMES[second]} "
    return f"{MEASURE_NAMES[first]} {first_value:g} {sign} {name}{second_value:g}"
