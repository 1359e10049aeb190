"""The forms of answers: what a writer gives, and what a checker says of it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Draft(BaseModel):
    """An instruction as the writer gives it: thoughts first, so that they can be of use."""

    model_config = ConfigDict(extra="forbid")
    thoughts: str
    prompt: str
    formula: str


class Review(BaseModel):
    """What the checker says of an instruction.

    Attributes:
        thoughts: on the way to the verdict.
        plausible: whether a picture could show it.
        aligned: whether words and formula say the same.
        reason: what is wrong, in one sentence; empty if nothing is.
        better_prompt: better words for the same formula; None if the words are fine, or nothing can be mended.
    """

    model_config = ConfigDict(extra="forbid")
    thoughts: str
    plausible: bool
    aligned: bool
    reason: str
    better_prompt: str | None
