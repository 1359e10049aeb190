"""An Inspect task: image models that Inspect reaches are evaluated on a suite of formalimg.

Run it with `inspect eval examples/harnesses/inspect_ai_task.py --model google/…` (any model of Inspect that answers
with images), and give judge and items with `-T`, as in `-T suite=natural -T judge=preset/qwen3-vl-8b -T per_level=20`.
A sample without an image, or with one that the judge cannot score, is unscored, and never counts as 0.

Needs `pip install inspect_ai` beside formalimg.
"""

from __future__ import annotations

import base64
import io
import urllib.request
from collections import Counter
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ContentImage
from inspect_ai.scorer import Score, Scorer, Target, accuracy, grouped, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate
from PIL import Image, ImageOps

from formalimg.benchmarks import Condition, Item, load
from formalimg.judges import LoadedImage, Unscored, open_judge


@task
def text_to_image(
    suite: str = "knolling", judge: str | None = None, per_level: int | None = None, base_url: str | None = None
) -> Task:
    """Return the task of a suite.

    Args:
        suite: the benchmark; `formalimg suites` lists them.
        judge: the judge by name; `formalimg models` lists what can judge. None for the one that works offline, which
            reads drawings only.
        per_level: only so many items of each level.
        base_url: the server of the judge.
    """
    seen: Counter[int] = Counter()
    items: dict[str, Item[Any]] = {}
    for item in load(suite):
        seen[item.level] += 1
        if per_level is None or seen[item.level] <= per_level:
            items[item.id] = item
    samples = [
        Sample(Condition().model_input(item).prompt, id=item.id, metadata={"level": item.level})
        for item in items.values()
    ]
    options = {"base_url": base_url} if base_url else {}
    return Task(
        dataset=MemoryDataset(samples, name=f"formalimg/{suite}"),
        solver=generate(),
        scorer=shows_prompt(suite, judge, items, options),
    )


@scorer(metrics={"passed": [grouped(accuracy(), "level"), stderr()], "score": [mean(), stderr()]})
def shows_prompt(suite: str, judge: str | None, items: dict[str, Item[Any]], options: dict[str, str]) -> Scorer:
    """Score whether the image shows what the item asks for, and which share of it."""
    opened = open_judge(suite, judge, options)

    async def score(state: TaskState, target: Target) -> Score:
        data = _image_of(state)
        if data is None:
            return Score.unscored(reason="no_response", explanation="the model answered without an image")
        verdict = await opened.judge(items[str(state.sample_id)], LoadedImage(data, _decoded(data)))
        if isinstance(verdict, Unscored):
            return Score.unscored(reason="grader_failed", explanation=f"{verdict.reason}: {verdict.detail}")
        missing = "; ".join(part.name for part in verdict.parts if part.score < 1)
        return Score(
            value={"passed": int(verdict.passed), "score": verdict.score},
            explanation=f"not shown: {missing}" if missing else "all shown",
        )

    return score


def _decoded(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as opened:
        return ImageOps.exif_transpose(opened).convert("RGB")


def _image_of(state: TaskState) -> bytes | None:
    """Return the file of the image in the answer; None if the model answered in words."""
    content = state.output.message.content if state.output.choices else ""
    for part in content if isinstance(content, list) else []:
        if isinstance(part, ContentImage):
            if part.image.startswith("data:"):
                return base64.b64decode(part.image.partition(",")[2])
            with urllib.request.urlopen(part.image) as answer:  # an address that the model's API returned
                return bytes(answer.read())
    return None
