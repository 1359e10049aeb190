"""Answers of writer and checker: in our form, and in that of the authors' texts.

Models are sent the names and fields of the answer types as a schema.
"""

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


class PublishedDraft(BaseModel):
    """An instruction as the authors' text asks for it."""

    model_config = ConfigDict(extra="forbid")
    natural_language_description: str
    dsl_representation: str

    @property
    def as_ours(self) -> Draft:
        """The same in our form."""
        return Draft(thoughts="", prompt=self.natural_language_description, formula=self.dsl_representation)


class PublishedReview(BaseModel):
    """What the checker says of an instruction, as the authors' text asks for it."""

    model_config = ConfigDict(extra="forbid")
    is_contradictory: bool
    is_aligned: bool | None
    corrected_nl_description: str | None

    @property
    def as_ours(self) -> Review:
        """The same in our form; the authors' checker gives no reasons."""
        return Review(
            thoughts="",
            plausible=not self.is_contradictory,
            aligned=bool(self.is_aligned),
            reason="",
            better_prompt=self.corrected_nl_description,
        )
