"""The constraint model of a drawn layout: boxes with natural aspect ratios, positioned by anchors and axioms.

A box has three variables: its position (two), and a scale that multiplies its natural width and height. Sizes, anchors
(which are fractions of a box) and axioms are therefore all linear.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, permutations
from math import ceil, floor, log10, sqrt
from typing import Any, NamedTuple

from formalimg.drawing.catalog import DrawnClass
from formalimg.drawing.facts import DrawnFacts, Fact
from formalimg.drawing.icon import Icon
from formalimg.drawing.scene import OCCLUSION
from formalimg.drawing.truth import size_limit
from formalimg.scenes.measures import Measure
from formalimg.scenes.objects import CANVAS, Box
from formalimg.scenes.solver.constraint_model import BoxModel
from formalimg.scenes.spatial_relations import LEAST_OVERLAP, MOST_HIDDEN, axiom_alternatives

MARGIN = 20  # How far relations are from flipping, and objects from the edge of the canvas
_UNIT = 10  # A box of scale k has the area of a square with this times k as its side
_SMALLEST_INSIDE, _LARGEST, _LARGEST_MEASURED = 8, 62, 92  # scales
_SMALLEST_SIZED = 7
_SMALLEST_DETAILED = 12  # The smallest scale of what has a shape or a material, which would not be recognised otherwise
_COARSE_STYLES, _SMALLEST_COARSE = ("pixel art",), 14
"""Styles of coarse squares, and the smallest scale of what is recognised in them."""
_CLEARLY = 3.3  # How many times shorter or longer than usual what is tiny or huge is made at least
_ONE_SCALE = 1.4  # The scales at which the other objects are then drawn differ by this factor at most
_GAP = 24
_GROUND = 560  # In tidy layouts, what nothing carries stands below this line
_SHARE = 1000  # fractions are counted in thousandths
_SNUG = 4  # How exactly things stand where they stand
_OVERSIZED, _LIGHTEST, _HEAVIEST = 1.6, 0.42, 1.2
"""What is carried may be so much larger than usual; up to and at most so long as a multiple of its carrier."""
_STANCE = 250
"""The thousandths of the width of a thing, on each side of its middle, that has to be above where it stands."""
_MOUTH = 550  # What holds things above this share of its height has them in its mouth
_HANGING = (20, 250)  # Where a mouth is on what it holds, from the holder and from the top, as shares of its box


class _BoxVariables:
    """The variables of one box; measures are doubled to make centres integers."""

    def __init__(self, model: Any, aspect: float, low: int, high: int) -> None:
        self.across = max(1, round(_UNIT * sqrt(aspect)))
        self.down = max(1, round(_UNIT / sqrt(aspect)))
        limit = floor((CANVAS - 2 * MARGIN) / max(self.across, self.down))
        self.low, self.high = min(low, limit), max(1, min(high, limit))
        self.scale = model.new_int_var(self.low, max(self.low, self.high), "")
        self.left = model.new_int_var(MARGIN, CANVAS - MARGIN - self.across * self.low, "")
        self.top = model.new_int_var(MARGIN, CANVAS - MARGIN - self.down * self.low, "")
        model.add(self.left + self.scale * self.across <= CANVAS - MARGIN)
        model.add(self.top + self.scale * self.down <= CANVAS - MARGIN)

    def measure(self, measure: Measure) -> Any:
        start, side = (self.left, self.across) if measure.endswith(("xmin", "xmax", "_x")) else (self.top, self.down)
        steps = 0 if measure.endswith("min") else 2 if measure.endswith("max") else 1
        return 2 * start + steps * side * self.scale

    def box(self, solver: Any) -> Box:
        left, top, scale = (solver.value(variable) for variable in (self.left, self.top, self.scale))
        return Box(left, top, left + scale * self.across, top + scale * self.down)


class LayoutModel(BoxModel):
    """The constraint model of one layout attempt."""

    def __init__(self, facts: DrawnFacts, looks: Sequence[DrawnLook], attempt: LayoutAttempt, seed: int) -> None:
        super().__init__(seed)
        self.facts, self.looks, self.attempt = facts, looks, attempt
        self.carrier = {pair[0]: pair[1] for fact in facts.facts if (pair := fact.carried) is not None}
        self.boxes = [
            _BoxVariables(self.model, look.icon.aspect, *bounds)
            for look, bounds in zip(looks, self._scale_bounds(), strict=True)
        ]
        self.held: dict[tuple[int, int], list[Any]] = {}
        for fact in facts.facts:
            self._require(fact)
            if (pair := fact.carried) is not None:
                self._require_light(*pair)
        for literals in self.held.values():  # a hand holds one thing
            self.model.add_at_most_one(literals)
        self._require_solid()
        self._require_sizes()
        if attempt.tidy:
            self._require_ground()
        self._prefer_large()
        self._hint()

    def solve(self) -> list[Box] | bool | None:
        """Return the boxes; None if the model is infeasible, False if no solution was found within the effort limit."""
        solver = self.run_solver(self.attempt.effort)
        if isinstance(solver, str):
            return None if solver == "impossible" else False
        return [box.box(solver) for box in self.boxes]

    # --- sizes

    def _scale_bounds(self) -> list[tuple[int, int]]:
        sides = [suggest_side(look.entry.length) for look in self.looks]
        roots = [number for number in range(len(sides)) if number not in self.carrier]
        fill = sum(sides[number] ** 2 for number in roots)
        zoom = min(2.6, sqrt(self.attempt.room * CANVAS**2 / fill))
        bounds = []
        carriers = set(self.carrier.values())
        inside = {fact.first for fact in self.facts.facts if fact.predicate == "In"}
        measured = any(self.facts.sizes)
        for number, side in enumerate(sides):
            obj = self.facts.objects[number]
            low, high = self.attempt.low, self.attempt.high
            if number in carriers:
                high *= 2
            if number in self.carrier:
                low /= 2 if self.attempt.tidy else 4
            smallest = _SMALLEST_INSIDE if number in inside else self.attempt.smallest
            if obj.shape is not None or obj.material is not None:
                smallest = max(smallest, _SMALLEST_DETAILED)
            largest = _LARGEST
            if measured:  # what is compared is as large or small as that needs
                low, high, largest = low / 8, high * 8, _LARGEST_MEASURED
                smallest = max(_SMALLEST_SIZED, smallest if obj.shape or obj.material else 0)
            if self.facts.style in _COARSE_STYLES:
                smallest = max(smallest, _SMALLEST_COARSE)
            bounds.append(
                (max(smallest, round(side * zoom * low / _UNIT)), min(largest, ceil(side * zoom * high / _UNIT)))
            )
        return [(low, max(low, high)) for low, high in bounds]

    def _require_sizes(self) -> None:
        """Require that tiny and huge objects look so beside the others, which are all drawn to the same scale."""
        if not any(self.facts.sizes):
            return
        sides = [max(box.across, box.down) * box.scale for box in self.boxes]
        lengths = [look.entry.usual_length for look in self.looks]
        for (i, first), (j, second) in permutations(enumerate(zip(self.facts.sizes, lengths, strict=True)), 2):
            if self.facts.objects[i].label == self.facts.objects[j].label:
                if i < j:
                    self.model.add(self.boxes[i].scale == self.boxes[j].scale)
                continue
            (size, length), (other_size, reference) = first, second
            if length is None or reference is None or other_size is not None:
                continue
            limit = _ONE_SCALE * length / reference if size is None else size_limit(size, length, reference, _CLEARLY)
            if size == "huge":
                self.model.add(_SHARE * sides[i] >= ceil(_SHARE * limit) * sides[j])
            else:
                self.model.add(_SHARE * sides[i] <= floor(_SHARE * limit) * sides[j])

    # --- relations

    def _require(self, fact: Fact) -> None:
        name, first, second = fact
        if name == OCCLUSION:
            self._require_occlusion(self.boxes[first], self.boxes[second])
            return
        self.require_one(axiom_alternatives(name, MARGIN), (first, second))
        first_box, second_box = self.boxes[first], self.boxes[second]
        if name in ("On", "OnTopOf"):
            alone = sum(related.predicate == name and related.second == second for related in self.facts.facts) == 1
            self._require_standing(first_box, second_box, self.looks[second], alone)
        elif name == "In":
            self._require_inside(first_box, second_box, self.looks[second])
        elif name == "Holding":
            self._require_held(first, second)
        elif name == "NextTo" and self.attempt.tidy and not {first, second} & self.carrier.keys():
            feet = second_box.measure("ymax") - first_box.measure("ymax")
            self.model.add_linear_constraint(feet, -60, 60)

    def _require_light(self, thing: int, carrier: int) -> None:
        """Require that a carried object is not much larger than usual relative to its carrier."""
        lengths = [self.looks[number].entry.length for number in (thing, carrier)]
        if self.facts.sizes[thing] or self.facts.sizes[carrier]:
            return
        ratio = lengths[0] / lengths[1] if lengths[0] and lengths[1] else 1.0
        share = round(_SHARE * min(_HEAVIEST, max(_LIGHTEST, _OVERSIZED * ratio)))
        thing_box, carrier_box = self.boxes[thing], self.boxes[carrier]
        self.model.add(
            _SHARE * max(thing_box.across, thing_box.down) * thing_box.scale
            <= share * max(carrier_box.across, carrier_box.down) * carrier_box.scale
        )

    def _require_standing(self, thing: _BoxVariables, carrier: _BoxVariables, look: DrawnLook, alone: bool) -> None:
        """Require that an object's base is on the standing line of its carrier, with its centre within that line."""
        line = look.stand or StandingPlace(look.entry.on, 0.3, 0.7)
        aside = (line.right - line.left) / 4 if alone else 0
        height, start_share, end_share = (
            round(_SHARE * part) for part in (line.height, line.left + aside, line.right - aside)
        )
        foot, top = thing.measure("ymax"), carrier.measure("ymin")
        at = 2 * height * carrier.down * carrier.scale
        self.model.add_linear_constraint(_SHARE * (foot - top) - at, 0, 2 * _SNUG * _SHARE)
        start, across = _SHARE * carrier.measure("xmin"), 2 * carrier.across * carrier.scale
        reach = _STANCE * 2 * thing.across * thing.scale if self.attempt.tidy and not alone else 0
        self.model.add(_SHARE * thing.measure("center_x") - reach >= start + start_share * across)
        self.model.add(_SHARE * thing.measure("center_x") + reach <= start + end_share * across)

    def _require_inside(self, thing: _BoxVariables, container: _BoxVariables, look: DrawnLook) -> None:
        """Require that an object is within the window of its container, or protrudes at the top behind a front."""
        x_min, top, x_max, bottom = (round(_SHARE * edge) for edge in look.entry.inside or (0, 0, 1, 1))
        x, y = container.measure("xmin"), container.measure("ymin")
        across, down = 2 * container.across * container.scale, 2 * container.down * container.scale
        self.model.add(_SHARE * (thing.measure("xmin") - x) >= x_min * across)
        self.model.add(_SHARE * (thing.measure("xmax") - x) <= x_max * across)
        self.model.add(_SHARE * (thing.measure("ymax") - y) <= bottom * down)
        if look.rim is not None:
            rim = round(_SHARE * look.rim) * down
            self.model.add(_SHARE * (thing.measure("ymax") - y) >= rim + 8 * _SHARE)
            self.model.add(_SHARE * (thing.measure("center_y") - y) <= rim)
        else:
            self.model.add(_SHARE * (thing.measure("ymin") - y) >= top * down)
            # It stands there, and does not float.
            self.model.add(_SHARE * (thing.measure("ymax") - y) >= bottom * down - 4 * _SNUG * _SHARE)

    def _require_held(self, first: int, second: int) -> None:
        """Require that a hand of the holder touches the object, and that half of the holder remains visible."""
        holder, thing = self.boxes[first], self.boxes[second]
        hands = self.looks[first].hands
        chosen = [self.model.new_bool_var("") for _ in hands]
        self.model.add_exactly_one(chosen)
        for number, (literal, (x, y)) in enumerate(zip(chosen, hands, strict=True)):
            grip = self.looks[second].grips[0 if x >= 0.5 else 1]
            self._require_grasp(holder, thing, (round(_SHARE * x), round(_SHARE * y)), grip, literal)
            self.held.setdefault((first, number), []).append(literal)

    def _require_grasp(
        self,
        holder: _BoxVariables,
        thing: _BoxVariables,
        hand: tuple[int, int],
        grip: tuple[float, float],
        chosen: Any,
    ) -> None:
        x, y = hand
        at_x = _SHARE * holder.measure("xmin") + 2 * x * holder.across * holder.scale
        at_y = _SHARE * holder.measure("ymin") + 2 * y * holder.down * holder.scale
        # A hand is on the inner part of the thing. What a mouth holds hangs down from it, so that the face stays free.
        hangs = y < _MOUTH
        inner = round(_SHARE * (grip[0] if x >= _SHARE // 2 else 1 - grip[0]))
        nearest, farthest = _HANGING if hangs else (inner + 20, inner + 200)
        width, height = 2 * thing.across * thing.scale, 2 * thing.down * thing.scale
        start, end = _SHARE * thing.measure("xmin"), _SHARE * thing.measure("xmax")
        middle = holder.measure("center_x")
        if x >= _SHARE // 2:
            self._between(at_x, start + nearest * width, start + farthest * width, chosen)
            self.model.add(thing.measure("xmin") >= middle).only_enforce_if(chosen)
        else:
            self._between(at_x, end - farthest * width, end - nearest * width, chosen)
            self.model.add(thing.measure("xmax") <= middle).only_enforce_if(chosen)
        top = _SHARE * thing.measure("ymin")
        upper, lower = (nearest, farthest) if hangs else (round(_SHARE * grip[1]) - 120, round(_SHARE * grip[1]) + 120)
        self._between(at_y, top + upper * height, top + lower * height, chosen)

    def _require_occlusion(self, front: _BoxVariables, back: _BoxVariables) -> None:
        """Require that one box partly hides the other, and is lower in the image and so nearer to the viewer.

        There are four ways: it covers a corner, a strip at the side, a strip at the bottom, or it is small and stands
        before the other. A strip along the whole bottom is the last choice, because the other may seem to stand on it.
        The shares of width and height are bounded so that their product, the area, is within its limits.
        """
        grip = self.attempt.grip
        corner = (round(_SHARE * sqrt(LEAST_OVERLAP) * (1.12 + 0.4 * grip)), round(_SHARE * sqrt(MOST_HIDDEN) * 0.97))
        strip = (round(_SHARE * (LEAST_OVERLAP + 0.05 + 0.12 * grip)), round(_SHARE * (MOST_HIDDEN - 0.05)))
        across, down = round(_SHARE * (0.3 + 0.5 * grip)), round(_SHARE * (0.6 + 0.3 * grip))
        width, height = 2 * back.across * back.scale, 2 * back.down * back.scale
        over_left = front.measure("xmax") - back.measure("xmin")
        over_right = back.measure("xmax") - front.measure("xmin")
        rise = back.measure("ymax") - front.measure("ymin")
        at_corner, at_side, below, before = ways = [self.model.new_bool_var("") for _ in range(4)]
        for way in (at_corner, at_side, below):
            self.model.add(front.measure("ymax") >= back.measure("ymax") + 2 * _SNUG).only_enforce_if(way)
        on_left, on_right = sides = [self.model.new_bool_var("") for _ in range(2)]
        self.model.add_bool_or(ways)
        self.model.add_bool_or(sides)
        if self.attempt.tidy:
            self.model.add(below == 0)
        for way, (low, high) in ((at_corner, corner), (at_side, strip)):
            for side, share in ((on_left, over_left), (on_right, over_right)):
                self._between(_SHARE * share, low * width, high * width, way, side)
        for side, opposite in ((on_left, over_right), (on_right, over_left)):
            for way in (at_corner, at_side):  # it does not lie within the width
                self.model.add(opposite >= width).only_enforce_if(way, side)
        self._between(_SHARE * rise, corner[0] * height, corner[1] * height, at_corner)
        self.model.add(rise >= height).only_enforce_if(at_side)
        self._between(_SHARE * rise, strip[0] * height, strip[1] * height, below)
        for share in (over_left, over_right):
            self.model.add(share >= width).only_enforce_if(below)
            self.model.add(_SHARE * share >= 2 * across * front.across * front.scale).only_enforce_if(before)
        small = round(_SHARE * sqrt(MOST_HIDDEN * back.across * back.down / (front.across * front.down)) * 0.95)
        self.model.add(_SHARE * front.scale <= small * back.scale).only_enforce_if(before)
        self.model.add(_SHARE * rise >= 2 * down * front.down * front.scale).only_enforce_if(before)
        self.model.add(rise <= height).only_enforce_if(before)

    def _between(self, share: Any, low: Any, high: Any, *when: Any) -> None:
        for constraint in (self.model.add(share >= low), self.model.add(share <= high)):
            if when:
                constraint.only_enforce_if(*when)

    # --- all objects together

    def _require_solid(self) -> None:
        """Require that boxes overlap only where one object carries or hides the other."""
        hidden = {frozenset(fact[1:]) for fact in self.facts.facts if fact.predicate == OCCLUSION}
        for i, j in combinations(range(len(self.boxes)), 2):
            if frozenset((i, j)) in hidden or j in self._chain(i) or i in self._chain(j):
                continue
            gap = _GAP if i not in self.carrier and j not in self.carrier else _GAP // 3
            self.model.add_bool_or(self.separation_literals(i, j, gap))

    def _chain(self, thing: int) -> list[int]:
        chain: list[int] = []
        while thing in self.carrier and self.carrier[thing] not in chain:
            thing = self.carrier[thing]
            chain.append(thing)
        return chain

    def _require_ground(self) -> None:
        """Require that objects stand on the ground unless they are carried or above something."""
        aloft = {fact.first for fact in self.facts.facts if fact.predicate in ("HigherUp", "Above")}
        aloft |= {fact.second for fact in self.facts.facts if fact.predicate in ("LowerDown", "Below")}
        for number, box in enumerate(self.boxes):
            if number not in self.carrier and number not in aloft:
                self.model.add(box.measure("ymax") >= 2 * _GROUND)

    def _prefer_large(self) -> None:
        """Maximise the size of the smallest object up to a random limit, so that seeds give different layouts."""
        share = random.Random(f"drawn size {self.seed}").uniform(0.6, 1.0)
        least = self.model.new_int_var(0, max(1, round(share * min(box.high for box in self.boxes))), "")
        for box in self.boxes:
            self.model.add(least <= box.scale)
        self.model.maximize(least)

    def _hint(self) -> None:
        """Suggest initial positions: a row of medium-sized objects in random order."""
        rng = random.Random(f"drawn layout {self.seed}")
        roots = [number for number in range(len(self.boxes)) if number not in self.carrier]
        rng.shuffle(roots)
        for rank, number in enumerate(roots):
            box = self.boxes[number]
            scale = (box.low + box.high) // 2
            middle = MARGIN + (CANVAS - 2 * MARGIN) * (rank + 0.5) / len(roots)
            self.model.add_hint(box.scale, scale)
            self.model.add_hint(box.left, max(MARGIN, round(middle - scale * box.across / 2)))
            self.model.add_hint(box.top, max(MARGIN, round(rng.uniform(650, 950) - scale * box.down)))


def suggest_side(length: float | None) -> float:
    """Return the suggested side length of a class, which increases less than proportionally with its real length."""
    return min(340.0, max(110.0, 175 + 75 * log10((length or 0.6) / 0.6)))


class LayoutAttempt(NamedTuple):
    """The strictness of a layout attempt."""

    room: float  # the share of the canvas that objects may fill
    low: float  # bounds of the size of an object, as multiples of what its class suggests
    high: float
    tidy: bool  # whether things stand on the ground
    smallest: int  # the smallest scale of a box
    effort: float  # the limit of the solver, in its own deterministic seconds
    grip: float = 0.0  # how much of others is hidden by what is in front of them, from 0 (as little as counts) to 1


class StandingPlace(NamedTuple):
    """The line on which carried objects stand, as fractions of the carrier's box."""

    height: float
    left: float
    right: float


class DrawnLook(NamedTuple):
    """The layout data of an object."""

    entry: DrawnClass  # how its class is drawn
    icon: Icon  # its icon, in its shape
    front: Icon | None = None  # the icon of its front, which is painted over what is inside; None if there is none
    # where the front of a container begins, as a fraction of its height; None if it is a wall around it
    rim: float | None = None
    stand: StandingPlace | None = None  # where things on it stand, as fractions of its box
    hands: tuple[tuple[float, float], ...] = ()  # where things that it holds are, as fractions of its box
    # where it is held, on its left and on its right, as fractions of its box
    grips: tuple[tuple[float, float], ...] = ()
