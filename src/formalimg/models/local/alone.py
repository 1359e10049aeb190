"""Loading is done while nothing is computed.

While libraries load weights, they change torch for the whole process: what kind of numbers a new tensor gets, and how
modules keep their parameters. An image that is made in another thread meanwhile could come out differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

_changed = Condition()
_computing = 0
_loading = 0
"""How many load, or wait to."""


@contextmanager
def computing() -> Iterator[None]:
    """Many may compute at the same time, but nobody while somebody loads, or waits for that."""
    global _computing
    with _changed:
        _changed.wait_for(lambda: not _loading)
        _computing += 1
    try:
        yield
    finally:
        with _changed:
            _computing -= 1
            _changed.notify_all()


@contextmanager
def loading_alone() -> Iterator[None]:
    """One loads at a time, when all that is being computed is done."""
    global _loading, _computing
    with _changed:
        _loading += 1
        _changed.wait_for(lambda: not _computing)
        _computing += 1  # so that nobody else begins to load either
    try:
        yield
    finally:
        with _changed:
            _computing -= 1
            _loading -= 1
            _changed.notify_all()
