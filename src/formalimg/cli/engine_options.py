"""Engine options of a command: run in this process, or on workers of a Ray cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.judges import Judge
    from formalimg.models import ImageModel
    from formalimg.runs import Reopenable


class OpenedEngine(NamedTuple):
    """The model and judge that do the work, and a text about the rates of workers."""

    model: ImageModel | None
    judge: Judge | None
    rates_text: Callable[[], str]


@dataclass(frozen=True)
class EngineOptions:
    """The options of a command about its engine, by their names."""

    engine: Literal["local", "ray"]
    address: str | None
    workers: int | None
    gpus_per_worker: float | None
    cpus_per_worker: float | None

    def __post_init__(self) -> None:
        options = {
            "--address": self.address,
            "--workers": self.workers,
            "--gpus-per-worker": self.gpus_per_worker,
            "--cpus-per-worker": self.cpus_per_worker,
        }
        unused = [option for option, value in options.items() if value is not None and self.engine == "local"]
        if unused:
            raise FormalimgError(f"{unused[0]} is about a Ray cluster: give --engine ray too")

    @contextmanager
    def open(self, model: Reopenable[ImageModel] | None, judge: Reopenable[Judge] | None) -> Iterator[OpenedEngine]:
        """Yield the model and judge to run with: those given, or those of workers on a cluster.

        Raises:
            FormalimgError: if there is no cluster, or no room on it.
        """
        local = OpenedEngine(model.instance if model else None, judge.instance if judge else None, lambda: "")
        if self.engine == "local":
            yield local
            return
        from formalimg.cluster import ResourceRequest, open_worker_pool
        from formalimg.models import PremadeImageModel

        # Models that serve existing images need no workers.
        remote = None if model and isinstance(model.instance, PremadeImageModel) else model
        if remote is None and judge is None:
            yield local
            return
        cpus = 1 if self.cpus_per_worker is None else self.cpus_per_worker
        resources = ResourceRequest(cpus, self.gpus_per_worker or 0)
        # Messages of Ray about machines that die are not results.
        with (
            redirect_stdout(sys.stderr),
            open_worker_pool(
                remote, judge, workers=self.workers, resources=resources, address=self.address or "auto"
            ) as pool,
        ):
            count = f"{pool.size} workers" if pool.size > 1 else "1 worker"
            echo(f"Ray: up to {count}, with {resources} each; the first take some seconds to start", err=True)
            yield OpenedEngine(pool.model or local.model, pool.judge, pool.rates_text)
