"""Layout settings: the strictness of an attempt, and the data of each object."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.drawing.catalog import DrawnClass
from formalimg.drawing.icon import Icon


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
