"""Diffusers image models: pipelines loaded by name on one or more devices, or passed as objects."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from importlib.metadata import version
from itertools import groupby
from typing import Any, Literal, TypeAlias
from weakref import WeakMethod

from formalimg.errors import FormalimgError
from formalimg.models.base import ImageRequest, ImageResult
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, device_type, read_checkpoint, read_devices
from formalimg.models.local.device_pool import AdaptiveBatcher, CudaMemoryGauge, DevicePool
from formalimg.models.local.diffusers_pipeline import (
    INDEX,
    DiffusersOptions,
    LoadedPipeline,
    PipelineResult,
    accepts_reference,
    encode_results,
    has_short_context,
    load_pipeline,
    read_diffusers_options,
    reads_clip_only,
)
from formalimg.models.options import Options
from formalimg.models.registry import require_modules, requires
from formalimg.models.secrets import mask_settings
from formalimg.types import Setting

Batch: TypeAlias = int | Literal["auto"]
_Pool: TypeAlias = DevicePool[Sequence[ImageRequest], list[PipelineResult]]
_Work: TypeAlias = Callable[[Sequence[Sequence[ImageRequest]]], list[list[PipelineResult]]]

_MAX_AUTO_BATCH = 32  # of larger batches no device is faster, and more is lost if the run is interrupted


class _PooledPipelines:
    """Base class of diffusers models that dispatch requests of equal size to the first free device."""

    sees_spec = False

    def __init__(self, devices: Sequence[str], start: Callable[[str], _Work]) -> None:
        self._pool = _Pool("diffusers", devices, start)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order."""
        for _, group in groupby(requests, key=lambda request: request.size):
            async for result in encode_results(await self._pool.run(list(group))):
                yield result

    def interrupt(self) -> None:
        """Cancel all images in progress at the next pipeline step."""
        self._pool.interrupt()

    def _step_check(self) -> Callable[[], None]:
        """Return a callback that ends an abandoned batch. It holds only a weak reference to the pool."""
        require_wanted = WeakMethod(self._pool.require_wanted)
        return lambda: (require_wanted() or (lambda: None))()


class DiffusersModel(_PooledPipelines):
    """A pipeline of the diffusers library, loaded once per device at the first request."""

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        options: DiffusersOptions,
        batch: Batch = 1,
        devices: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._batch = batch
        self._checkpoint = checkpoint
        self._options = options
        self._devices = tuple(devices) or (checkpoint.device,)
        self._pipelines: list[LoadedPipeline] = []
        super().__init__(self._devices, self._load_on)

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent batches: two per device, to avoid idle time."""
        return 2 * len(self._devices)

    @property
    def batch(self) -> int:
        """Preferred number of requests per call. With `batch=auto`, it increases after the first images."""
        if self._batch != "auto":
            return self._batch
        return max((pipeline.max_batch or 1 for pipeline in self._pipelines), default=1)

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """Settings of the weights, and all explicit options."""
        return {**self._checkpoint.settings, **self._options.settings}

    @cached_property
    def takes_images(self) -> bool:
        """Whether the pipeline accepts a reference image in addition to the prompt; True if unknown."""
        return accepts_reference(self._checkpoint, self._options)

    @cached_property
    def style(self) -> str:
        """Length of the style text added to prompts: short if the text encoders have a short context."""
        return "short" if has_short_context(self._checkpoint) else "long"

    def _load_on(self, device: str) -> _Work:
        checkpoint = replace(self._checkpoint, device=device)
        pipeline = LoadedPipeline(
            self.name,
            load_pipeline(self.name, checkpoint, self._options),
            self._options,
            checkpoint.served(INDEX, "diffusers", "transformers"),
            partial(_create_batcher, self._batch, device, self._devices.count(device)),  # must not keep the model
            self._step_check(),
        )
        self._pipelines.append(pipeline)
        return lambda groups: [pipeline.generate(group) for group in groups]


@requires(modules=("torch", "diffusers", "transformers"), install=INSTALL_LOCAL)
def open_diffusers(model: str, options: Mapping[str, str]) -> DiffusersModel:
    """Any pipeline in a folder or on the Hugging Face hub, run here: diffusers/FOLDER or diffusers/OWNER/NAME."""
    require_modules("diffusers", open_diffusers)
    name = f"diffusers/{model}"
    reader = Options(name, options)
    batch: Any = reader.integer("batch", 1, minimum=1, maximum=1024, words={"auto": "auto"})
    devices = read_devices(reader)
    checkpoint = read_checkpoint(model, reader, devices=devices)
    parsed = read_diffusers_options(name, reader)
    reader.reject_unknown()
    return DiffusersModel(name, checkpoint, parsed, batch, devices)


def _create_batcher(batch: Batch, device: str, share: int) -> AdaptiveBatcher:
    if batch != "auto":
        return AdaptiveBatcher()
    if device_type(device) != "cuda":  # where free memory is unknown, or batches are no faster
        return AdaptiveBatcher(1)
    return AdaptiveBatcher(1, gauge=CudaMemoryGauge(device, share), limit=_MAX_AUTO_BATCH)


class PipelineObject(_PooledPipelines):
    """A loaded diffusers pipeline, as passed to `evaluate(pipe)`.

    Each image has a generator of its own, so that it does not depend on its batch, and its width and height are those
    of the request. The weights cannot be identified, since they may have been changed after loading.
    """

    concurrency = 2  # one batch waits while another is computed

    def __init__(
        self,
        pipeline: Any,
        *,
        name: str = "",
        arguments: Mapping[str, Any] | None = None,
        settings: Mapping[str, Setting] | None = None,
        batch: int = 1,
    ) -> None:
        if isinstance(pipeline, functools.partial):
            pipeline, arguments = pipeline.func, {**pipeline.keywords, **(arguments or {})}
        kind = type(pipeline).__name__
        arguments = dict(arguments or {})
        self.name = name or f"python/{kind}"
        if batch < 1:
            raise FormalimgError(f"invalid batch {batch}: give 1 or more")
        if arguments.keys() & {"height", "width"}:
            raise FormalimgError(f"{self.name} is told the size of images by size=: leave height and width out")
        self.batch = batch
        weights = str(getattr(pipeline.config, "_name_or_path", "") or "") if hasattr(pipeline, "config") else ""
        description = {"pipeline": kind, **({"weights": weights} if weights else {})}
        recorded = {
            key: value if isinstance(value, str | int | float) else str(value) for key, value in arguments.items()
        }
        self.settings: Mapping[str, Setting] = mask_settings({**description, **recorded, **(settings or {})})
        self.style = "short" if reads_clip_only(pipeline) else "long"
        device = str(pipeline.device)
        super().__init__([device], self._start)
        libraries = {library: version(library) for library in ("diffusers", "torch")}
        self._pipeline = pipeline
        self._loaded = LoadedPipeline(
            self.name,
            pipeline,
            DiffusersOptions(call=arguments),
            {**description, "device": device, **libraries},
            AdaptiveBatcher,
            self._step_check(),
        )

    def _start(self, _: str) -> _Work:
        pipeline, loaded = self._pipeline, self._loaded

        def work(groups: Sequence[Sequence[ImageRequest]]) -> list[list[PipelineResult]]:
            with _without_progress_bar(pipeline):
                return [loaded.generate(group) for group in groups]

        return work


@contextmanager
def _without_progress_bar(pipeline: Any) -> Iterator[None]:
    before = dict(getattr(pipeline, "_progress_bar_config", {}))
    pipeline.set_progress_bar_config(**{**before, "disable": True})
    try:
        yield
    finally:
        pipeline.set_progress_bar_config(**before)
