"""Workload of the GPU benchmarks, and a timer with GPU utilisation."""

from __future__ import annotations

import gc
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Load:
    """Workload of the benchmark."""

    device: str
    tiny: bool
    images: int
    batch: int
    steps: int
    size: int
    questions: int
    asked_at_once: int
    tokens: int

    @property
    def dtype(self) -> str:
        """The dtype of weights and activations."""
        return "float32" if self.tiny else "bfloat16"


def free() -> None:
    """Free models that are no longer needed; their threads may take a moment to end."""
    import torch

    for _ in range(5):
        gc.collect()
        time.sleep(0.1)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        print(f"in use: {torch.cuda.memory_allocated() / 1e9:.2f} GB", flush=True)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    return work(), time.monotonic() - began


class Watch:
    """A timer that also samples the utilisation of the GPU, four times a second.

    Attributes:
        seconds: how long it took.
    """

    seconds = 0.0

    def __enter__(self) -> Watch:
        """Begin."""
        self._asking: subprocess.Popen[str] | None = None
        self._busy: list[int] = []
        if shutil.which("nvidia-smi"):
            query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "250"]
            self._asking = subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._began = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self.seconds = time.monotonic() - self._began
        if self._asking is not None:
            self._asking.terminate()
            lines = self._asking.communicate()[0].split()
            self._busy = [int(line) for line in lines if line.isdigit()]

    def told(self) -> dict[str, float]:
        """Seconds, and the mean of what the driver calls utilisation: the part of the time in which something ran."""
        busy = {"GPU busy %": sum(self._busy) / len(self._busy)} if self._busy else {}
        return {"seconds": self.seconds, **busy}
