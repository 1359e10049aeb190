"""Pipelines of diffusers that are loaded already, as image models: what `evaluate(pipe)` is given."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import groupby
from typing import Any
from weakref import WeakMethod

from formalimg.errors import FormalimgError
from formalimg.models.base import ImageRequest, ImageResult
from formalimg.models.local.device_pool import DevicePool
from formalimg.models.local.diffusers_model import LoadedPipeline, PipelineResult, encode_results
from formalimg.models.local.diffusers_pipeline import DiffusersOptions, reads_clip_only
from formalimg.models.local.memory import AdaptiveBatcher
from formalimg.models.public_identity import stored_settings
from formalimg.types import Setting


class PipelineObject:
    """A pipeline of diffusers that the user has loaded.

    Each image has a generator of its own, so that it does not depend on its batch, and its width and height are those
    of the request. The weights cannot be identified, since they may have been changed after loading.
    """

    sees_spec = False
    concurrency = 2
    """One batch waits while another is computed."""

    def __init__(
        self,
        pipeline: Any,
        *,
        name: str = "",
        arguments: Mapping[str, Any] | None = None,
        settings: Mapping[str, Setting] | None = None,
        batch: int = 1,
    ) -> None:
        """Wrap a pipeline."""
        if isinstance(pipeline, functools.partial):
            pipeline, arguments = pipeline.func, {**pipeline.keywords, **(arguments or {})}
        kind = type(pipeline).__name__
        arguments = dict(arguments or {})
        self.name = name or f"python/{kind}"
        if batch < 1:
            raise FormalimgError(f"a batch of {batch} makes no images: give 1 or more")
        if arguments.keys() & {"height", "width"}:
            raise FormalimgError(f"{self.name} is told the size of images by size=: leave height and width out")
        self.batch = batch
        weights = str(getattr(pipeline.config, "_name_or_path", "") or "") if hasattr(pipeline, "config") else ""
        recorded = {
            key: value if isinstance(value, str | int | float) else str(value) for key, value in arguments.items()
        }
        described = {"pipeline": kind, **({"weights": weights} if weights else {})}
        self.settings: Mapping[str, Setting] = stored_settings({**described, **recorded, **(settings or {})})
        self.style = "short" if reads_clip_only(pipeline) else "long"
        device = str(pipeline.device)
        self._pool = DevicePool[Sequence[ImageRequest], list[PipelineResult]]("diffusers", [device], self._start)
        require_wanted = WeakMethod(self._pool.require_wanted)  # the thread of the pool must not keep the pool
        libraries = {library: version(library) for library in ("diffusers", "torch")}
        self._pipeline = pipeline
        self._loaded = LoadedPipeline(
            self.name,
            pipeline,
            DiffusersOptions(call=arguments),
            {**described, "device": device, **libraries},
            AdaptiveBatcher,
            lambda: (require_wanted() or (lambda: None))(),
        )

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order."""
        for _, group in groupby(requests, key=lambda request: request.size):
            async for result in encode_results(await self._pool.run(list(group))):
                yield result

    def interrupt(self) -> None:
        """Give up all images under way, at the next step of the pipeline."""
        self._pool.interrupt()

    def _start(self, _: str) -> Callable[[Sequence[Sequence[ImageRequest]]], list[list[PipelineResult]]]:
        pipeline, loaded = self._pipeline, self._loaded

        def work(groups: Sequence[Sequence[ImageRequest]]) -> list[list[PipelineResult]]:
            with _without_progress_bar(pipeline):
                return [loaded.generate(group) for group in groups]

        return work


@contextmanager
def _without_progress_bar(pipeline: Any) -> Iterator[None]:
    """Keep the bars of the pipeline, one per image, from writing over our progress."""
    before = dict(getattr(pipeline, "_progress_bar_config", {}))
    pipeline.set_progress_bar_config(**{**before, "disable": True})
    try:
        yield
    finally:
        pipeline.set_progress_bar_config(**before)
