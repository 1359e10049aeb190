"""Runs of CF-World whose scores are known beforehand, kept in real run folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, Dimension, WeightedQuestion
from formalimg.judges.base import LoadedImage, UnscoredReason
from formalimg.models.base import Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, judge_run
from formalimg.types import Item, Part, Setting, Unscored, Verdict
from tests.support.models import Speckles, speckled

Scores: TypeAlias = Sequence[float] | UnscoredReason
"""A score for each question of an item; or why there is none."""

WEIGHTS: Mapping[Dimension, float] = {"integrity": 3, "assessment": 15, "logic": 8, "adherence": 2}


def scored_item(
    group: str,
    level: int,
    dimensions: Sequence[Dimension] = ("integrity", "logic", "assessment"),
    *,
    name: str = "",
    suite: str = "cf-world",
    tags: tuple[str, ...] = ("physics", "optics"),
) -> Item[CounterfactualSpec]:
    """An item with a question of each of these dimensions."""
    questions = tuple(
        WeightedQuestion(dimension, f"Is {dimension} number {number} right?", "1: yes. 0: no.", WEIGHTS[dimension])
        for number, dimension in enumerate(dimensions, 1)
    )
    name = name or f"{group}-l{level}"
    return Item(suite, name, level, f"An image called {name}.", CounterfactualSpec(group, "", questions), tags, "1")


def groups_of(count: int, **more: object) -> list[Item[CounterfactualSpec]]:
    """So many groups with their three levels."""
    return [scored_item(f"g{n}", level, **more) for n in range(count) for level in (1, 2, 3)]  # type: ignore[arg-type]


@dataclass
class ScoringJudge:
    """Gives the scores it was set up to give, with a reason for each."""

    scores: Callable[[Item[CounterfactualSpec], LoadedImage], Scores]
    name: str = "test/scores"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"version": 1})
    concurrency: int = 8

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        assert isinstance(spec, CounterfactualSpec)
        given = self.scores(Item(item.suite, item.id, item.level, item.prompt, spec), image)
        if isinstance(given, str):
            return Unscored(given, "as planned")
        if not spec.questions:
            return Unscored("not understood", "there are no questions")
        times = Counter(asked.dimension for asked in spec.questions)
        parts = tuple(
            Part(asked.question, asked.dimension, score, asked.weight / times[asked.dimension], reason=f"it is {score}")
            for asked, score in zip(spec.questions, given, strict=True)
        )
        return Verdict(Verdict(False, parts).score >= 0.5 - 1e-9, parts)


def judge_by(scores: Mapping[str, Scores], name: str = "test/scores") -> ScoringJudge:
    """A judge that gives these scores, by item."""
    return ScoringJudge(lambda item, image: scores[item.id], name)


def scored_run(
    folder: Path,
    items: Sequence[Item[CounterfactualSpec]],
    *judges: ScoringJudge,
    model: str = "test/speckles",
    refused: Sequence[str] = (),
    samples: int = 1,
) -> Path:
    """A run in which these judges have judged, one after the other, and some items were refused by the model."""

    def answer(request: ImageRequest) -> ImageResult:
        name = f"{model} {request.item} {request.sample}"
        return Refused("no") if request.item in refused else Generated(speckled(name, 16))

    order = RunConfig(items, Speckles(name=model, answer=answer), size=16, samples=samples, made_with="formalimg")
    execute(order, folder, judges[0] if judges else None)
    for judge in judges[1:]:
        judge_run(folder, judge)
    return folder
