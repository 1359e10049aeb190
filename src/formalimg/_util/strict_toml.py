"""TOML that anybody may have written: parsed in linear time, and every way to be wrong is a `ValueError`."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_MAX_DOTS = 32
_STRINGS = re.compile(
    r"""\"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?|\#[^\n]*+""",
    re.DOTALL,
)
"""Strings and comments of TOML, also unfinished ones, in linear time."""
_DOTTED_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MAX_DOTS}}}")
"""A key of so many parts; ours have two, and the parser takes quadratic time for long ones."""


def parse_toml(data: bytes) -> dict[str, Any]:
    """Return the table of a TOML text.

    Raises:
        ValueError: if it is not UTF-8, not TOML, nested too deeply, or has a key of many parts; the message says which.
    """
    text = data.decode("utf-8")
    if _DOTTED_KEY.search(_STRINGS.sub("_", text)):
        raise ValueError(f"a key in it has more than {_MAX_DOTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("values in it are nested too deeply") from None
