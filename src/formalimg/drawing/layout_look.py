"""What a layout has to know: how strict it is, and how each object is drawn."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.drawing.catalog import DrawnClass
from formalimg.drawing.icon import Icon


class LayoutAttempt(NamedTuple):
    """How strict a layout is.

    Attributes:
        room: the share of the canvas that objects may fill.
        low, high: bounds of the size of an object, as multiples of what its class suggests.
        tidy: whether things stand on the ground.
        smallest: the smallest scale of a box.
        effort: the limit of the solver, in its own deterministic seconds.
        grip: how much of others is hidden by what is in front of them, from 0 (as little as counts) to 1.
    """

    room: float
    low: float
    high: float
    tidy: bool
    smallest: int
    effort: float
    grip: float = 0.0


class StandingPlace(NamedTuple):
    """The line on which things on an object stand, as fractions of its box."""

    height: float
    left: float
    right: float


class DrawnLook(NamedTuple):
    """What a layout has to know of an object.

    Attributes:
        entry: how its class is drawn.
        icon: its icon, in its shape.
        front: the icon of its front, which is painted over what is inside; None if there is none.
        rim: where the front of a container begins, as a fraction of its height; None if it is a wall around it.
        stand: where things on it stand, as fractions of its box.
        hands: where things that it holds are, as fractions of its box.
        grips: where it is held, on its left and on its right, as fractions of its box.
    """

    entry: DrawnClass
    icon: Icon
    front: Icon | None = None
    rim: float | None = None
    stand: StandingPlace | None = None
    hands: tuple[tuple[float, float], ...] = ()
    grips: tuple[tuple[float, float], ...] = ()
