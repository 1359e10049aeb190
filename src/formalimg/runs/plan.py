"""The plan of a run: selected items, images with their seeds, and content keys for reusing results.

The key of a result is a hash of everything that affects it. A result is reused only if its key is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.benchmarks.items_file import encode_item
from formalimg.benchmarks.loader import no_garbage_collection
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.errors import FormalimgError
from formalimg.models.base import ImageRequest
from formalimg.runs.manifest import Identity
from formalimg.runs.messages import PlannedImage
from formalimg.scenes.scene import Scene
from formalimg.types import ImageModel, Item, Judge

_KEY_VERSION = 1  # Must be raised whenever keys hash something else


@dataclass(frozen=True)
class Selection:
    """The criteria for selecting items of a suite."""

    levels: Collection[int] | None = None  # only items of these levels; None for all
    per_level: int | None = None  # the first `per_level` items of each level; None for all
    ids: Collection[str] | None = None  # only these items; None for all

    def of(self, items: Sequence[Item[object]]) -> dict[int, Item[object]]:
        """Return the selected items, keyed by position in the suite."""
        if self.levels is not None:
            _require_available("level", self.levels, {item.level for item in items})
        if self.ids is not None:
            _require_available("item", self.ids, {item.id for item in items})
        selected: dict[int, Item[object]] = {}
        counts = Counter[int]()
        for position, item in enumerate(items):
            if self.levels is not None and item.level not in self.levels:
                continue
            if self.ids is not None and item.id not in self.ids:
                continue
            counts[item.level] += 1
            if self.per_level is None or counts[item.level] <= self.per_level:
                selected[position] = item
        if not selected:
            is_none = self.per_level is not None and self.per_level < 1
            advice = "take 1 or more per level" if is_none else "select other levels or items"
            raise FormalimgError(f"no items are left to run: {advice}")
        return selected


def _require_available(kind: str, selected: Collection[object], available: Collection[object]) -> None:
    unknown = [str(value) for value in selected if value not in available]
    if unknown:
        names = sorted(map(str, available), key=lambda name: (len(name), name))
        advice = f"it has {', '.join(names)}" if len(names) <= 30 else "select others"
        plural = "" if len(unknown) == 1 else "s"
        raise FormalimgError(f"the suite has no {kind}{plural} {', '.join(unknown[:5])}: {advice}")


def require_supported(model: ImageModel, suite: str) -> None:
    """Raise an error if the model does not support the suite, according to its `covers` attribute."""
    covers, benchmark = getattr(model, "covers", None), suite_of(suite)
    if covers is not None and not (benchmark.world and (benchmark.vocabulary or covers == "worlds")):
        raise FormalimgError(
            f"{model.name} draws plain scenes of FormalImg and cannot show what {suite} asks for: name an image model "
            "(`formalimg models` lists them), or existing images, as in folder/my/images"
        )


def default_style(suite: str, model: ImageModel) -> StyleText:
    """Return the default style text for a model on a suite: that of its attribute `style`, or else the long one.

    `short` is for models whose text encoders read few tokens; `none` for built-in models, which know one style only,
    and for existing images, for which nothing is sent.
    """
    style: StyleText = getattr(model, "style", "long")
    return style if suite_of(suite).has_style_text and style in get_args(StyleText) else "none"


@dataclass(frozen=True)
class RequestBuilder:
    """A builder of requests to the image model of a run."""

    model: ImageModel  # the image model
    condition: Condition  # how an item becomes a prompt, and possibly a reference image
    layouts: Mapping[str, Scene]  # the layouts of the items, by id, if the condition needs them
    size: int  # width and height to request, in pixels

    def request(self, item: Item[object], sample: int, seed: int) -> ImageRequest:
        """Build the request for an image, with the item's specification only for models with `sees_spec`."""
        prompt, reference = self.condition.model_input(item, self.layouts.get(item.id))
        spec = item.spec if self.model.sees_spec else None
        return ImageRequest(item.id, sample, prompt, seed, self.size, spec, reference, item.suite)


def plan_images(
    items: Sequence[Item[object]], builder: RequestBuilder, *, samples: int, seed: int
) -> list[PlannedImage]:
    """Plan the images of a run, interleaving levels so that a run stopped early covers all of them."""
    questions: dict[str, str] = {}
    counts = Counter[int]()
    ranked = []
    for item in items:
        counts[item.level] += 1
        ranked.append((counts[item.level], item.level, item))
    ranked.sort(key=lambda entry: entry[:2])

    def plan(item: Item[object], sample: int) -> PlannedImage:
        seed_of_image = image_seed(seed, item, sample)
        key = image_key(item, builder.request(item, sample, seed_of_image), builder.model)
        if item.id not in questions:  # right after its request, for which the item was read
            questions[item.id] = question_key(item)
        return PlannedImage(item, sample, key, seed_of_image, questions[item.id])

    with no_garbage_collection():
        return [plan(item, sample) for sample in range(samples) for *_, item in ranked]


def look_order(base: int, items: Iterable[Item[object]]) -> list[Item[object]]:
    """Return the items in the order of an adaptive run, shuffled deterministically by the seed."""
    return sorted(items, key=lambda item: _build_digest("look", base, item.suite, item.id))


# --- content keys


def image_key(item: Item[object], request: ImageRequest, model: ImageModel) -> str:
    """Return the content key of an image, computed from everything that affects it."""
    # Models that serve existing files know when a file was replaced, built-in ones which drawings they make.
    made_by = None
    if fingerprint := getattr(model, "fingerprint", None):
        made_by = fingerprint(request.item, request.sample)
    elif drawn_version := getattr(model, "drawn_version", None):
        made_by = drawn_version(item.suite)
    return _build_digest(
        *("picture", item.suite, item.version, item.id),
        *(request.sample, request.prompt, request.seed, request.size),
        encode_item(item) if model.sees_spec else None,
        *(model.name, dict(model.settings)),
        None if request.reference is None else hashlib.sha256(request.reference).hexdigest(),
        made_by,
    )


def question_key(item: Item[object]) -> str:
    """Return the content key of an item's question, under which its verdicts are stored."""
    return _build_digest("question", encode_item(item, with_proof=False))


def judge_key(judge: Judge | Identity) -> str:
    """Return the key that identifies a judge and its settings."""
    return _build_digest("judge", judge.name, dict(judge.settings))


def image_seed(base: int, item: Item[object], sample: int) -> int:
    """Return a deterministic seed for an image that differs for each item and sample."""
    return int(_build_digest("seed", base, item.suite, item.id, sample)[:8], 16) >> 1  # 31 bits: some APIs take no more


def plan_digest(questions: Iterable[str]) -> str:
    """Return a digest of the question keys of a run."""
    return _build_digest("questions", *sorted(questions))


_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _build_digest(*parts: object) -> str:
    return hashlib.sha256(_encode([_KEY_VERSION, *parts]).encode("utf-8", "surrogatepass")).hexdigest()
