"""What image models take, by their names: data, because new ones come every season."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Taking:
    """What an image model takes.

    Attributes:
        begins: how the names of such models begin.
        sides: the lengths in pixels that a square image may have; empty if others will do.
        step: lengths must be multiples of it.
        asks_for_data: must it be asked for the image itself, because it would send an address?
        edits: can it be given an image beside the words?
    """

    begins: str
    sides: tuple[int, ...] = ()
    step: int = 1
    asks_for_data: bool = True
    edits: bool = True

    def size(self, wished: int) -> str:
        """The size closest_match to the wished one, as it is written in requests."""
        if self.sides:
            side = min(self.sides, key=lambda side: (abs(side - wished), side))
        else:
            side = max(self.step, round(wished / self.step) * self.step)
        return f"{side}x{side}"


def taking(model: str) -> Taking:
    """What the model of this name takes; gateways write the maker's name in front, as in `openai/gpt-image-1`."""
    name = model.rpartition("/")[2]
    return next((known for known in _known() if name.startswith(known.begins)), Taking(""))


@cache
def _known() -> tuple[Taking, ...]:
    text = files("formalimg.models.openai").joinpath("image_models.toml").read_text(encoding="utf-8")
    return tuple(Taking(**{**entry, "sides": tuple(entry.get("sides", ()))}) for entry in tomllib.loads(text)["models"])
