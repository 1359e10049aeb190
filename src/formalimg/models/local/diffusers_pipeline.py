"""Diffusers pipelines: options, loading, generation, and prompt truncation by text encoders."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from formalimg._util.io import refuse_special_file
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.models.local.checkpoint import Checkpoint, digest_files, silence_libraries
from formalimg.models.local.device_pool import AdaptiveBatcher, inference_allowed
from formalimg.models.options import Options, read_extra_fields, without_none
from formalimg.types import Setting

if TYPE_CHECKING:
    from PIL.Image import Image

PipelineTask: TypeAlias = Literal["auto", "text-to-image", "image-to-image"]
Offload: TypeAlias = Literal["none", "model", "sequential"]

INDEX = "model_index.json"  # the file that every saved pipeline has; it names the classes of the pipeline and its parts
_OWN_ARGUMENTS = (  # arguments that follow from the request, or that we rely on
    *("prompt", "generator", "image", "height", "width"),
    *("output_type", "return_dict", "num_images_per_prompt", "callback_on_step_end"),
)
_SIZE_STEP = 16  # pipelines take sizes that are multiples of 8 or 16, whatever the weights would allow
_OUT_OF_MEMORY = Failed(
    "out of memory, even for one image at a time: see the options offload, vae_tiling, dtype and size"
)
_OPTION_FOR = {"num_inference_steps": "steps", "guidance_scale": "guidance", "negative_prompt": "negative_prompt"}
_OPTION_FOR |= {"height": "size", "width": "size"}


@dataclass(frozen=True)
class DiffusersOptions:
    """Options of a diffusers model. None selects the default of the pipeline."""

    # `auto` takes the pipeline that the checkpoint names; the others build another one of the same weights
    task: PipelineTask = "auto"
    steps: int | None = None  # denoising steps
    guidance: float | None = None  # guidance scale
    negative_prompt: str | None = None  # what should not be in the image
    size: int | None = None  # width and height in place of the run's; 0 for the pipeline's own
    variant: str | None = None  # which files of the checkpoint, such as `fp16`
    lora: str | None = None  # a folder, file or hub id of a LoRA that is added to the weights
    lora_scale: float | None = None  # its weight
    vae_tiling: bool = False  # decode in tiles, for large images on small devices
    compiled: bool = False  # compile the denoiser; the first image takes minutes, all others less
    attention_slicing: bool = False  # compute attention in slices: slower, in less memory
    offload: Offload = "none"  # keep in the device's memory only the model that works, or only the layer
    call: Mapping[str, object] = field(default_factory=dict)  # other arguments of the pipeline

    @property
    def settings(self) -> dict[str, Setting]:
        """Explicit options that affect the images, which excludes memory options."""
        settings: dict[str, Setting] = {
            "task": None if self.task == "auto" else self.task,
            "steps": self.steps,
            "guidance": self.guidance,
            "negative_prompt": self.negative_prompt,
            "size": self.size,
            "variant": self.variant,
            "lora": self.lora,
            "lora_scale": self.lora_scale,
            "vae_tiling": self.vae_tiling or None,
            "compile": self.compiled or None,
            **{f"call.{name}": str(value) for name, value in self.call.items()},
        }
        if self.lora is not None and Path(self.lora).expanduser().exists():
            settings["lora_weights"] = digest_files(Path(self.lora).expanduser())
        return without_none(settings)


def read_diffusers_options(name: str, parsed: Options) -> DiffusersOptions:
    """Parse the options of a diffusers model."""
    options = DiffusersOptions(
        task=cast(PipelineTask, parsed.choice("task", get_args(PipelineTask), "auto")),
        steps=parsed.integer("steps", None, minimum=1, maximum=1000),
        guidance=parsed.number("guidance", None, minimum=0),
        negative_prompt=parsed.text("negative_prompt", None),
        size=parsed.integer("size", None, minimum=16, maximum=8192, words={"native": 0}),
        variant=parsed.text("variant", None),
        lora=parsed.text("lora", None),
        lora_scale=parsed.number("lora_scale", None),
        vae_tiling=parsed.flag("vae_tiling", False),
        compiled=parsed.flag("compile", False),
        attention_slicing=parsed.flag("attention_slicing", False),
        offload=cast(Offload, parsed.choice("offload", get_args(Offload), "none")),
        call=read_extra_fields(parsed, "call.")[0],
    )
    for argument, option in _OPTION_FOR.items():
        if argument in options.call:
            raise FormalimgError(f"call.{argument} of {name} has an option of its own: give {option}=…")
    if options.lora_scale is not None and options.lora is None:
        raise FormalimgError(f"lora_scale of {name} needs a lora: give lora=FOLDER, or leave it out")
    return options


def load_pipeline(name: str, checkpoint: Checkpoint, options: DiffusersOptions) -> Any:
    """Load the pipeline onto its device and apply all options."""
    import diffusers

    silence_libraries("diffusers", "transformers")
    loaders = {
        "auto": diffusers.DiffusionPipeline,
        "text-to-image": diffusers.AutoPipelineForText2Image,
        "image-to-image": diffusers.AutoPipelineForImage2Image,
    }
    arguments = checkpoint.loading() | ({"variant": options.variant} if options.variant else {})
    with checkpoint.being_loaded(name):
        loader = loaders[options.task]
        pipeline = loader.from_pretrained(checkpoint.source, **arguments, dtype=checkpoint.torch_dtype())
        if options.lora is not None:
            _add_lora(pipeline, options.lora, options.lora_scale)
    pipeline.set_progress_bar_config(disable=True)
    _save_memory(name, pipeline, options)
    _move_to_device(name, pipeline, checkpoint, options)
    if options.compiled:
        denoiser = getattr(pipeline, "transformer", None) or getattr(pipeline, "unet", None)
        if denoiser is None:
            raise FormalimgError(f"{name} has nothing that could be compiled: leave compile out")
        denoiser.compile()
    return pipeline


def accepts_reference(checkpoint: Checkpoint, options: DiffusersOptions) -> bool:
    """Return whether the pipeline accepts a reference image; True if unknown."""
    if options.task != "auto":
        return options.task == "image-to-image"
    index = _parse_index(checkpoint.find(INDEX))
    if index is None:  # loading it will say what is wrong
        return True
    import diffusers

    pipeline = getattr(diffusers, str(index.get("_class_name")), None)
    return pipeline is None or "image" in inspect.signature(pipeline.__call__).parameters


def has_short_context(checkpoint: Checkpoint) -> bool:
    """Return whether all text encoders in the checkpoint's index are CLIP models, which are limited to 77 tokens."""
    index = _parse_index(checkpoint.fetch(INDEX)) or {}
    classes = [entry for name, entry in index.items() if name.startswith("tokenizer") and isinstance(entry, list)]
    return bool(classes) and all("CLIP" in str(entry[-1]) for entry in classes if entry[-1])


