"""Box conventions: how families of models write bounding boxes (`boxes.toml`), and the same boxes on the canvas."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.scenes.objects import CANVAS, Box

MIN_BOX_SIDE = 1.0
"""Boxes with a smaller side, on the canvas of 1000, hold no object."""

_SHOWN = 20
"""So many numbers of a wrong box are shown."""


@dataclass(frozen=True)
class BoxConvention:
    """How a model writes boxes."""

    name: str  # how users write it, such as `xyxy-1000`
    order: tuple[str, ...]  # the order of the numbers: xmin, ymin, xmax, ymax, or ymin, xmin, ymax, xmax
    # the coordinate of the right and the bottom edge; None if that is the size of the image in pixels
    span: float | None
    text: str  # the instruction for the model, with `{width}` and `{height}` of the image

    @property
    def in_pixels(self) -> bool:
        """Whether the numbers depend on the size of the image as it is sent."""
        return self.span is None

    def instruction(self, width: int, height: int) -> str:
        """Return the text that asks for boxes in an image of this size."""
        return self.text.format(width=width, height=height)

    def on_canvas(self, numbers: Sequence[float], width: int, height: int) -> Box | str:
        """Return the box on the canvas, or what is wrong with the numbers: nothing is swapped, clipped or guessed.

        A box in the very corner, with no number above 1, is written in unit coordinates: the model did not do as asked.
        """
        if len(numbers) != 4:
            return self._objection(numbers, f"is not {self._form}")
        if self.span != 1 and min(numbers) >= 0 and max(numbers) <= 1:
            return self._objection(numbers, f"looks like unit coordinates: {self._range(width, height)}")
        left, top, right, bottom = numbers if self.order[0] == "xmin" else (numbers[place] for place in (1, 0, 3, 2))
        across, down = self.span or width, self.span or height
        if not (0 <= left <= across and 0 <= right <= across and 0 <= top <= down and 0 <= bottom <= down):
            return self._objection(numbers, f"leaves the image: {self._range(width, height)}")
        if left > right or top > bottom:
            return self._objection(numbers, f"has its corners swapped: it must be {self._form}")
        box = Box(
            round(left / across * CANVAS, 2),
            round(top / down * CANVAS, 2),
            round(right / across * CANVAS, 2),
            round(bottom / down * CANVAS, 2),
        )
        if box.xmax - box.xmin < MIN_BOX_SIDE or box.ymax - box.ymin < MIN_BOX_SIDE:
            return self._objection(numbers, f"is too small to hold an object: {self._range(width, height)}")
        return box

    def write(self, box: Box, width: int, height: int) -> tuple[float, ...]:
        """Return the numbers of a box on the canvas as a model writes them: the inverse of `on_canvas`."""
        across, down = (self.span or width) / CANVAS, (self.span or height) / CANVAS
        left, top, right, bottom = box.xmin * across, box.ymin * down, box.xmax * across, box.ymax * down
        return (left, top, right, bottom) if self.order[0] == "xmin" else (top, left, bottom, right)

    @property
    def _form(self) -> str:
        return f"[{', '.join(self.order)}]"

    def _range(self, width: int, height: int) -> str:
        limits = f"{width} across and {height} down" if self.span is None else f"{self.span:g}"
        return f"{self._form} goes from 0 to {limits}"

    def _objection(self, numbers: Sequence[float], problem: str) -> str:
        more = ", …" if len(numbers) > _SHOWN else ""
        return f"the box [{', '.join(f'{number:g}' for number in numbers[:_SHOWN])}{more}] {problem}"


def box_convention(model: str, convention: str = "auto") -> BoxConvention:
    """Return the box convention of a model.

    Args:
        model: its name; with `auto`, the family it belongs to decides.
        convention: `auto`, or the name of a convention.

    Raises:
        FormalimgError: if there is no such convention.
    """
    table = _table()
    name = convention
    if convention == "auto":
        name = next(one["boxes"] for one in table["families"] if re.search(one["pattern"], model, re.IGNORECASE))
    entry = table["conventions"].get(name)
    if entry is None:
        raise FormalimgError(f"unknown boxes {convention!r}: known are auto, {', '.join(table['conventions'])}")
    return BoxConvention(name, tuple(entry["order"]), entry.get("span"), entry["words"])


def box_conventions() -> tuple[BoxConvention, ...]:
    """Return all conventions that `-J boxes=` knows."""
    return tuple(box_convention("", name) for name in _table()["conventions"])


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / "boxes.toml").read_text(encoding="utf-8"))
