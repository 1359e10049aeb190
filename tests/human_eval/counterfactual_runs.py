"""Quick runs of CF-World and its probes whose images show nothing, and a judge whose scores are known beforehand."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, Dimension, WeightedQuestion
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import Item, Part, Setting, Unscored, Verdict
from tests.support.models import Speckles, speckled

WEIGHTS: dict[Dimension, float] = {"integrity": 3, "assessment": 15, "logic": 8}

Scores = Mapping[str, Sequence[Sequence[float] | float | None]]
"""For each item, what is given for the questions of each of its samples; None for an image that is left unscored."""


def scored_item(
    name: str,
    level: int = 1,
    *,
    group: str | None = None,
    suite: str = "cf-world",
    dimensions: Sequence[Dimension] = ("assessment",),
) -> Item[CounterfactualSpec]:
    questions = tuple(
        WeightedQuestion(dimension, f"Question {number}?", "1.0: yes, 0.0: no", WEIGHTS[dimension])
        for number, dimension in enumerate(dimensions, 1)
    )
    spec = CounterfactualSpec(group or name.rpartition("-")[0], "", questions)
    return Item(suite, name, level, f"An image called {name}.", spec, ("physics",))


@dataclass
class PlannedScorer:
    scores: Mapping[bytes, Sequence[float] | None]
    name: str = "test/scorer"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"version": 1})
    concurrency: int = 8

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        assert isinstance(spec, CounterfactualSpec)
        given = self.scores[image.data]
        if given is None:
            return Unscored("not understood", "it is too dark")
        times = Counter(question.dimension for question in spec.questions)
        parts = tuple(
            Part(asked.question, asked.dimension, score, asked.weight / times[asked.dimension])
            for asked, score in zip(spec.questions, given, strict=True)
        )
        return Verdict(Verdict(True, parts).score >= 0.5, parts)


def scored_run(
    folder: Path,
    items: Sequence[Item[CounterfactualSpec]],
    scores: Scores,
    *,
    model: str = "test/speckles",
    judge: str | None = "test/scorer",
    refused: frozenset[str] = frozenset(),
    blank: frozenset[str] = frozenset(),
) -> Path:
    """A run with one image for each planned score; a single number is the score of each question.

    Blank images fail before the judge sees them, and their verdicts have no parts.
    """

    def drawn(item: str, sample: int) -> bytes:
        return speckled(f"{folder.name} {item} {sample}", 16)

    def answer(request: ImageRequest) -> ImageResult:
        if request.item in refused:
            return Refused("no")
        if request.item in blank:
            file = io.BytesIO()
            Image.new("RGB", (16, 16), "gray").save(file, "PNG")
            return Generated(file.getvalue())
        return Generated(drawn(request.item, request.sample))

    planned: dict[bytes, Sequence[float] | None] = {}
    for item in items:
        for sample, given in enumerate(scores[item.id]):
            each = [given] * len(item.spec.questions) if isinstance(given, float | int) else given
            planned[drawn(item.id, sample)] = each
    samples = len(scores[items[0].id])
    order = RunConfig(items, Speckles(name=model, answer=answer), samples=samples, size=16)
    execute(order, folder, None if judge is None else PlannedScorer(planned, judge))
    return folder
