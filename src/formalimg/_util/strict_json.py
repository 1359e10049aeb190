"""Strict JSON: duplicate keys, NaN and Infinity are errors, and what is written can be stored as UTF-8."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, TypeGuard


def loads_strict(text: str | bytes | bytearray) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: if it is not JSON, is not UTF-8, has a key twice (one of the values would be lost), or has NaN.
        RecursionError: if it is nested too deep.
    """
    return json.loads(text, object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant)


def dumps_storable(value: object) -> str:
    """Return the value as JSON that can be encoded as UTF-8; lone surrogates, which some models write, are escaped.

    Raises:
        TypeError: if it is not plain data.
        ValueError: if it holds NaN or Infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if is_utf8(text) else json.dumps(value, allow_nan=False)


def is_text(found: object) -> TypeGuard[str]:
    """Return whether it is a string that can be encoded as UTF-8: a lone surrogate cannot."""
    return isinstance(found, str) and is_utf8(found)


def is_utf8(text: str) -> bool:
    """Return whether the text can be encoded as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from its pairs; an `object_pairs_hook` that refuses duplicate keys."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {next(name for name, count in counts.items() if count > 1)!r} occurs twice")
    return fields


def reject_constant(word: str) -> None:
    """Refuse NaN and Infinity; a `parse_constant` hook."""
    raise ValueError(f"{word} is not a JSON number")
