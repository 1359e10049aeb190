"""Values that take long to work out, kept until what they were worked out from has changed, and a little longer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

Value = TypeVar("Value")

_REST = 10
"""After a value was worked out, it stands for so many times as long as that took, even if its source has changed: a
run that goes on changes all the time."""


@dataclass(frozen=True)
class _Kept(Generic[Value]):
    state: Hashable
    value: Value
    stands_until: float


class Remembered(Generic[Value]):
    """The values that were worked out last, each with the state of the world it belongs to."""

    def __init__(self, most: int) -> None:
        """Keep so many values."""
        self._most = most
        self._kept: OrderedDict[Hashable, _Kept[Value]] = OrderedDict()
        self._lock = Lock()
        self._locks: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, state: Hashable, work_out: Callable[[], Value]) -> Value:
        """The value for a key; worked out at most once for each state, however many ask at the same time."""
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            with self._lock:
                kept = self._kept.get(key)
            begun = monotonic()
            if kept is not None and (kept.state == state or begun < kept.stands_until):
                return kept.value
            value = work_out()
            ended = monotonic()
            with self._lock:
                self._kept[key] = _Kept(state, value, ended + _REST * (ended - begun))
                self._kept.move_to_end(key)
                while len(self._kept) > self._most:
                    gone, _ = self._kept.popitem(last=False)
                    self._locks.pop(gone, None)
            return value
