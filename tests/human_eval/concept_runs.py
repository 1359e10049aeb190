"""Quick runs of ConceptMix whose images show nothing, and judges whose answers are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from formalimg.benchmarks.conceptmix.spec import Category, ConceptSpec, RequestedConcept
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, judge_run
from formalimg.types import Item, Part, Setting, Unscored, Verdict
from tests.support.models import Speckles, speckled


def concept_item(name: str, categories: Sequence[Category]) -> Item[ConceptSpec]:
    asked = tuple(
        RequestedConcept(category, f"value {number}", f"statement {number}", f"Is it {category} number {number}?", (1,))
        for number, category in enumerate(categories, 1)
    )
    return Item("conceptmix", name, len(categories) - 1, f"An image called {name}.", ConceptSpec(asked))


@dataclass
class PlannedJudge:
    name: str
    answers: Callable[[Item[ConceptSpec]], Sequence[bool] | None]
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"version": 1})
    concurrency: int = 8

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        assert isinstance(spec, ConceptSpec)
        said = self.answers(Item(item.suite, item.id, item.level, item.prompt, spec))
        if said is None:
            return Unscored("not understood", "it is too dark")
        parts = tuple(
            Part(concept.question, concept.category, float(yes), about=(concept.value,))
            for concept, yes in zip(spec.concepts, said, strict=True)
        )
        return Verdict(all(said), parts)


def concept_run(
    folder: Path,
    items: Sequence[Item[ConceptSpec]],
    judges: Sequence[PlannedJudge],
    *,
    model: str = "test/speckles",
    refused: frozenset[str] = frozenset(),
) -> Path:
    def answer(request: ImageRequest) -> ImageResult:
        return Refused("no") if request.item in refused else Generated(speckled(f"{model} {request.item}", 16))

    execute(RunConfig(items, Speckles(name=model, answer=answer), size=16), folder, judges[0] if judges else None)
    for judge in judges[1:]:
        judge_run(folder, judge)
    return folder
