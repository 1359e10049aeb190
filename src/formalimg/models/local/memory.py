"""How much can be done at once in the memory of a device, and what to do when it was too much."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

_TOLD = ("out of memory", "not enough memory", "can't allocate memory")
"""How devices say so that have no exception of their own for it."""

_MARGIN = 0.8
"""The part of the free memory that may be counted on: what is free lies in pieces, and libraries take some too."""


class Gauge(Protocol):
    """Measures the memory of a device."""

    def begin(self) -> None:
        """From now on."""
        ...

    def free(self) -> int:
        """How many bytes were free when it began."""
        ...

    def taken(self) -> int:
        """How many bytes more than at the beginning were in use, at most, since then."""
        ...


class Batching:
    """Does work in batches that fit into memory: one that does not is done in halves, and so are all that follow.

    Attributes:
        room: how many fit, as far as is known; None if nothing is.
    """

    def __init__(self, room: int | None = None, *, gauge: Gauge | None = None, most: int = 1) -> None:
        """Nothing has been done yet.

        Args:
            room: no batch is larger than this; None for batches as they come.
            gauge: measures what a batch takes; where that allows, larger ones are done next. None to stay at `room`.
            most: no batch is ever larger than this if there is a gauge.
        """
        self.room = room
        self._gauge = gauge
        self._most = most

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
            size = min(self.room or len(requests), len(requests) - len(results))
            batch = requests[len(results) : len(results) + size]
            if self._gauge:
                self._gauge.begin()
            done = _unless_out_of_memory(work, batch)
            if done is not None:
                results.extend(done)
                self._grow(size)
                continue
            # Only here, since the exception holds on to the memory of everything that was being computed.
            free_memory()
            if size == 1:
                results.append(too_large)
            else:
                self.room = self._most = size // 2
        return results

    def _grow(self, size: int) -> None:
        """After a batch as large as they may be: the largest power of two that fits by what this one took."""
        if self._gauge is None or self.room is None or size < self.room:
            return
        # What all of a batch share counts as if each took it, so that this is on the safe side, less so with each step.
        fits = int(self._gauge.free() * _MARGIN * size / max(1, self._gauge.taken()))
        wished = min(fits, self._most)
        self.room = max(self.room, 1 << (wished.bit_length() - 1) if wished else 1)


class CudaGauge:
    """Measures the memory of a CUDA device."""

    def __init__(self, device: str, share: int = 1) -> None:
        """A gauge.

        Args:
            device: such as `cuda:1`.
            share: so many copies of a model share the device.
        """
        self._device = device
        self._share = share
        self._before = self._free = 0

    def begin(self) -> None:
        """From now on."""
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        self._before = torch.cuda.memory_allocated(self._device)
        kept_in_store = torch.cuda.memory_reserved(self._device) - self._before
        self._free = int(torch.cuda.mem_get_info(self._device)[0]) + kept_in_store

    def free(self) -> int:
        """How many bytes were free when it began, for one of those that share the device."""
        return self._free // self._share

    def taken(self) -> int:
        """How many bytes more than at the beginning were in use, at most, since then."""
        import torch

        return int(torch.cuda.max_memory_allocated(self._device)) - self._before


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
