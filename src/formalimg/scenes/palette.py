"""The tones that objects are painted in, read from `palette.toml` and validated on load."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from formalimg.errors import FormalimgError

_HEX = re.compile(r"#[0-9a-f]{6}")


class Tones(NamedTuple):
    """The shades of one colour, as `#rrggbb`."""

    body: str
    dark: str
    light: str
    line: str
    ink: str


@dataclass(frozen=True)
class Palette:
    """The background, the tones of every colour, those of objects of no colour, and of parts that keep their own."""

    background: str
    colors: Mapping[str, Tones]
    others: Mapping[str, Tones]
    accents: Mapping[str, str]

    @property
    def roles(self) -> frozenset[str]:
        """What a drawing can name as its paint."""
        return frozenset([*Tones._fields, *self.accents])

    def paints(self, color: str | None, other: str) -> dict[str, str]:
        """The paint of each role for an object of this colour, or of this other tint if it has none of the colours."""
        return {**self.accents, **self.colors.get(color or "", self.others[other])._asdict()}


@cache
def palette() -> Palette:
    """The palette of all drawings."""
    table = tomllib.loads((files("formalimg.scenes") / "palette.toml").read_text(encoding="utf-8"))
    return Palette(
        _hex(table["background"], "background"),
        {name: _tones(tones, name) for name, tones in table["colors"].items()},
        {name: _tones(tones, name) for name, tones in table["others"].items()},
        {name: _hex(tone, name) for name, tone in table["accents"].items()},
    )


def _tones(table: Mapping[str, object], name: str) -> Tones:
    if set(table) != set(Tones._fields):
        raise FormalimgError(f"palette.toml: {name} must have exactly the tones {', '.join(Tones._fields)}")
    return Tones(**{role: _hex(tone, f"{name}.{role}") for role, tone in table.items()})


def _hex(tone: object, where: str) -> str:
    if not isinstance(tone, str) or not _HEX.fullmatch(tone):
        raise FormalimgError(f"palette.toml: {where} must be a colour such as #d8232a, not {tone!r}")
    return tone
