"""Usage of chat calls that providers do not report: an upper estimate, so that a budget holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from formalimg.models.base import Setting, Usage
from formalimg.models.chat import Attachment, Completion, Message

_MESSAGE_TOKENS = 100
"""More than what any chat template puts around a message."""

_IMAGE_TOKENS = 50_000
"""More than what any listed model counts for an image: gpt-4o-mini counts up to 48,169, most others below 3,000."""

_LENGTH_LIMITS = ("max_tokens", "max_completion_tokens")
"""Settings that limit the length of an answer, thinking included; also as fields that the user adds."""


def maximum_input(messages: Sequence[Message], schema: Mapping[str, object]) -> int:
    """Return the most tokens that a request can have.

    A token is at least one byte of text, and the schema of the answer may be sent along, at most twice.
    """
    tokens = 2 * len(json.dumps(schema))
    for message in messages:
        tokens += _MESSAGE_TOKENS
        for part in message.parts:
            tokens += _IMAGE_TOKENS if isinstance(part, Attachment) else len(part.encode("utf-8", "replace"))
    return tokens


def maximum_output(settings: Mapping[str, Setting]) -> int | None:
    """Return the most tokens that an answer can have by these settings; None if they set no limit."""
    limits = [settings.get(prefix + name) for name in _LENGTH_LIMITS for prefix in ("", "extra.")]
    return max((int(limit) for limit in limits if limit is not None and str(limit).isdecimal()), default=None)


def without_impossible(completion: Completion) -> Completion:
    """Return a completion without its usage if that cannot be: words that took no tokens."""
    wordy = completion.ended != "refusal" and completion.text.strip() and not completion.usage.output_tokens
    return replace(completion, usage=Usage()) if wordy else completion


def complete_usage(reported: Usage, sent: Callable[[], int], longest: int | None) -> Usage | None:
    """Return the usage of a call, with an upper estimate of what its provider left out.

    Args:
        reported: what the provider reports.
        sent: returns the most tokens that the request can have.
        longest: the most tokens that the answer can have; None if nobody knows.

    Returns:
        None if there is no upper estimate.
    """
    if reported.input_tokens:
        return reported
    if not reported.output_tokens and longest is None:
        return None
    return Usage(sent(), reported.output_tokens or longest or 0)
