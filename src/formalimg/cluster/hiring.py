"""From a cluster to a crew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from formalimg.cluster.crew import Crew
from formalimg.cluster.demand import ResourceRequest
from formalimg.cluster.joining import joined
from formalimg.cluster.wanted import Opened
from formalimg.errors import FormalimgError
from formalimg.judges import Judge
from formalimg.models import ImageModel


@contextmanager
def open_crew(
    model: Opened[ImageModel] | Callable[[], ImageModel] | None = None,
    judge: Opened[Judge] | Callable[[], Judge] | None = None,
    *,
    workers: int | None = None,
    demand: ResourceRequest | None = None,
    address: str = "auto",
) -> Iterator[Crew]:
    """Workers on the machines of a Ray cluster, each of which holds the same model, the same judge, or both.

    Give `crew.model` and `crew.judge` to a run in place of the model and the judge: all else is the same, and so are
    the results.

    Args:
        model: opens the image model, such as `partial(open_image_model, "builtin/reader")`.
        judge: opens the judge, such as `partial(open_judge, "knolling")`.
        workers: how many; None for as many as the cluster has room for.
        demand: what each takes of its machine; one CPU if None.
        address: `auto` for the cluster that this machine is part of, `local` for one that is started here and ends
            with the block, or HOST:PORT.

    Raises:
        FormalimgError: if Ray is not installed, the cluster cannot be joined, or has no room for workers.
    """
    demand = demand or ResourceRequest()
    if workers is not None and workers < 1:
        raise FormalimgError(f"{workers} workers cannot do anything: ask for 1 or more")
    with joined(address):
        crew = Crew(
            _size(workers, demand),
            demand,
            Opened.by(model) if callable(model) else model,
            Opened.by(judge) if callable(judge) else judge,
        )
        try:
            yield crew
        finally:
            crew.close()


def _size(workers: int | None, demand: ResourceRequest) -> int:
    import ray

    room = demand.fits(ray.nodes())
    if workers is None and room is None:
        raise FormalimgError("workers that take no CPU and no GPU fit everywhere: say how many with --workers")
    if room == 0:
        raise FormalimgError(f"no machine of the cluster can hold a worker that takes {demand}: ask for less")
    return workers or room or 1
