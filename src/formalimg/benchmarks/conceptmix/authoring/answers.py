"""The forms of answers: a filled binding, a caption, what the checker says of it, and questions."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class ObjectAnswer(BaseModel):
    """An object of a binding, as published; null for attributes that it has not. Numbers may come as numbers."""

    model_config = ConfigDict(extra="forbid")
    id: int | str
    item: str
    color: str | None = None
    number: Annotated[int | str, AfterValidator(str)] | None = None
    shape: str | None = None
    size: str | None = None
    texture: str | None = None


class RelationAnswer(BaseModel):
    """A relation of a binding, as published."""

    model_config = ConfigDict(extra="forbid")
    name: str
    description: str
    first: int | str = Field(alias="ObjectA_id")
    second: int | str = Field(alias="ObjectB_id")


class BindingAnswer(BaseModel):
    """A binding in the published form; whether it makes sense is for others to say."""

    model_config = ConfigDict(extra="forbid")
    objects: list[ObjectAnswer]
    style: str | None = None
    relation: list[RelationAnswer] | None = None


class CaptionAnswer(BaseModel):
    """A caption, or why there can be none."""

    model_config = ConfigDict(extra="forbid")
    possible: bool
    why: str
    caption: str


class ValidityAnswer(BaseModel):
    """Whether a caption makes sense and says what it should."""

    model_config = ConfigDict(extra="forbid")
    valid: bool
    why: str


class RepeatedAnswer(BaseModel):
    """The same, and the caption once more: in the published code, what is repeated becomes the prompt."""

    model_config = ConfigDict(extra="forbid")
    valid: bool
    why: str
    caption: str


class QuestionsAnswer(BaseModel):
    """A question for each statement, in their order."""

    model_config = ConfigDict(extra="forbid")
    questions: list[str]
