"""Dry run: estimate the number of images and questions of a run and their cost, without calling anything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from formalimg.models.base import Identified, ImageRequest, PremadeImageModel, Usage
from formalimg.models.pricing import price_of
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import images_to_match
from formalimg.runs.folder import refuse_foreign_images
from formalimg.runs.manifest import MANIFEST_FILE, read_manifest, require_same_settings
from formalimg.runs.plan import plan_images
from formalimg.runs.reader import open_run
from formalimg.runs.rows import ExistingImage
from formalimg.types import Item, Judge

_QUESTION = Usage(input_tokens=2_000, output_tokens=400)
"""Rough usage of a question about an image: the image, the prompt, and an answer with its reasons."""

_REWRITE = Usage(input_tokens=400, output_tokens=500)
"""Rough usage of rewriting a prompt: the text, and an answer with its thoughts."""


@dataclass(frozen=True)
class RunEstimate:
    """What a run would do."""

    images: int  # number of images to generate
    verdicts: int  # number of images to judge
    questions: int  # number of questions that the judge would ask a chat model
    image_cost: float | None  # estimated cost of the images in US dollars; None if the price is unknown
    judge_cost: float | None  # the same for judging
    first: str  # the prompt of the first image; where prompts are rewritten, what the rewriter is sent for it
    rewrites: int = 0  # number of prompts to rewrite
    rewrite_cost: float | None = 0.0  # estimated cost of rewriting them; None if the price is unknown
    # what to know about the prices of image model, judge and rewriter, by these words
    price_notes: Mapping[str, str] = field(default_factory=dict)


def estimate(config: RunConfig, folder: Path, judge: Judge | None) -> RunEstimate:
    """Return what `execute` would do with the same arguments. Nothing is called, generated or written."""
    selected = config.selected_items()
    if isinstance(config.model, PremadeImageModel):
        config.model.match(images_to_match(selected, config.samples))
    images = plan_images(list(selected.values()), config.requests, samples=config.samples, seed=config.seed)
    existing, scored = _existing(config, folder, judge)
    to_make = [it for it in images if existing.get((it.item.id, it.sample), ExistingImage("", "")).key != it.key]
    new = {(it.item.id, it.sample) for it in to_make}
    reused = [it for it in images if (it.item.id, it.sample) not in new]
    verdict_keys = {(it.question, existing[it.item.id, it.sample].sha256): it for it in reused}
    to_judge = [*to_make, *(it for key, it in verdict_keys.items() if key not in scored)] if judge else []
    questions_of: Callable[[Item[object]], int] = getattr(judge, "questions", lambda item: 0)
    questions = sum(questions_of(it.item) for it in to_judge)
    image_price = price_of(config.model).cost(_QUESTION if config.task == "layout" else Usage(images=1))
    rewrites, rewrite_cost = _rewrites(config, folder, [it.item for it in to_make])
    request = config.requests.request(images[0].item, 0, images[0].seed)
    prompt_of: Callable[[ImageRequest], str] = getattr(config.model, "sent", lambda request: request.prompt)
    return RunEstimate(
        len(to_make),
        len(to_judge),
        questions,
        None if image_price is None else image_price * len(to_make),
        question_cost(judge, questions) if judge else 0.0,
        prompt_of(request) if config.rewriter is None else config.rewriter.sent(images[0].item.prompt),
        rewrites,
        rewrite_cost,
        {
            role: price_of(party).note
            for role, party in (
                ("model", config.model),
                ("judge", judge),
                ("rewriter", config.rewriter.chat if config.rewriter else None),
            )
            if party is not None
        },
    )


def question_cost(party: Identified, count: int) -> float | None:
    """Return about what so many questions about images cost in US dollars; None if the price is unknown."""
    price = price_of(party).cost(_QUESTION) if count else 0.0
    return None if price is None else price * count


def _rewrites(config: RunConfig, folder: Path, items: Sequence[Item[object]]) -> tuple[int, float | None]:
    """Return how many prompts of these items have no text yet, and about what it costs to rewrite them."""
    if config.rewriter is None:
        return 0, 0.0
    from formalimg.runs.rewriting import RewriteStore  # here, because most runs rewrite nothing

    stored = RewriteStore(folder)
    count = sum(key not in stored for key in {config.rewriter.key(item.prompt) for item in items})
    price = price_of(config.rewriter.chat).cost(_REWRITE)
    return count, None if price is None and count else (price or 0.0) * count


def _existing(
    config: RunConfig, folder: Path, judge: Judge | None
) -> tuple[Mapping[tuple[str, int], ExistingImage], Set[tuple[str, str]]]:
    """Return the images in the folder, and the questions and images that this judge has scored."""
    if not (folder / MANIFEST_FILE).exists():
        refuse_foreign_images(folder)
        return {}, frozenset()
    require_same_settings(config.manifest(), read_manifest(folder), folder)
    with contextlib.closing(open_run(folder)) as run:
        return run.made(), run.scored(judge) if judge else frozenset()
