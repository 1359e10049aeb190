"""Boxes as models write them down, and the same boxes on the canvas."""

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

MIN_SIDE = 1.0
"""Boxes less wide or high than this, on the canvas of 1000, hold no object. Fractions taken for thousandths are such."""


@dataclass(frozen=True)
class BoxConvention:
    """How a model writes boxes down.

    Attributes:
        name: how users write it, such as `xyxy-1000`.
        order: which of xmin, ymin, xmax and ymax comes when.
        span: the coordinate of the right and the bottom edge; None if that is the size of the image in pixels.
        words: how boxes are asked for.
    """

    name: str
    order: tuple[str, ...]
    span: float | None
    words: str

    @property
    def in_pixels(self) -> bool:
        """Do the numbers depend on the size of the image as it is sent?"""
        return self.span is None

    def asked_for(self, width: int, height: int) -> str:
        """The words that ask for boxes in an image of this size."""
        return self.words.format(width=width, height=height)

    def on_canvas(self, numbers: Sequence[float], width: int, height: int) -> Box | str:
        """The box on the canvas, or what is wrong with the numbers: nothing is swapped, cut or guessed.

        Args:
            numbers: as the model wrote them.
            width: of the image as it was sent, in pixels.
            height: of the image as it was sent, in pixels.
        """
        written = f"[{', '.join(f'{number:g}' for number in numbers)}]"
        if len(numbers) != 4:
            return f"the box {written} is not {self._form()}"
        named = dict(zip(self.order, numbers, strict=True))
        spans = {"x": self.span or width, "y": self.span or height}
        reach = f"{self._form()} goes from 0 to {self._reach(width, height)}"
        if not all(0 <= number <= spans[name[0]] for name, number in named.items()):
            return f"the box {written} leaves the image: {reach}"
        if named["xmin"] > named["xmax"] or named["ymin"] > named["ymax"]:
            return f"the box {written} has its corners swapped: it must be {self._form()}"
        box = Box(**{name: round(number / spans[name[0]] * CANVAS, 2) for name, number in named.items()})
        if min(box.xmax - box.xmin, box.ymax - box.ymin) < MIN_SIDE:
            return f"the box {written} is too small to hold an object: {reach}"
        return box

    def _form(self) -> str:
        return f"[{', '.join(self.order)}]"

    def _reach(self, width: int, height: int) -> str:
        return f"{width} across and {height} down" if self.span is None else f"{self.span:g}"


def box_convention(model: str, wish: str = "auto") -> BoxConvention:
    """The box convention of a model.

    Args:
        model: its name; with `auto`, the family it belongs to decides.
        wish: `auto`, or the name of a convention.

    Raises:
        FormalimgError: if there is no such convention.
    """
    table = _table()
    name = wish if wish != "auto" else _family(model, table["families"])["boxes"]
    entry = table["conventions"].get(name)
    if entry is None:
        raise FormalimgError(f"unknown boxes {wish!r}: known are auto, {', '.join(table['conventions'])}")
    return BoxConvention(name, tuple(entry["order"]), entry.get("span"), entry["words"])


def _family(model: str, families: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    return next(family for family in families if re.search(family["pattern"], model, re.IGNORECASE))


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / "boxes.toml").read_text(encoding="utf-8"))
