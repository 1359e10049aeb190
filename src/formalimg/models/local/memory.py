"""When the memory of a device is not enough."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

_TOLD = ("out of memory", "not enough memory", "can't allocate memory")
"""How devices say so that have no exception of their own for it."""


class Halving:
    """Does work in batches that fit into memory: one that does not is done in halves, and so are all that follow."""

    def __init__(self) -> None:
        self._room: int | None = None

    def do(
        self, work: Callable[[Sequence[Request]], Sequence[Result]], requests: Sequence[Request], too_large: Result
    ) -> list[Result]:
        """The results of all requests.

        Args:
            work: gives one result for each request.
            requests: what is to be done.
            too_large: the result of a request for which there is not enough memory, even alone.
        """
        results: list[Result] = []
        while len(results) < len(requests):
            size = min(self._room or len(requests), len(requests) - len(results))
            batch = requests[len(results) : len(results) + size]
            done = _unless_out_of_memory(work, batch)
            if done is not None:
                results.extend(done)
                continue
            # Only here, since the exception holds on to the memory of everything that was being computed.
            free_memory()
            if size == 1:
                results.append(too_large)
            else:
                self._room = size // 2
        return results


def is_out_of_memory(error: BaseException) -> bool:
    """Does the exception say that a device's memory is not enough?"""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # the latter is torch's
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _TOLD)


def free_memory() -> None:
    """Give back what torch keeps in store on accelerators."""
    import torch

    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


def _unless_out_of_memory(
    work: Callable[[Sequence[Request]], Sequence[Result]], batch: Sequence[Request]
) -> Sequence[Result] | None:
    try:
        return work(batch)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None
