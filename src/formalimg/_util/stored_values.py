"""Checks of values read from a database or a file that anybody may have made: types, ranges, sizes, JSON shapes."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, TypeVar

from formalimg._util.strict_json import reject_constant
from formalimg._util.text import truncate

MAX_TEXT = 1_000_000
"""Characters of a text, such as a prompt."""
MAX_NAME = 1_000
"""Characters of a name, such as the id of an item."""
MAX_NUMBER = 1_000_000_000
MAX_COST = 1_000_000_000.0
"""US dollars."""
_MAX_DEPTH = 64
_MAX_DIGITS = 100

SHA256 = re.compile("[0-9a-f]{64}")
_UNUSUAL_NUMBER = re.compile(r"\d(?:[eE]\+?\d{3}|\d{99})")  # with one beginning, so that all else is skipped fast

Kind = TypeVar("Kind")


class StoredValueError(ValueError):
    """A stored value that we would not have written; whoever reads the file tells the user which file it is."""


def wrong_value(name: str, value: object) -> StoredValueError:
    """Return the error for a value of a column or field."""
    shown = f"{type(value).__name__} of {len(value):,}" if isinstance(value, str | bytes) and len(value) > 99 else value
    return StoredValueError(f"{name} cannot be {truncate(ascii(shown), 80, 20)}")


def stored_text(value: object, name: str, limit: int = MAX_TEXT) -> str:
    """Return a text of limited length."""
    if type(value) is not str or len(value) > limit:
        raise wrong_value(name, value)
    return value


def stored_integer(value: object, name: str, low: int = 0, high: int = MAX_NUMBER) -> int:
    """Return an integer within limits."""
    if type(value) is not int or not low <= value <= high:
        raise wrong_value(name, value)
    return value


def stored_number(value: object, name: str, low: float = 0.0, high: float = MAX_COST) -> float:
    """Return a finite number within limits."""
    if type(value) not in (int, float) or not low <= value <= high:  # type: ignore[operator]
        raise wrong_value(name, value)
    return value  # type: ignore[return-value]


def stored_digest(value: object, name: str) -> str:
    """Return a SHA-256 digest."""
    if type(value) is not str or not SHA256.fullmatch(value):
        raise wrong_value(name, value)
    return value


def stored_file_name(value: object, name: str) -> str:
    """Return the name of a file without any path."""
    if type(value) is not str or not 0 < len(value) <= 255 or value in (".", "..") or re.search(r"[/\\\0]", value):
        raise wrong_value(name, value)
    return value


def stored_json(text: object, name: str, kind: type[Kind]) -> Kind:
    """Return the value of a JSON text, which must be of this type, with limited depth and numbers.

    Raises:
        StoredValueError: if it is not JSON, or is something else.
    """
    if type(text) is not str:
        raise wrong_value(name, text)
    decoder = _EXACT if _UNUSUAL_NUMBER.search(text) else _FAST
    try:
        value = decoder.decode(text)
    except (ValueError, RecursionError):
        raise StoredValueError(f"{name} is not valid JSON") from None
    if not isinstance(value, kind):
        raise wrong_value(name, value)
    if text.count("[") + text.count("{") > _MAX_DEPTH:
        require_shallow(value, name)
    return value


def require_shallow(value: object, name: str) -> None:
    """Refuse data that is nested so deep that functions which walk through it would fail.

    Raises:
        StoredValueError: if it is nested too deep.
    """
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise StoredValueError(f"{name} is nested too deep")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not isfinite(value) or abs(value) > 10.0**_MAX_DIGITS:
        raise ValueError("the number is too large")
    return value


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("the number is too large")
    return int(digits)


_FAST: Any = json.JSONDecoder(parse_constant=reject_constant)
_EXACT: Any = json.JSONDecoder(parse_constant=reject_constant, parse_float=_finite_float, parse_int=_bounded_int)
"""Slower; only for texts that may hold a number of a hundred digits."""
