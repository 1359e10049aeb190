"""Diffusers image models: any pipeline that diffusers can load, on one or several devices."""

from __future__ import annotations

import asyncio
import inspect
import io
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from weakref import WeakMethod

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, read_checkpoint
from formalimg.models.local.device_pool import DevicePool, device_type, inference_allowed, read_devices
from formalimg.models.local.diffusers_pipeline import (
    INDEX,
    DiffusersOptions,
    accepts_reference,
    has_short_context,
    load_pipeline,
    read_diffusers_options,
    truncated_tokens,
)
from formalimg.models.local.memory import AdaptiveBatcher, CudaMemoryGauge
from formalimg.models.options import Options
from formalimg.models.registry import require_modules, requires
from formalimg.types import Setting

if TYPE_CHECKING:
    from PIL.Image import Image

Batch: TypeAlias = int | Literal["auto"]

_OWN_ARGUMENTS = (
    *("prompt", "generator", "image", "height", "width"),
    *("output_type", "return_dict", "num_images_per_prompt", "callback_on_step_end"),
)
"""Arguments that follow from the request, or that we rely on."""

_SIZE_STEP = 16
"""Pipelines take sizes that are multiples of 8 or 16, whatever the weights would allow."""

_MAX_AUTO_BATCH = 32
"""Of larger batches no device is faster, and more is lost if the run is interrupted."""

_OUT_OF_MEMORY = Failed(
    "out of memory, even for one image at a time: see the options offload, vae_tiling, dtype and size"
)


class PipelineImage(NamedTuple):
    """A generated image that is not encoded yet, and what was actually used for it."""

    image: Image
    served: Mapping[str, Setting]


PipelineResult: TypeAlias = PipelineImage | Refused | Failed


