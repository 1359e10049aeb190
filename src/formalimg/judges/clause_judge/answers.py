"""The forms in which a chat model judges clauses; servers are held to them, docstrings included.

A word in place of true or false is no answer.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class JudgedClause(BaseModel):
    """One clause: the evidence first, then whether it holds."""

    model_config = ConfigDict(strict=True)

    clause: str
    because: str
    holds: bool


class ClauseAnswer(BaseModel):
    """What is seen, then clause by clause, then the verdict."""

    model_config = ConfigDict(strict=True)

    observations: list[str]
    clauses: list[JudgedClause]
    fulfilled: bool


class PublishedAnswer(BaseModel):
    """The verdict, then the clauses that hold."""

    model_config = ConfigDict(strict=True)

    satisfies_constraint: bool
    satisfied_clauses: list[str]
