"""JSON in the text of a model: thoughts are removed, prose is skipped, and any text takes linear time."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from formalimg._util.strict_json import reject_constant, reject_duplicate_keys

MAX_VALUES = 100
"""The most JSON values in a text; an answer is one, sometimes repeated."""
_MAX_FALSE_STARTS = 1000
"""The most brackets in prose that look like a JSON list, such as [1]."""

_TAG = re.compile(r"<(/?)(think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)>", re.IGNORECASE)
_OBJECT = re.compile(r'\{\s*["}]')
_START = re.compile(r'\{(?=\s*["}])|\[(?=\s*(?:[\["\]\d-]|\{\s*["}]|true|false|null))')
"""Where JSON may begin. Braces in prose look different; brackets often do not, as in [1]."""


class JsonInText(NamedTuple):
    """A JSON value in a text."""

    start: int  # where it begins
    end: int  # where the text goes on
    written: str  # the value as it is written
    value: object  # the value as plain data


def strip_thoughts(text: str) -> str:
    """Return a text without `<think>…</think>`, and without what stands before a closing tag that nothing opened.

    Some servers leave out the opening tag, because it was part of the chat template. An opening tag that nothing closes
    stays: the model was still thinking. So do tags inside the JSON value that a text begins with: they are its own.
    """
    text = text.strip()
    tags = [(tag[1] == "/", tag[2].lower(), tag.start(), tag.end()) for tag in _find_tags(text)]
    last_closing = {name: place for place, (closes, name, _, _) in enumerate(tags) if closes}
    kept: list[str] = []
    position = 0
    awaited: str | None = None
    for place, (closes, name, start, end) in enumerate(tags):
        if awaited is None and not closes and last_closing.get(name, -1) > place:
            awaited = name
            kept.append(text[position:start])
        elif awaited is None and closes:
            kept.clear()
            position = end
        elif closes and name == awaited:
            awaited = None
            position = end
    return "".join((*kept, text[position:])).strip()


def is_unfinished_thought(text: str) -> bool:
    """Return whether a text without its thoughts still has an opening tag, so that all of it may be a thought."""
    return any(not tag[1] for tag in _find_tags(text))


def _find_tags(text: str) -> list[re.Match[str]]:
    """Return the tags of thoughts in a text that begins without blanks, but for those in the JSON it begins with."""
    tags = list(_TAG.finditer(text))
    if tags and text.startswith(("{", "[")):
        try:
            _, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return tags
        return [tag for tag in tags if tag.start() >= end]
    return tags


def find_json(text: str, *, lists: bool) -> list[JsonInText]:
    """Return the JSON values in a text: objects, lists with objects in them and, if wanted, all other lists.

    A value inside another one is not found by itself: what a list holds is not the answer, the list is.
    """
    decoder = json.JSONDecoder(object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant)
    found: list[JsonInText] = []
    position = false_starts = wasted = 0
    while (match := _START.search(text, position)) is not None:
        start = match.start()
        try:
            value, position = decoder.raw_decode(text, start)
        except ValueError as error:
            if found:  # the answer is there already, and what follows is prose
                break
            failed = error.pos if isinstance(error, json.JSONDecodeError) else len(text)
            if lists or text[start] == "{" or _OBJECT.search(text, start, failed + 1):
                raise
            # Each false start may read far, so there are limits on their number and on what they read together.
            wasted += failed - start
            value, position = None, start + 1
        if not lists and not _holds_object(value):
            false_starts += 1
            if false_starts > _MAX_FALSE_STARTS or wasted > 2 * len(text):
                raise ValueError("too many brackets look like lists")
            continue
        found.append(JsonInText(start, position, text[start:position], value))
        if len(found) > MAX_VALUES:
            raise ValueError(f"there are more than {MAX_VALUES} JSON values")
    return found


def prose_after(text: str, values: Sequence[JsonInText]) -> str:
    """Return what a text says after the first of these values, without the others."""
    ends = [*(value.start for value in values[1:]), len(text)]
    return "\n".join(text[value.end : end] for value, end in zip(values, ends, strict=True))


def prose_before(text: str, values: Sequence[JsonInText]) -> str:
    """Return what a text says before the last of these values, without the others."""
    starts = [0, *(value.end for value in values[:-1])]
    return "\n".join(text[start : value.start] for start, value in zip(starts, values, strict=True))


def _holds_object(value: object) -> bool:
    """Return whether a value is an object or a list with an object in it, however deep."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            return True
        if isinstance(one, list):
            rest.extend(one)
    return False