class LoadedPipeline:
    """A pipeline on its device. For one thread at a time.

    Attributes:
        max_batch: largest batch of the last size that fits into memory; None for as many as are requested.
    """

    def __init__(
        self,
        name: str,
        pipeline: Any,
        options: DiffusersOptions,
        served: Mapping[str, Setting],
        create_batcher: Callable[[], AdaptiveBatcher] = AdaptiveBatcher,
        require_wanted: Callable[[], None] = lambda: None,
    ) -> None:
        """Wrap a pipeline."""
        self._name = name
        self._options = options
        self._pipeline = pipeline
        self._parameters = dict(inspect.signature(self._pipeline.__call__).parameters)
        self._arguments = self._fixed_arguments()
        self._require_wanted = require_wanted
        self._create_batcher = create_batcher
        self._batchers: dict[int, AdaptiveBatcher] = {}
        self.max_batch: int | None = None
        self._served = {
            "pipeline": type(self._pipeline).__name__,
            "scheduler": type(self._pipeline.scheduler).__name__ if hasattr(self._pipeline, "scheduler") else None,
            "steps": self._used("num_inference_steps"),
            "guidance": self._used("guidance_scale"),
            **served,
            "dtype": str(self._pipeline.dtype).removeprefix("torch."),
        }

    def generate(self, requests: Sequence[ImageRequest]) -> list[PipelineResult]:
        """Return one result per request; all requests must have the same size.

        In batches as large as the memory allows; requests with a reference image one by one, since several images
        mean different things to different pipelines.
        """
        if any(request.reference is not None for request in requests):
            return [result for request in requests for result in self._generate([request])]
        return self._generate(requests)

    def _generate(self, requests: Sequence[ImageRequest]) -> list[PipelineResult]:
        reference = requests[0].reference
        if reference is not None and "image" not in self._parameters:
            return [Failed(f"{self._name} takes words only, but an image was to go with them")]
        parameter = self._parameters.get("image")
        if reference is None and parameter is not None and parameter.default is inspect.Parameter.empty:
            return [Failed(f"{self._name} needs an image to go by beside the words")] * len(requests)
        batcher = self._batchers.setdefault(requests[0].size, self._create_batcher())
        results: list[PipelineResult] = batcher.run(self._run_batch, requests, _OUT_OF_MEMORY)
        self.max_batch = batcher.max_batch
        return results

    def _run_batch(self, requests: Sequence[ImageRequest]) -> list[PipelineResult]:
        import torch

        # On the CPU, whose random numbers are the same on every machine; and one for each image, so that it does not
        # depend on the others in its batch.
        generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
        with inference_allowed(), torch.inference_mode():
            output = self._pipeline(
                prompt=[request.prompt for request in requests],
                generator=generators,
                **self._arguments,
                **self._step_callback(),
                **self._negative_prompt(len(requests)),
                **self._size_and_reference(requests[0]),
            )
        images = getattr(output, "images", None)
        if images is None or len(images) != len(requests):
            raise FormalimgError(f"{self._name} gives no image for each prompt: it is not a text-to-image model")
        flagged = getattr(output, "nsfw_content_detected", None) or [False] * len(requests)
        return [
            Refused("the pipeline's safety checker blacked the image out") if flag else self._result(request, image)
            for request, image, flag in zip(requests, images, flagged, strict=True)
        ]

    def _result(self, request: ImageRequest, image: Image) -> PipelineImage:
        served: dict[str, Setting] = {"size": f"{image.width}x{image.height}", "seed": request.seed}
        truncated = truncated_tokens(self._pipeline, request.prompt, self._used("max_sequence_length"))
        if truncated is not None:
            served["tokens_cut"] = truncated
        return PipelineImage(image, {**self._served, **served})

    def _size_and_reference(self, request: ImageRequest) -> dict[str, Any]:
        """Return width and height as the pipeline supports them, and the reference image in this size."""
        requested = request.size if self._options.size is None else self._options.size
        side = self._closest_size(requested) if requested else 0
        arguments: dict[str, Any] = {}
        if side and "height" in self._parameters and "width" in self._parameters:
            arguments = {"height": side, "width": side}
        if request.reference is not None:
            from PIL import Image

            image = Image.open(io.BytesIO(request.reference)).convert("RGB")
            arguments["image"] = image.resize((side, side), Image.Resampling.LANCZOS) if side else image
        return arguments

    def _closest_size(self, requested: int) -> int:
        """Return the closest supported size: latents are smaller than images, and are cut into patches of two."""
        step = math.lcm(_SIZE_STEP, 2 * int(getattr(self._pipeline, "vae_scale_factor", 1)))
        return max(step, round(requested / step) * step)

    def _step_callback(self) -> dict[str, Any]:
        """Return the callback of pipelines that take one; the others end with their batch."""

        def on_step_end(pipeline: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            self._require_wanted()
            return tensors

        return {"callback_on_step_end": on_step_end} if "callback_on_step_end" in self._parameters else {}

    def _negative_prompt(self, count: int) -> dict[str, Any]:
        text = self._options.negative_prompt
        return {} if text is None else {"negative_prompt": [text] * count}

    def _fixed_arguments(self) -> dict[str, Any]:
        """Return the arguments that are the same for all images."""
        given = {
            "num_inference_steps": self._options.steps,
            "guidance_scale": self._options.guidance,
            **self._options.call,
        }
        arguments = {name: value for name, value in given.items() if value is not None}
        for name in (*arguments, *(["negative_prompt"] if self._options.negative_prompt is not None else [])):
            if name not in self._parameters or name in _OWN_ARGUMENTS:
                kind = type(self._pipeline).__name__
                known = ", ".join(sorted({*self._parameters} - {*_OWN_ARGUMENTS, "kwargs"}))
                raise FormalimgError(f"{self._name} is a {kind}, which cannot be given {name}: it takes {known}")
        return arguments

    def _used(self, name: str) -> Any:
        """Return the value of an argument, given or the pipeline's default; None if it has none."""
        default = self._parameters[name].default if name in self._parameters else None
        return self._arguments.get(name, None if default is inspect.Parameter.empty else default)


def encode_result(result: PipelineResult) -> ImageResult:
    """Encode the image as a PNG file."""
    if not isinstance(result, PipelineImage):
        return result
    file = io.BytesIO()
    result.image.save(file, "PNG", compress_level=1)
    return Generated(file.getvalue(), result.served)


async def encode_results(results: Sequence[PipelineResult]) -> AsyncIterator[ImageResult]:
    """Yield the results of a batch with their images encoded."""
    # All at once, and beside the next batch: encoding takes long beside the images of a fast model.
    files = [asyncio.create_task(asyncio.to_thread(encode_result, result)) for result in results]
    try:
        for file in files:
            yield await file
    finally:
        for file in files:
            file.cancel()


class DiffusersModel:
    """A pipeline of the diffusers library. It is loaded at the first request, on each device once.

    Attributes:
        name, settings, batch, concurrency, sees_spec: as for every image model.
    """

    sees_spec = False

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        options: DiffusersOptions,
        batch: Batch = 1,
        devices: Sequence[str] = (),
    ) -> None:
        """Create a model that is not loaded yet."""
        self.name = name
        self._batch = batch
        self._checkpoint = checkpoint
        self._options = options
        self._devices = tuple(devices) or (checkpoint.device,)
        self._pipelines: list[LoadedPipeline] = []
        self._pool = DevicePool[Sequence[ImageRequest], list[PipelineResult]]("diffusers", self._devices, self._load_on)

    @property
    def concurrency(self) -> int:
        """Two batches per device: one waits while another is computed, so that no device is ever idle."""
        return 2 * len(self._devices)

    @property
    def batch(self) -> int:
        """Preferred number of requests per call. With `batch=auto`, it grows after the first images."""
        if self._batch != "auto":
            return self._batch
        return max((pipeline.max_batch or 1 for pipeline in self._pipelines), default=1)

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """Settings of the weights and all given options."""
        return {**self._checkpoint.settings, **self._options.settings}

    @cached_property
    def takes_images(self) -> bool:
        """Whether it accepts a reference image beside the prompt; True as long as that is unknown."""
        return accepts_reference(self._checkpoint, self._options)

    @cached_property
    def style(self) -> str:
        """Length of the style text to add to prompts: short if the text encoders read few tokens."""
        return "short" if has_short_context(self._checkpoint) else "long"

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order."""
        for _, group in groupby(requests, key=lambda request: request.size):
            async for result in encode_results(await self._pool.run(list(group))):
                yield result

    def interrupt(self) -> None:
        """Give up all images under way, at the next step of their pipelines."""
        self._pool.interrupt()

    def _load_on(self, device: str) -> Callable[[Sequence[Sequence[ImageRequest]]], list[list[PipelineResult]]]:
        checkpoint = replace(self._checkpoint, device=device)
        create_batcher = partial(_create_batcher, self._batch, device, self._devices.count(device))
        # Weakly, because a pipeline lives in a thread of the pool: it must not keep the pool, which would never end.
        require_wanted = WeakMethod(self._pool.require_wanted)
        pipeline = LoadedPipeline(
            self.name,
            load_pipeline(self.name, checkpoint, self._options),
            self._options,
            checkpoint.served(INDEX, "diffusers", "transformers"),
            create_batcher,
            lambda: (require_wanted() or (lambda: None))(),
        )
        self._pipelines.append(pipeline)
        return lambda groups: [pipeline.generate(group) for group in groups]


@requires(modules=("torch", "diffusers", "transformers"), install=INSTALL_LOCAL)
def open_diffusers(model: str, options: Mapping[str, str]) -> DiffusersModel:
    """Any pipeline in a folder or on the Hugging Face hub, run here: diffusers/FOLDER or diffusers/OWNER/NAME."""
    require_modules("diffusers", open_diffusers)
    name = f"diffusers/{model}"
    given = Options(name, options)
    batch = _batch(name, given)
    devices = read_devices(given)
    checkpoint = read_checkpoint(model, given, devices=devices)
    parsed = read_diffusers_options(name, given)
    given.reject_unknown()
    return DiffusersModel(name, checkpoint, parsed, batch, devices)


def _batch(name: str, given: Options) -> Batch:
    text = given.text("batch", "1")
    return "auto" if text == "auto" else Options(name, {"batch": text}).integer("batch", 1, minimum=1, maximum=1024)


def _create_batcher(batch: Batch, device: str, share: int) -> AdaptiveBatcher:
    if batch != "auto":
        return AdaptiveBatcher()
    if device_type(device) != "cuda":  # where free memory is unknown, or batches are no faster
        return AdaptiveBatcher(1)
    return AdaptiveBatcher(1, gauge=CudaMemoryGauge(device, share), limit=_MAX_AUTO_BATCH)
