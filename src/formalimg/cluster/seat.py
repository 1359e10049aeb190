"""A place for one worker in a crew: workers may die and be replaced, the place stays."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from formalimg.cluster.rates import Pace


@dataclass
class Seat:
    """A place for one worker.

    Attributes:
        worker: the handle by which Ray calls it; None if nobody is there.
        host: the machine it is on; empty if nobody is there.
        lost: is set when it no longer answers.
        done: how many images and verdicts came from it.
        since: when it came.
        failures: how many workers in a row could not be started.
    """

    worker: Any = None
    host: str = ""
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    done: int = 0
    since: float = 0.0
    failures: int = 0

    def take(self, worker: Any, host: str) -> None:
        """A worker is there and can be asked."""
        self.worker, self.host, self.done, self.since, self.failures = worker, host, 0, time.monotonic(), 0

    def leave(self) -> Any:
        """Nobody is there any more; who was is given back."""
        worker, self.worker, self.host = self.worker, None, ""
        return worker

    @property
    def pace(self) -> Pace:
        """How fast its worker is."""
        seconds = time.monotonic() - self.since
        return Pace(self.host, self.done / seconds if self.host and seconds else 0.0)
