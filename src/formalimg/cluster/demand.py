"""What a worker takes of its machine, and how many workers there is room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from formalimg.errors import FormalimgError

_LEAST = 0.0001
"""The smallest part of a processor or GPU that Ray counts."""


@dataclass(frozen=True)
class ResourceRequest:
    """What one worker takes of its machine. Ray keeps count and gives no processor or GPU away twice.

    Attributes:
        cpus: processors; 0 for workers that only wait for a server elsewhere.
        gpus: GPUs, also a part of one, such as 0.5 for two workers on each.
    """

    cpus: float = 1
    gpus: float = 0

    def __post_init__(self) -> None:
        for taken in (self.cpus, self.gpus):
            if not (isfinite(taken) and (taken == 0 or taken >= _LEAST)):
                raise FormalimgError(
                    f"a worker cannot take {taken:g} CPUs or GPUs: give 0, or a number from {_LEAST:.4f} on"
                )
        if self.gpus > 1 and self.gpus % 1:
            raise FormalimgError(f"{self.gpus} GPUs cannot be given to a worker: a part of one, or whole ones")

    def __str__(self) -> str:
        return f"{self.cpus:g} CPU{'s' * (self.cpus != 1)} and {self.gpus:g} GPU{'s' * (self.gpus != 1)}"

    def fits(self, nodes: Sequence[Mapping[str, Any]]) -> int | None:
        """How many such workers the machines that are up have room for if nobody else is there; None if any number.

        Args:
            nodes: the machines, as `ray.nodes()` lists them.
        """
        if not self.cpus and not self.gpus:
            return None
        return sum(self._on(node["Resources"]) for node in nodes if node["Alive"])

    def _on(self, resources: Mapping[str, float]) -> int:
        taken = [(self.cpus, resources.get("CPU", 0)), (self.gpus, resources.get("GPU", 0))]
        if self.gpus and self.gpus < 1:  # parts are parts of one GPU each
            taken[1] = (1, resources.get("GPU", 0) * int(1 / self.gpus))
        return min(int(there / wanted) for wanted, there in taken if wanted)
