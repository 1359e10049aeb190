"""The form in which chat models answer with a layout."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class PlannedThing(BaseModel):
    """One object of the plan."""

    model_config = ConfigDict(extra="forbid")

    label: str
    color: str
    box_2d: Annotated[list[int], Field(min_length=4, max_length=4, description="left, top, right, bottom")]


class PlannedLayout(BaseModel):
    """The plan: thoughts first, so that they can be of use, then the objects."""

    model_config = ConfigDict(extra="forbid")

    thoughts: str
    objects: list[PlannedThing]
