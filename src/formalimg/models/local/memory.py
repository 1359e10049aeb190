"""Adaptive batch size for the memory of a device, and out-of-memory errors."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)

_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")
"""Messages of devices that have no exception of their own for it."""

_MARGIN = 0.8
"""The part of the free memory that may be counted on: it is fragmented, and libraries take some too."""


class MemoryGauge(Protocol):
    """Measures the memory of a device."""

    def begin(self) -> None:
        """Start a measurement."""
        ...

    def free(self) -> int:
        """Return the bytes that were free at the start."""
        ...

    def taken(self) -> int:
        """Return the peak of the bytes in use since the start, beyond those in use at the start."""
        ...


class AdaptiveBatcher:
    """Runs work in batches that fit into memory: one that does not is split in halves, and so are all that follow.

    Attributes:
        max_batch: the largest batch that fits, as far as is known; None if nothing is known.
    """

    def __init__(self, max_batch: int | None = None, *, gauge: MemoryGauge | None = None, limit: int = 1) -> None:
        """Create a batcher."""
        self.max_batch = max_batch
        self._gauge = gauge
        self._limit = limit

    def run(
        self, work: Callable[[Sequence[Request]], Sequence[Result]], requests: Sequence[Request], too_large: Result
    ) -> list[Result]:
        """Return the results of all requests.

        Args:
            work: returns one result for each request.
            requests: all requests.
            too_large: the result of a request for which there is not enough memory, even alone.
        """
        results: list[Result] = []
        while len(results) < len(requests):
            size = min(self.max_batch or len(requests), len(requests) - len(results))
            batch = requests[len(results) : len(results) + size]
            if self._gauge:
                self._gauge.begin()
            done = _none_if_out_of_memory(work, batch)
            if done is not None:
                results.extend(done)
                self._grow(size)
                continue
            # Only here, since the exception holds on to the memory of everything that was being computed.
            free_memory()
            _log.info("out of memory with a batch of %d", size)
            if size == 1:
                results.append(too_large)
            else:
                self.max_batch = self._limit = size // 2
        return results

    def _grow(self, size: int) -> None:
        """After a full batch, grow to the largest power of two that fits by what this one took."""
        if self._gauge is None or self.max_batch is None or size < self.max_batch:
            return
        # What all of a batch share counts as if each took it, so that this is on the safe side, less so with each step.
        fits = int(self._gauge.free() * _MARGIN * size / max(1, self._gauge.taken()))
        target = min(fits, self._limit)
        self.max_batch = max(self.max_batch, 1 << (target.bit_length() - 1) if target else 1)


class CudaMemoryGauge:
    """Measures the memory of a CUDA device."""

    def __init__(self, device: str, share: int = 1) -> None:
        """Create a gauge."""
        self._device = device
        self._share = share
        self._before = self._free = 0

    def begin(self) -> None:
        """Start a measurement."""
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        self._before = torch.cuda.memory_allocated(self._device)
        cached_by_torch = torch.cuda.memory_reserved(self._device) - self._before
        self._free = int(torch.cuda.mem_get_info(self._device)[0]) + cached_by_torch

    def free(self) -> int:
        """Return the bytes that were free at the start, for one of the copies that share the device."""
        return self._free // self._share

    def taken(self) -> int:
        """Return the peak of the bytes in use since the start, beyond those in use at the start."""
        import torch

        return int(torch.cuda.max_memory_allocated(self._device)) - self._before


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception is an out-of-memory error of a device."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # the latter is torch's
        return True
    return isinstance(error, RuntimeError) and any(text in str(error).lower() for text in _OUT_OF_MEMORY)


def free_memory() -> None:
    """Release the memory that torch caches on accelerators."""
    import torch

    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


def _none_if_out_of_memory(
    work: Callable[[Sequence[Request]], Sequence[Result]], batch: Sequence[Request]
) -> Sequence[Result] | None:
    try:
        return work(batch)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None
