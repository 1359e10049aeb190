"""Runs of ConceptMix whose answers are known, kept in real run folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from PIL import Image

from formalimg.benchmarks.conceptmix.spec import Category, ConceptSpec, RequestedConcept
from formalimg.judges.base import LoadedImage, UnscoredReason
from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import StoredRun, open_run
from formalimg.types import Item, Part, Setting, Unscored, Verdict

Answers: TypeAlias = Sequence[bool] | UnscoredReason
"""For each concept of an item whether the judge finds it; or why it finds nothing."""


def concept_item(name: str, *concepts: tuple[Category, str], prompt: str = "") -> Item[ConceptSpec]:
    """An item that asks for these concepts; its level is one less than their number."""
    asked = tuple(
        RequestedConcept(category, value, f"the {category} is {value}", f"Is the {category} {value}?", (1,))
        for category, value in concepts
    )
    return Item("conceptmix", name, len(concepts) - 1, prompt or f"a prompt for {name}", ConceptSpec(asked))


class PlannedJudge:
    """A judge that gives the answers it was given."""

    concurrency = 1
    settings: Mapping[str, Setting] = {}

    def __init__(
        self, answers: Mapping[str, Answers], costs: Mapping[str, float | None], *, silent: Sequence[str] = ()
    ) -> None:
        self.name = "test/planned"
        self._answers, self._costs, self._silent = answers, costs, silent

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        assert isinstance(item.spec, ConceptSpec)
        answers, cost = self._answers[item.id], self._costs.get(item.id, 0.0)
        if isinstance(answers, str):
            return Unscored(answers, "as planned", cost=cost)
        parts = tuple(
            Part(concept.question, concept.category, float(answer), about=(concept.value,))
            for concept, answer in zip(item.spec.concepts, answers, strict=True)
        )
        return Verdict(all(answers), () if item.id in self._silent else parts, cost=cost)


def concept_run(
    folder: Path,
    model: str,
    items: Sequence[Item[ConceptSpec]],
    answers: Mapping[str, Answers],
    costs: Mapping[str, float | None] | None = None,
    *,
    silent: Sequence[str] = (),
    flat: Sequence[str] = (),
    samples: int = 1,
) -> StoredRun:
    """A run of these items with these answers.

    Verdicts on items in `silent` do not say what they are made of; images of items in `flat` are of one colour.
    """
    blank = {item.prompt for item in items if item.id in flat}

    def paint(prompt: str) -> Image.Image:
        return Image.new("L", (256, 256), 9) if prompt in blank else Image.radial_gradient("L")

    model_ = CallableModel(paint, name=model)
    order = RunConfig(items, model_, size=64, samples=samples, made_with="formalimg")
    execute(order, folder, PlannedJudge(answers, costs or {}, silent=silent))
    return open_run(folder)