def reads_clip_only(pipeline: Any) -> bool:
    """Return whether all text encoders of a loaded pipeline are CLIP models, which are limited to 77 tokens."""
    tokenizers = _tokenizers(pipeline)
    return bool(tokenizers) and all("CLIP" in type(tokenizer).__name__ for tokenizer in tokenizers)


def _count_truncated_tokens(pipeline: Any, prompt: str, max_tokens: int | None) -> int | None:
    """Return the number of prompt tokens that every text encoder silently truncates, or None if unknown."""
    counts = []
    for tokenizer in _tokenizers(pipeline):
        limit: int = tokenizer.model_max_length
        if max_tokens is not None and "CLIP" not in type(tokenizer).__name__:
            limit = min(limit, max_tokens)
        counts.append(max(0, len(tokenizer(prompt, verbose=False)["input_ids"]) - limit))
    return min(counts, default=None)


def _tokenizers(pipeline: Any) -> list[Any]:
    parts = pipeline.components.items()
    return [part for name, part in parts if name.startswith("tokenizer") and part is not None]


def _parse_index(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return index if isinstance(index, dict) else None


def _add_lora(pipeline: Any, lora: str, scale: float | None) -> None:
    path = Path(lora).expanduser()
    refuse_special_file(path)
    if path.is_file():
        pipeline.load_lora_weights(str(path.parent), weight_name=path.name, adapter_name="lora")
    else:
        pipeline.load_lora_weights(str(path) if path.exists() else lora, adapter_name="lora")
    pipeline.set_adapters(["lora"], [1.0 if scale is None else scale])


def _save_memory(name: str, pipeline: Any, options: DiffusersOptions) -> None:
    if options.attention_slicing:
        pipeline.enable_attention_slicing()
    if options.vae_tiling:
        vae: Any = getattr(pipeline, "vae", None)
        if not hasattr(vae, "enable_tiling"):
            raise FormalimgError(f"{name} cannot decode in tiles: leave vae_tiling out")
        vae.enable_tiling()


def _move_to_device(name: str, pipeline: Any, checkpoint: Checkpoint, options: DiffusersOptions) -> None:
    if options.offload == "none":
        pipeline.to(checkpoint.device)
    elif checkpoint.device == "cpu":
        raise FormalimgError(
            f"offload={options.offload} of {name} is for devices with memory of their own: leave it out"
        )
    elif options.offload == "model":
        pipeline.enable_model_cpu_offload(device=checkpoint.device)
    else:
        pipeline.enable_sequential_cpu_offload(device=checkpoint.device)


class PipelineImage(NamedTuple):
    """A generated image before encoding, and the values actually used for it."""

    image: Image
    served: Mapping[str, Setting]


PipelineResult: TypeAlias = PipelineImage | Refused | Failed


class LoadedPipeline:
    """A pipeline loaded on its device. Not thread-safe."""

    def __init__(
        self,
        name: str,
        pipeline: Any,
        options: DiffusersOptions,
        served: Mapping[str, Setting],
        create_batcher: Callable[[], AdaptiveBatcher] = AdaptiveBatcher,
        require_wanted: Callable[[], None] = lambda: None,
    ) -> None:
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

        Batches are as large as the memory allows. Requests with a reference image run one by one, because pipelines
        interpret several images differently.
        """
        if any(request.reference is not None for request in requests):
            return [result for request in requests for result in self._generate([request])]
        return self._generate(requests)

    def _generate(self, requests: Sequence[ImageRequest]) -> list[PipelineResult]:
        reference = requests[0].reference
        if reference is not None and "image" not in self._parameters:
            return [Failed(f"{self._name} takes text only, and was given an image")]
        parameter = self._parameters.get("image")
        if reference is None and parameter is not None and parameter.default is inspect.Parameter.empty:
            return [Failed(f"{self._name} needs a reference image besides the prompt")] * len(requests)
        batcher = self._batchers.setdefault(requests[0].size, self._create_batcher())
        results: list[PipelineResult] = batcher.run(self._run_batch, requests, _OUT_OF_MEMORY)
        self.max_batch = batcher.max_batch
        return results

    def _run_batch(self, requests: Sequence[ImageRequest]) -> list[PipelineResult]:
        import torch

        # On the CPU, whose random numbers are the same on every machine; and one for each image, so that it does not
        # depend on the others in its batch.
        generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
        negative = self._options.negative_prompt
        with inference_allowed(), torch.inference_mode():
            output = self._pipeline(
                prompt=[request.prompt for request in requests],
                generator=generators,
                **self._arguments,
                **self._step_callback(),
                **({} if negative is None else {"negative_prompt": [negative] * len(requests)}),
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
        truncated = _count_truncated_tokens(self._pipeline, request.prompt, self._used("max_sequence_length"))
        if truncated is not None:
            served["tokens_cut"] = truncated
        return PipelineImage(image, {**self._served, **served})

    def _size_and_reference(self, request: ImageRequest) -> dict[str, Any]:
        requested = request.size if self._options.size is None else self._options.size
        # The closest supported size: latents are smaller than images, and are cut into patches of two.
        step = math.lcm(_SIZE_STEP, 2 * int(getattr(self._pipeline, "vae_scale_factor", 1)))
        side = max(step, round(requested / step) * step) if requested else 0
        arguments: dict[str, Any] = {}
        if side and "height" in self._parameters and "width" in self._parameters:
            arguments = {"height": side, "width": side}
        if request.reference is not None:
            from PIL import Image

            image = Image.open(io.BytesIO(request.reference)).convert("RGB")
            arguments["image"] = image.resize((side, side), Image.Resampling.LANCZOS) if side else image
        return arguments

    def _step_callback(self) -> dict[str, Any]:
        def on_step_end(pipeline: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            self._require_wanted()
            return tensors

        return {"callback_on_step_end": on_step_end} if "callback_on_step_end" in self._parameters else {}

    def _fixed_arguments(self) -> dict[str, Any]:
        values = {
            "num_inference_steps": self._options.steps,
            "guidance_scale": self._options.guidance,
            **self._options.call,
        }
        arguments = {name: value for name, value in values.items() if value is not None}
        for name in (*arguments, *(["negative_prompt"] if self._options.negative_prompt is not None else [])):
            if name not in self._parameters or name in _OWN_ARGUMENTS:
                kind = type(self._pipeline).__name__
                parameters = ", ".join(sorted({*self._parameters} - {*_OWN_ARGUMENTS, "kwargs"}))
                raise FormalimgError(f"{self._name} is a {kind}, which cannot be given {name}: it takes {parameters}")
        return arguments

    def _used(self, name: str) -> Any:
        """Return the effective value of an argument, falling back to the pipeline's default."""
        default = self._parameters[name].default if name in self._parameters else None
        return self._arguments.get(name, None if default is inspect.Parameter.empty else default)


def _encode_result(result: PipelineResult) -> ImageResult:
    if not isinstance(result, PipelineImage):
        return result
    file = io.BytesIO()
    result.image.save(file, "PNG", compress_level=1)
    return Generated(file.getvalue(), result.served)


async def encode_results(results: Sequence[PipelineResult]) -> AsyncIterator[ImageResult]:
    """Yield the results of a batch with their images encoded."""
    # All at once, and beside the next batch: encoding takes long beside the images of a fast model.
    files = [asyncio.create_task(asyncio.to_thread(_encode_result, result)) for result in results]
    try:
        for file in files:
            yield await file
    finally:
        for file in files:
            file.cancel()
