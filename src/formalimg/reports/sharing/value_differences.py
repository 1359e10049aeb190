"""Differences between plain data, value by value; numbers may differ in the last digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from formalimg._util.strict_json import dumps_storable
from formalimg._util.text import truncate

TOLERANCE = 1e-9
"""Numbers may differ by this share: another processor may round otherwise in the last digits."""

_ABSENT: Final = object()


def value_differences(old: Any, new: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each value that differs, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*new, *old)):
            path = f"{where}.{name}".lstrip(".")
            yield from value_differences(old.get(name, _ABSENT), new.get(name, _ABSENT), path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            names = (before[key] for key in ("name", "suite") if isinstance(before, dict) and key in before)
            yield from value_differences(before, after, f"{where}[{next(names, number)}]")
    elif not is_same(old, new):
        yield where, old, new


def is_same(old: Any, new: Any) -> bool:
    """Return whether two values are the same, numbers but for their last digits."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(old == new)


def count_leaves(data: Any) -> int:
    """Return how many values there are in plain data."""
    if isinstance(data, dict | list):
        return sum(map(count_leaves, data.values() if isinstance(data, dict) else data))
    return 1


def value_text(value: Any) -> str:
    """Return a value as it is shown in a message."""
    return "absent" if value is _ABSENT else truncate(dumps_storable(value), 100, 40)
