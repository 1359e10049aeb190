"""A pool of concepts of one category, and the kinds of choice among pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from formalimg.suites.conceptmix.spec import Category

Profile: TypeAlias = Literal["paper", "official-code"]
"""Whose rules hold where the paper and its published code differ."""

Difficulty: TypeAlias = Literal["easy", "hard"]


@dataclass(frozen=True)
class Pool:
    """The concepts of one category.

    Attributes:
        category: what sort of concepts they are.
        values: the concepts, sorted.
        statement: the sentence that a concept becomes, with places for names.
        sentences: the sentences of single values that have one of their own.
        easy, hard: values that are known to be easier or harder.
        of_people: the sentence in place of `statement` where the object is a human being; None if it is the same.
    """

    category: Category
    values: tuple[str, ...]
    statement: str
    sentences: Mapping[str, str] = field(default_factory=dict)
    easy: frozenset[str] = frozenset()
    hard: frozenset[str] = frozenset()
    of_people: str | None = None

    def sentence(self, value: str, *, of_people: bool = False) -> str:
        """The sentence of a value, perhaps of a human being."""
        usual = self.of_people if of_people and self.of_people is not None else self.statement
        return self.sentences.get(value, usual)

    def difficulty(self, value: str) -> Difficulty | None:
        """Whether a value is known to be easy or hard; None for most."""
        return "easy" if value in self.easy else "hard" if value in self.hard else None


Pools: TypeAlias = Mapping[Category, Pool]
"""All concepts, by category; every category is there."""
