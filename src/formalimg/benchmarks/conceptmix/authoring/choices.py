"""Options for authoring ConceptMix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from formalimg.benchmarks.authoring.task import Authoring, AuthoringExtent, AuthoringPlan, AuthoringTask, WritingChoices
from formalimg.benchmarks.conceptmix.pools import Difficulty, PoolProfile
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category
from formalimg.errors import FormalimgError

Binder: TypeAlias = Literal["model", "offline"]
"""Who says which objects a relation is between: the chat model, as in the paper, or chance."""

QuestionSource: TypeAlias = Literal["model", "template"]
"""Where questions come from: the chat model, as in the paper, or a sentence for each category."""

# Half of all mixes of many concepts come to nothing, many before anyone is asked; the paper tries without end.
_USUAL = AuthoringExtent(tuple(range(1, 8)), 300, 30)


@dataclass(frozen=True)
class ConceptChoices(WritingChoices):
    """Options for ConceptMix; the defaults follow the paper."""

    suites: ClassVar[str] = "conceptmix"

    concepts: Path | None = None  # a folder with the user's own concepts; None for ours
    profile: PoolProfile = "paper"  # whose rules hold where the paper and its published code differ
    only: Category | None = None  # the one category that concepts are drawn from, besides objects; None for all
    difficulty: Difficulty | None = None  # only concepts that are known to be easy or hard; None for all
    binder: Binder = "model"  # who says which objects a relation is between
    questions: QuestionSource = "model"  # where the questions come from

    def __post_init__(self) -> None:
        for name, choices in (
            ("profile", get_args(PoolProfile)),
            ("only", (None, *CATEGORIES)),
            ("difficulty", (None, *get_args(Difficulty))),
            ("binder", get_args(Binder)),
            ("questions", get_args(QuestionSource)),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise FormalimgError(f"unknown {name} {value!r}: choose from {', '.join(filter(None, choices))}")

    @property
    def made(self) -> tuple[str, ...]:
        """The command-line options that differ from the paper."""
        return tuple(f"--{entry.name}" for entry in fields(self) if getattr(self, entry.name) != entry.default)


class ConceptWriting(Authoring):
    """Authoring of items with concepts: a caption for sampled concepts, and one question per concept."""

    options = frozenset(f"--{entry.name}" for entry in fields(ConceptChoices))
    choices = ConceptChoices()

    def choose(self, name: str, options: Mapping[str, Any]) -> tuple[str, WritingChoices]:
        """Return the suite name and the selected options."""
        return name, ConceptChoices(**{option.removeprefix("--"): value for option, value in options.items()})

    def extent(self, name: str, choices: Any, levels: tuple[int, ...], per_level: int) -> AuthoringExtent:
        """Return the size of the published suite."""
        if any(level < 1 for level in levels):
            raise FormalimgError("levels must be 1 or more, as in --levels 1-7")
        return _USUAL

    def task(self, plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
        """Return the task of a plan."""
        from formalimg.benchmarks.conceptmix.authoring.attempts import ConceptAuthoring  # heavy: plans do without it

        return ConceptAuthoring(plan, prompts)
