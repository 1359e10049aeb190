"""Content keys: a result is known by everything that made it. Same key: reused. Any difference: made anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from formalimg.judges import Judge
from formalimg.models import ImageModel, ImageRequest
from formalimg.runs.record import Identity
from formalimg.suites import Item, encode_item

_FORM = 1
"""To be raised when keys are made of other objects."""


def image_key(item: Item[object], request: ImageRequest, model: ImageModel) -> str:
    """The key of an image: suite, item, words, model and settings, seed, size; the spec only if the model sees it."""
    fingerprint = getattr(model, "fingerprint", None)
    return _digest(
        "picture",
        item.suite,
        item.version,
        item.id,
        request.sample,
        request.prompt,
        request.seed,
        request.size,
        encode_item(item) if model.sees_spec else None,
        model.name,
        dict(model.settings),
        None if request.reference is None else hashlib.sha256(request.reference).hexdigest(),
        # Models that hand out finished files know when a file was exchanged.
        fingerprint(request.item, request.sample) if fingerprint else None,
    )


def question_key(item: Item[object]) -> str:
    """The key of what an item asks, with which its verdicts are kept."""
    return _digest("question", encode_item(item, with_proof=False))


def judge_key(judge: Judge | Identity) -> str:
    """The key of a judge, by which its verdicts are found."""
    return _digest("judge", judge.name, dict(judge.settings))


def image_seed(base: int, item: Item[object], sample: int) -> int:
    """The seed of an image: its own for each item and sample, and the same in every run with this base."""
    return int(_digest("seed", base, item.suite, item.id, sample)[:8], 16) >> 1  # 31 bits: some APIs take no more


def plan_digest(questions: Iterable[str]) -> str:
    """A digest of all that a run asks, from the keys of its questions."""
    return _digest("questions", *sorted(questions))


def _digest(*parts: object) -> str:
    text = json.dumps([_FORM, *parts], sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
