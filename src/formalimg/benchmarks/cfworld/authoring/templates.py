"""Prompt templates for writer and checker of CF-World, their answer types, and text checks shared by the tasks."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.outcomes import Reason, Rejection
from formalimg.benchmarks.authoring.task import VERSION, clean_prompt
from formalimg.benchmarks.cfworld.items import read_package_toml
from formalimg.judges.chat_judge import system_and_user
from formalimg.prompts import load_prompts, read_prompt

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


_OURS = Path(__file__).parent / "prompts"


class CounterfactualTemplates:
    """The prompt templates of one authoring task."""

    def __init__(self, names: Sequence[str], folder: Path | None = None) -> None:
        texts = load_prompts(_OURS, folder)
        self._texts = {name: texts[name] for name in names}
        if folder is not None and self.is_published("write-scores"):
            sections = (read_prompt(folder / f"questions-{kind}.txt") for kind in ("factual", "counterfactual"))
            self._texts |= {section.name: section for section in sections}
        self.versions = {name: text.version for name, text in self._texts.items()}

    def is_published(self, name: str) -> bool:
        """Return whether a template has the authors' form, with a placeholder for assessment points."""
        return name in self._texts and "assessment_points" in self._texts[name].placeholders

    def fill(self, name: str, values: Mapping[str, str]) -> str:
        """Return a template filled with values."""
        return self._texts[name].fill(values)

    def messages(self, name: str, values: Mapping[str, str]) -> tuple[str, str]:
        """Return the system message, which may be empty, and the user message of a filled template."""
        return system_and_user(self._texts[name], values)


def first_objection(why: str, *demands: tuple[bool, Reason]) -> Rejection | None:
    """Return a rejection for the first requirement that is not met, with the checker's comment; None if all are met."""
    comment = truncate(" ".join(why.split()), 250, 50) or "no reason given"
    return next((Rejection(reason, comment) for is_met, reason in demands if not is_met), None)


def clean_fields(fields: Mapping[str, str]) -> dict[str, str] | Rejection:
    """Return each text on a single line, or a rejection if a text cannot be part of a prompt."""
    texts: dict[str, str] = {}
    for name, text in fields.items():
        line = clean_prompt(text)
        if isinstance(line, Rejection):
            return Rejection(line.reason, f"{name}: {line.detail}")
        texts[name] = line
    return texts


_WORD = re.compile(r"[a-z]+")
_STEM = 4  # Letters of a stem: shorter words carry little, and no ending reaches into the first letters


@lru_cache(maxsize=8192)
def word_stems(text: str) -> frozenset[str]:
    """Return the stems of the longer words of a text."""
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()) if len(word) >= _STEM)


def stem_share(text: str, inside: str) -> float:
    """Return the share of the stems of `text` that also occur in `inside`; 1 for a text without stems."""
    stems = word_stems(text)
    return len(stems & word_stems(inside)) / len(stems) if stems else 1.0


def draw_hints(names: Sequence[str], topic: str, seed: int, number: int) -> tuple[str, ...]:
    """Return one hint of each kind to vary attempts, using every combination before repeating any."""
    kinds = read_package_toml("authoring/hints.toml")
    combinations = list(product(*(kinds[name] for name in names)))
    random.Random(f"hints {VERSION} {' '.join(names)} {seed} {topic}").shuffle(combinations)
    return combinations[number % len(combinations)]
