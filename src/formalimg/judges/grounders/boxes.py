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
from formalimg.scenes import CANVAS, Box

MIN_BOX_SIDE = 1.0
"""Boxes with a smaller side, on the canvas of 1000, hold no object; fractions read as thousandths are such."""


@dataclass(frozen=True)
class BoxConvention:
    """How a model writes boxes.

    Attributes:
        name: how users write it, such as `xyxy-1000`.
        order: the order of xmin, ymin, xmax and ymax.
        span: the coordinate of the right and the bottom edge; None if that is the size of the image in pixels.
        text: the instruction for the model, with `{width}` and `{height}` of the image.
    """

    name: str
    order: tuple[str, ...]
    span: float | None
    text: str

    @property
    def in_pixels(self) -> bool:
        """Whether the numbers depend on the size of the image as it is sent."""
        return self.span is None

    def instruction(self, width: int, height: int) -> str:
        """Return the text that asks for boxes in an image of this size."""
        return self.text.format(width=width, height=height)

    def on_canvas(self, numbers: Sequence[float], width: int, height: int) -> Box | str:
        """Return the box on the canvas, or what is wrong with the numbers: nothing is swapped, clipped or guessed.

        Args:
            numbers: as the model wrote them.
            width: of the image as it was sent, in pixels.
            height: of the image as it was sent, in pixels.
        """
        written = f"[{', '.join(f'{number:g}' for number in numbers)}]"
        form = f"[{', '.join(self.order)}]"
        if len(numbers) != 4:
            return f"the box {written} is not {form}"
        named = dict(zip(self.order, numbers, strict=True))
        spans = {"x": self.span or width, "y": self.span or height}
        limits = f"{width} across and {height} down" if self.span is None else f"{self.span:g}"
        if not all(0 <= number <= spans[name[0]] for name, number in named.items()):
            return f"the box {written} leaves the image: {form} goes from 0 to {limits}"
        if named["xmin"] > named["xmax"] or named["ymin"] > named["ymax"]:
            return f"the box {written} has its corners swapped: it must be {form}"
        box = Box(**{name: round(number / spans[name[0]] * CANVAS, 2) for name, number in named.items()})
        if min(box.xmax - box.xmin, box.ymax - box.ymin) < MIN_BOX_SIDE:
            return f"the box {written} is too small to hold an object: {form} goes from 0 to {limits}"
        return box


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


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / "boxes.toml").read_text(encoding="utf-8"))
