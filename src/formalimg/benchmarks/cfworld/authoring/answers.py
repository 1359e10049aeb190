"""The forms of answers: a group, what the checker says of it, questions, a description, and a pair."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Discipline: TypeAlias = Literal["physics", "biology", "chemistry", "geography", "sociology"]
Branch: TypeAlias = Literal["", "mechanics", "optics", "thermodynamics", "electromagnetism", "astronomy"]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    thoughts: str


class GroupAnswer(_Answer):
    """A group as the writer gives it: thoughts first, so that they can be of use."""

    discipline: Discipline
    branch: Branch
    changed: str
    factual: str
    implicit: str
    outcome: str
    described: str
    shows_factual: str
    shows: str


class CriteriaAnswer(_Answer):
    """What the checker says of a group, one criterion after the other."""

    unambiguous: bool
    deductive: bool
    safe: bool
    valid: bool
    why: str


class QuestionAnswer(BaseModel):
    """A question and its criteria; what it weighs is not for the model to say."""

    model_config = ConfigDict(extra="forbid")
    dimension: Literal["integrity", "logic", "assessment"]
    question: str
    criteria: str


class ScoresAnswer(_Answer):
    """The questions about one picture."""

    questions: list[QuestionAnswer]


class RuleQuestionAnswer(_Answer):
    """The one question about a drawing of the rule probe."""

    question: str
    criteria: str


class DescriptionAnswer(_Answer):
    """An outcome without its names.

    Attributes:
        outcome: what was rewritten, as it stands in the prompt.
        named: the words of it that named what is now described.
        described: the same without these words.
    """

    outcome: str
    named: list[str]
    described: str


class SamenessAnswer(_Answer):
    """What the checker says of a description."""

    same: bool
    nameless: bool
    safe: bool
    why: str


class PairAnswer(_Answer):
    """A thing with a partner it is hardly ever seen with, and with one it often has."""

    a: str
    rare: str
    common: str
    rare_prompt: str
    common_prompt: str


class RarityAnswer(_Answer):
    """What the checker says of a pair."""

    rare: bool
    common: bool
    safe: bool
    why: str
