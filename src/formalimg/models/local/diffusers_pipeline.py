"""Diffusers pipelines: options, loading, and how much of a prompt the text encoders read."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from formalimg._util.io import refuse_special_file
from formalimg.errors import FormalimgError
from formalimg.models.local.checkpoint import Checkpoint, fingerprint, silence_libraries
from formalimg.models.options import Options, parse_extra_fields
from formalimg.types import Setting

PipelineTask: TypeAlias = Literal["auto", "text-to-image", "image-to-image"]
Offload: TypeAlias = Literal["none", "model", "sequential"]

INDEX = "model_index.json"
"""The file that every saved pipeline has; it names the classes of the pipeline and its parts."""

_OPTION_FOR = {
    "num_inference_steps": "steps",
    "guidance_scale": "guidance",
    "negative_prompt": "negative_prompt",
    "height": "size",
    "width": "size",
}


@dataclass(frozen=True)
class DiffusersOptions:
    """Options of a diffusers model. What is None is left to the pipeline."""

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
        """The options that were given and shape the images. Where memory is taken from does not shape them."""
        found: dict[str, Setting] = {
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
            found["lora_weights"] = fingerprint(Path(self.lora).expanduser())
        return {name: value for name, value in found.items() if value is not None}


def read_diffusers_options(name: str, given: Options) -> DiffusersOptions:
    """Parse the options of a diffusers model."""
    options = DiffusersOptions(
        task=cast(PipelineTask, given.choice("task", get_args(PipelineTask), "auto")),
        steps=given.integer("steps", None, minimum=1, maximum=1000),
        guidance=given.number("guidance", None, minimum=0),
        negative_prompt=given.text("negative_prompt", None),
        size=_size(name, given),
        variant=given.text("variant", None),
        lora=given.text("lora", None),
        lora_scale=given.number("lora_scale", None),
        vae_tiling=given.flag("vae_tiling", False),
        compiled=given.flag("compile", False),
        attention_slicing=given.flag("attention_slicing", False),
        offload=cast(Offload, given.choice("offload", get_args(Offload), "none")),
        call=parse_extra_fields(name, given.with_prefix("call.")),
    )
    for argument, option in _OPTION_FOR.items():
        if argument in options.call:
            raise FormalimgError(f"call.{argument} of {name} has an option of its own: give {option}=…")
    if options.lora_scale is not None and options.lora is None:
        raise FormalimgError(f"lora_scale of {name} needs a lora: give lora=FOLDER, or leave it out")
    return options


def load_pipeline(name: str, checkpoint: Checkpoint, options: DiffusersOptions) -> Any:
    """Load the pipeline on its device, with all options applied."""
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
    _place(name, pipeline, checkpoint, options)
    if options.compiled:
        denoiser = getattr(pipeline, "transformer", None) or getattr(pipeline, "unet", None)
        if denoiser is None:
            raise FormalimgError(f"{name} has nothing that could be compiled: leave compile out")
        denoiser.compile()
    return pipeline


def accepts_reference(checkpoint: Checkpoint, options: DiffusersOptions) -> bool:
    """Return whether the pipeline accepts a reference image; True as long as that is unknown."""
    if options.task != "auto":
        return options.task == "image-to-image"
    index = _parse_index(checkpoint.find(INDEX))
    if index is None:  # loading it will say what is wrong
        return True
    import diffusers

    pipeline = getattr(diffusers, str(index.get("_class_name")), None)
    return pipeline is None or "image" in inspect.signature(pipeline.__call__).parameters


def has_short_context(checkpoint: Checkpoint) -> bool:
    """Return whether all text encoders are CLIP's, which read 77 tokens, by the index, before the model is loaded."""
    index = _parse_index(checkpoint.fetch(INDEX)) or {}
    classes = [entry for name, entry in index.items() if name.startswith("tokenizer") and isinstance(entry, list)]
    return bool(classes) and all("CLIP" in str(entry[-1]) for entry in classes if entry[-1])


def reads_clip_only(pipeline: Any) -> bool:
    """Return whether all text encoders of a loaded pipeline are CLIP's, which read 77 tokens."""
    tokenizers = [part for name, part in pipeline.components.items() if name.startswith("tokenizer") and part]
    return bool(tokenizers) and all("CLIP" in type(tokenizer).__name__ for tokenizer in tokenizers)


def truncated_tokens(pipeline: Any, prompt: str, max_tokens: int | None) -> int | None:
    """Return the number of tokens of a prompt that no text encoder reads; None if that is unknown.

    Text encoders cut off long prompts silently.
    """
    tokenizers = [
        part for name, part in pipeline.components.items() if name.startswith("tokenizer") and part is not None
    ]
    return min((_truncated_by(tokenizer, prompt, max_tokens) for tokenizer in tokenizers), default=None)


def _truncated_by(tokenizer: Any, prompt: str, max_tokens: int | None) -> int:
    limit: int = tokenizer.model_max_length
    if max_tokens is not None and "CLIP" not in type(tokenizer).__name__:
        limit = min(limit, max_tokens)
    return max(0, len(tokenizer(prompt, verbose=False)["input_ids"]) - limit)


def _parse_index(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return index if isinstance(index, dict) else None


def _size(name: str, given: Options) -> int | None:
    text = given.text("size", None)
    if text is None:
        return None
    return 0 if text == "native" else Options(name, {"size": text}).integer("size", None, minimum=16, maximum=8192)


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


def _place(name: str, pipeline: Any, checkpoint: Checkpoint, options: DiffusersOptions) -> None:
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
