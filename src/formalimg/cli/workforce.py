"""Who does the work of a command: this process, or workers on a Ray cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import typer

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.cluster import Opened
    from formalimg.judges import Judge
    from formalimg.models import ImageModel


class AtWork(NamedTuple):
    """Who makes, who judges, and what they say of how fast they are."""

    model: ImageModel | None
    judge: Judge | None
    told: Callable[[], str]


@dataclass(frozen=True)
class Workforce:
    """What the options of a command say about who works, by their names."""

    engine: Literal["local", "ray"]
    address: str | None
    workers: int | None
    gpus_per_worker: float | None
    cpus_per_worker: float | None

    def __post_init__(self) -> None:
        given = {
            "--address": self.address,
            "--workers": self.workers,
            "--gpus-per-worker": self.gpus_per_worker,
            "--cpus-per-worker": self.cpus_per_worker,
        }
        idle = [option for option, value in given.items() if value is not None and self.engine == "local"]
        if idle:
            raise FormalimgError(f"{idle[0]} says something about a Ray cluster: give --engine ray too")

    @contextmanager
    def at_work(self, model: Opened[ImageModel] | None, judge: Opened[Judge] | None) -> Iterator[AtWork]:
        """Have the work of a model and a judge done by whom it should be done.

        Raises:
            FormalimgError: if there is no cluster, or no room on it.
        """
        here = AtWork(model.here if model else None, judge.here if judge else None, lambda: "")
        if self.engine == "local":
            yield here
            return
        from formalimg.cluster import ResourceRequest, open_crew
        from formalimg.models import Matches

        # Images that are there already need nobody else to hand them out.
        away = None if model and isinstance(model.here, Matches) else model
        if away is None and judge is None:
            yield here
            return
        demand = ResourceRequest(1 if self.cpus_per_worker is None else self.cpus_per_worker, self.gpus_per_worker or 0)
        # What Ray says of machines that die is no result of ours.
        with (
            redirect_stdout(sys.stderr),
            open_crew(away, judge, workers=self.workers, demand=demand, address=self.address or "auto") as crew,
        ):
            many = f"{crew.size} workers" if crew.size > 1 else "1 worker"
            typer.echo(f"Ray: up to {many}, with {demand} each; the first take some seconds to start", err=True)
            yield AtWork(crew.model or here.model, crew.judge, crew.told)
