"""How much of a prompt a pipeline reads: text encoders have an end, and what is beyond it is cut off without a word."""

from __future__ import annotations

import json
from typing import Any

from formalimg.models.local.checkpoint import Checkpoint

_INDEX = "model_index.json"


def reads_few_words(checkpoint: Checkpoint) -> bool:
    """Are all text encoders of a pipeline CLIP's, which read 77 tokens? Its index tells, before it is loaded."""
    index = checkpoint.fetch(_INDEX)
    if index is None:
        return False
    try:
        parts = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    kinds = [kind for name, kind in parts.items() if name.startswith("tokenizer") and isinstance(kind, list)]
    return bool(kinds) and all("CLIP" in str(kind[-1]) for kind in kinds if kind[-1])


def tokens_cut(pipeline: Any, prompt: str, longest: int | None) -> int | None:
    """How many tokens of a prompt no text encoder of the pipeline gets to read; None if that cannot be told.

    Args:
        pipeline: the loaded pipeline.
        prompt: the words.
        longest: the limit that the pipeline sets itself; those of CLIP encoders are their own.
    """
    tokenizers = [
        part for name, part in pipeline.components.items() if name.startswith("tokenizer") and part is not None
    ]
    return min((_cut_by(tokenizer, prompt, longest) for tokenizer in tokenizers), default=None)


def _cut_by(tokenizer: Any, prompt: str, longest: int | None) -> int:
    limit: int = tokenizer.model_max_length
    if longest is not None and "CLIP" not in type(tokenizer).__name__:
        limit = min(limit, longest)
    return max(0, len(tokenizer(prompt, verbose=False)["input_ids"]) - limit)
