"""Usage of chat calls that providers do not report: an estimate from what was sent and what came back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from formalimg.models.base import Usage
from formalimg.models.chat import Attachment, Completion, Message
from formalimg.types import Setting

_BYTES_PER_TOKEN = 2
"""On the safe side: English text has about four bytes a token, and other languages three."""

_MESSAGE_TOKENS = 100
"""More than what any chat template puts around a message."""

_IMAGE_TOKENS = 3_000
"""More than what most models count for an image."""

_MANY_IMAGE_TOKENS = {"gpt-4o-mini": 50_000}
"""The same for models that count more, by a part of their names: gpt-4o-mini counts up to 48,169."""

_SHORTEST_ANSWER = 500
"""Tokens that are counted at least for an answer of which nothing is known: it may have been lost, or thought about."""

_LONGEST_ANSWER = 65_536
"""Tokens that are counted at most for an answer if no setting limits it."""

_LENGTH_LIMITS = ("max_tokens", "max_completion_tokens")
"""Settings that limit the length of an answer, thinking included; also as fields that the user adds."""


def estimate_input(model: str, messages: Sequence[Message], schema: Mapping[str, object]) -> int:
    """Estimate the tokens of a request; the schema of the answer may be sent along, at most twice."""
    image_tokens = next((count for part, count in _MANY_IMAGE_TOKENS.items() if part in model), _IMAGE_TOKENS)
    size, tokens = 2 * len(json.dumps(schema)), 0
    for message in messages:
        tokens += _MESSAGE_TOKENS
        for part in message.parts:
            if isinstance(part, Attachment):
                tokens += image_tokens
            else:
                size += len(part.encode("utf-8", "replace"))
    return tokens + _tokens(size)


def maximum_output(settings: Mapping[str, Setting]) -> int | None:
    """Return the most tokens that an answer can have by these settings; None if they set no limit."""
    limits = [settings.get(prefix + name) for name in _LENGTH_LIMITS for prefix in ("", "extra.")]
    return max((int(limit) for limit in limits if limit is not None and str(limit).isdecimal()), default=None)


def without_impossible(completion: Completion) -> Completion:
    """Return a completion without its usage if that cannot be: words that took no tokens."""
    wordy = completion.ended != "refusal" and completion.text.strip() and not completion.usage.output_tokens
    return replace(completion, usage=Usage()) if wordy else completion


def complete_usage(reported: Usage, received: int, *, sent: Callable[[], int], longest: int | None) -> Usage:
    """Return the usage of a call, with an estimate of what its provider left out."""
    if reported.input_tokens:
        return reported
    limit = _LONGEST_ANSWER if longest is None else longest
    return Usage(sent(), reported.output_tokens or min(max(_SHORTEST_ANSWER, _tokens(received)), limit))


def _tokens(size: int) -> int:
    return -(-size // _BYTES_PER_TOKEN)
