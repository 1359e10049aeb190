"""The form in which a chat model tells what it sees; servers are held to it, docstrings included."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SeenThing(BaseModel):
    """One thing in the picture."""

    model_config = ConfigDict(strict=True)

    label: str
    color: str
    box_2d: list[float]


class SeenThings(BaseModel):
    """All that was asked for and found."""

    model_config = ConfigDict(strict=True)

    objects: list[SeenThing]
