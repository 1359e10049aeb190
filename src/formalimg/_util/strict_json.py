"""Strict parsing of untrusted JSON, TOML and database columns, and size limits for JSON before parsing.

Duplicate keys, NaN and Infinity are errors, output can be encoded as UTF-8, and TOML is parsed in linear time. Database
values with types or ranges that formalimg does not write are errors.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import isfinite
from typing import Any, TypeGuard, TypeVar

from formalimg._util.text import truncate


def loads_strict(text: str | bytes | bytearray) -> Any:
    """Parse JSON strictly."""
    return json.loads(text, object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant)


def dumps_storable(value: object) -> str:
    """Serialize the value to JSON that can be encoded as UTF-8, escaping lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if is_utf8(text) else json.dumps(value, allow_nan=False)


def is_text(value: object) -> TypeGuard[str]:
    """Return whether the object is a string that can be encoded as UTF-8, without lone surrogates."""
    return isinstance(value, str) and is_utf8(value)


def is_utf8(text: str) -> bool:
    """Return whether the text can be encoded as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from key-value pairs; an `object_pairs_hook` that rejects duplicate keys."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {next(name for name, count in counts.items() if count > 1)!r} occurs twice")
    return fields


def reject_constant(word: str) -> None:
    """Raise an error for NaN and Infinity; a `parse_constant` hook."""
    raise ValueError(f"{word} is not a JSON number")


_MAX_DOTS = 32
_STRINGS = re.compile(
    r"""\"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?|\#[^\n]*+""",
    re.DOTALL,
)
"""Strings and comments of TOML, also unfinished ones, in linear time."""
_DOTTED_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MAX_DOTS}}}")
"""A key of so many parts; ours have two, and the parser takes quadratic time for long ones."""


def parse_toml(data: bytes) -> dict[str, Any]:
    """Parse a TOML document."""
    import tomllib  # here, because few need it

    text = data.decode("utf-8")
    if _DOTTED_KEY.search(_STRINGS.sub("_", text)):
        raise ValueError(f"a key in it has more than {_MAX_DOTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("values in it are nested too deeply") from None


MAX_TEXT = 1_000_000  # Characters of a text, such as a prompt
MAX_NAME = 1_000  # Characters of a name, such as the id of an item
MAX_NUMBER = 1_000_000_000
MAX_COST = 1_000_000_000.0  # US dollars
_MAX_DEPTH = 64
_MAX_DIGITS = 100

SHA256 = re.compile("[0-9a-f]{64}")
_UNUSUAL_NUMBER = re.compile(r"\d(?:[eE]\+?\d{3}|\d{99})")  # with one beginning, so that all else is skipped fast

Kind = TypeVar("Kind")


class StoredValueError(ValueError):
    """Raised for a stored value that formalimg would not have written; the caller adds the file name."""


def wrong_value(name: str, value: object) -> StoredValueError:
    """Return the error for an invalid value of a column or field."""
    text = f"{type(value).__name__} of {len(value):,}" if isinstance(value, str | bytes) and len(value) > 99 else value
    return StoredValueError(f"{name} cannot be {truncate(ascii(text), 80, 20)}")


def stored_text(value: object, name: str, limit: int = MAX_TEXT) -> str:
    """Return the value if it is a string within the length limit, else raise an error."""
    if type(value) is not str or len(value) > limit:
        raise wrong_value(name, value)
    return value


def stored_integer(value: object, name: str, low: int = 0, high: int = MAX_NUMBER) -> int:
    """Return the value if it is an integer within the limits, else raise an error."""
    if type(value) is not int or not low <= value <= high:
        raise wrong_value(name, value)
    return value


def stored_number(value: object, name: str, low: float = 0.0, high: float = MAX_COST) -> float:
    """Return the value if it is a finite number within the limits, else raise an error."""
    if type(value) not in (int, float) or not low <= value <= high:  # type: ignore[operator]
        raise wrong_value(name, value)
    return value  # type: ignore[return-value]


def stored_digest(value: object, name: str) -> str:
    """Return the value if it is a SHA-256 digest, else raise an error."""
    if type(value) is not str or not SHA256.fullmatch(value):
        raise wrong_value(name, value)
    return value


def stored_file_name(value: object, name: str) -> str:
    """Return the value if it is a file name without a path, else raise an error."""
    if type(value) is not str or not 0 < len(value) <= 255 or value in (".", "..") or re.search(r"[/\\\0]", value):
        raise wrong_value(name, value)
    return value


def stored_json(text: object, name: str, kind: type[Kind]) -> Kind:
    """Parse a JSON text whose value must be of type `kind`, with limits on depth and numbers."""
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
    """Raise an error for data nested so deeply that recursive functions would fail."""
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


BYTES_PER_VALUE = 100
"""Memory that a key or value takes at most, besides its text: objects with one key are the worst, for Python."""

_OPENERS = (b",", b"[", b"{", b":")  # Each value but the first follows one of these
_SLICE = 1024 * 1024

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[{,:]', re.DOTALL)
"""A string, which may lack its end so that it is looked at once; or one of the openers."""


def count_values(text: bytes | bytearray, limit: int) -> int:
    """Return the number of keys and values in a JSON text without parsing it, up to `limit + 1`.

    The text need not be JSON. The count may be too high because of characters within strings. The time is linear, and
    short for texts within the limit.
    """
    count = 1
    for start in range(0, len(text), _SLICE):
        part = text[start : start + _SLICE]
        count += sum(map(part.count, _OPENERS))
        if count > limit:
            return _count_outside_strings(text, limit)
    return count


def _count_outside_strings(text: bytes | bytearray, limit: int) -> int:
    count = 1
    for token in _TOKENS.finditer(text):
        if token.end() - token.start() == 1:  # an opener, or a string that has only just begun
            count += 1
            if count > limit:
                break
    return count
