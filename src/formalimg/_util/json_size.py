"""Size limits for JSON before parsing, because small texts may expand to large objects."""

from __future__ import annotations

import re

BYTES_PER_VALUE = 100
"""Memory that a key or value takes at most, besides its text: objects with one key are the worst, for Python."""

_OPENERS = (b",", b"[", b"{", b":")  # Each value but the first follows one of these
_SLICE = 1024 * 1024

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[{,:]', re.DOTALL)
"""A string, which may lack its end so that it is looked at once; or one of the openers."""


def count_values(text: bytes | bytearray, limit: int) -> int:
    """Return the number of keys and values in a JSON text without parsing it, up to `limit + 1`.

    The text need not be JSON. What is within the limit may be counted too high by what strings contain. The time is
    linear, and short for texts within the limit.
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
