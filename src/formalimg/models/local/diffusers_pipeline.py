"""What users can ask of a local image model besides which one it is."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from formalimg.errors import FormalimgError
from formalimg.models.base import Setting
from formalimg.models.local.checkpoint import Checkpoint, fingerprint, hush
from formalimg.models.options import Options, read_extras

Task: TypeAlias = Literal["auto", "text-to-image", "image-to-image"]
Offload: TypeAlias = Literal["none", "model", "sequential"]


_OPTION_FOR = {
    "num_inference_steps": "steps",
    "guidance_scale": "guidance",
    "negative_prompt": "negative_prompt",
    "height": "size",
    "width": "size",
}


@dataclass(frozen=True)
class Wishes:
    """How images are to be made. What is None is left to the pipeline.

    Attributes:
        task: `auto` takes the pipeline that the checkpoint names; the others make another of the same weights.
        steps: denoising steps.
        guidance: how much the words count.
        negative_prompt: what should not be in the image.
        size: width and height in place of the run's; 0 for the pipeline's own.
        variant: which files of the checkpoint, such as `fp16`.
        lora: a folder, file or hub id of a LoRA that is added to the weights.
        lora_scale: how much it counts.
        vae_tiling: decode in tiles, for large images on small devices.
        compiled: compile the denoiser; the first image takes minutes, all others less.
        attention_slicing: compute attention in slices: slower, in less memory.
        offload: keep in the device's memory only the model that works, or only the layer.
        call: whatever else the pipeline takes.
    """

    task: Task = "auto"
    steps: int | None = None
    guidance: float | None = None
    negative_prompt: str | None = None
    size: int | None = None
    variant: str | None = None
    lora: str | None = None
    lora_scale: float | None = None
    vae_tiling: bool = False
    compiled: bool = False
    attention_slicing: bool = False
    offload: Offload = "none"
    call: Mapping[str, object] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Setting]:
        """What shapes the images and was asked for. Where the memory is taken from does not shape them."""
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


def read_wishes(name: str, given: Options) -> Wishes:
    """What the options of a model ask for.

    Raises:
        FormalimgError: if one of them cannot be read.
    """
    wishes = Wishes(
        task=cast(Task, given.choice("task", get_args(Task), "auto")),
        steps=given.whole_number("steps", None, least=1, most=1000),
        guidance=given.number("guidance", None, least=0),
        negative_prompt=given.text("negative_prompt", None),
        size=_size(name, given),
        variant=given.text("variant", None),
        lora=given.text("lora", None),
        lora_scale=given.number("lora_scale", None),
        vae_tiling=given.flag("vae_tiling", False),
        compiled=given.flag("compile", False),
        attention_slicing=given.flag("attention_slicing", False),
        offload=cast(Offload, given.choice("offload", get_args(Offload), "none")),
        call=read_extras(name, given.starting_with("call.")),
    )
    for argument, option in _OPTION_FOR.items():
        if argument in wishes.call:
            raise FormalimgError(f"call.{argument} of {name} has an option of its own: give {option}=…")
    if wishes.lora_scale is not None and wishes.lora is None:
        raise FormalimgError(f"lora_scale of {name} needs a lora: give lora=FOLDER, or leave it out")
    return wishes


def _size(name: str, given: Options) -> int | None:
    text = given.text("size", None)
    if text is None:
        return None
    return 0 if text == "native" else Options(name, {"size": text}).whole_number("size", None, least=16, most=8192)


_INDEX = "model_index.json"


def reads_few_words(checkpoint: Checkpoint) -> bool:
    """Are all text encoders of a pipeline CLIP's, which read 77 tokens? Its index tells, before it is loaded."""
    index = checkpoint.fetch(_INDEX)
    if index is None:
        return False
    try:
        parts = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    kinds = [kind for name, kind in parts.items() if name.startswith("tokenizer") and isinstance(kind, list)]
    return bool(kinds) and all("CLIP" in str(kind[-1]) for kind in kinds if kind[-1])


def tokens_cut(pipeline: Any, prompt: str, longest: int | None) -> int | None:
    """How many tokens of a prompt no text encoder of the pipeline gets to read; None if that cannot be told.

    Args:
        pipeline: the loaded pipeline.
        prompt: the words.
        longest: the limit that the pipeline sets itself; those of CLIP encoders are their own.
    """
    tokenizers = [
        part for name, part in pipeline.components.items() if name.startswith("tokenizer") and part is not None
    ]
    return min((_cut_by(tokenizer, prompt, longest) for tokenizer in tokenizers), default=None)


def _cut_by(tokenizer: Any, prompt: str, longest: int | None) -> int:
    limit: int = tokenizer.model_max_length
    if longest is not None and "CLIP" not in type(tokenizer).__name__:
        limit = min(limit, longest)
    return max(0, len(tokenizer(prompt, verbose=False)["input_ids"]) - limit)


INDEX = "model_index.json"
"""The file that every saved pipeline has; it names the pipeline's class."""


def load_pipeline(name: str, checkpoint: Checkpoint, wishes: Wishes) -> Any:
    """The pipeline, on its device, with everything that was wished for.

    Args:
        name: of the model, for messages.
        checkpoint: which weights.
        wishes: what the user asked for.

    Raises:
        FormalimgError: if it cannot be loaded, or does not have what was wished for.
    """
    import diffusers

    hush("diffusers", "transformers")
    loaders = {
        "auto": diffusers.DiffusionPipeline,
        "text-to-image": diffusers.AutoPipelineForText2Image,
        "image-to-image": diffusers.AutoPipelineForImage2Image,
    }
    loading = checkpoint.loading() | ({"variant": wishes.variant} if wishes.variant else {})
    with checkpoint.being_loaded(name):
        pipeline = loaders[wishes.task].from_pretrained(checkpoint.source, **loading, dtype=checkpoint.torch_dtype())
        if wishes.lora is not None:
            _add_lora(pipeline, wishes.lora, wishes.lora_scale)
    pipeline.set_progress_bar_config(disable=True)
    _save_memory(name, pipeline, wishes)
    _place(name, pipeline, checkpoint, wishes)
    if wishes.compiled:
        denoiser = getattr(pipeline, "transformer", None) or getattr(pipeline, "unet", None)
        if denoiser is None:
            raise FormalimgError(f"{name} has nothing that could be compiled: leave compile out")
        denoiser.compile()
    return pipeline


def takes_images(checkpoint: Checkpoint, wishes: Wishes) -> bool:
    """Does the pipeline take a reference image? True as long as it is not known, for want of the checkpoint."""
    if wishes.task != "auto":
        return wishes.task == "image-to-image"
    index = checkpoint.find(INDEX)
    if index is None:
        return True
    import diffusers

    pipeline = getattr(diffusers, str(_class_name(index)), None)
    return pipeline is None or "image" in inspect.signature(pipeline.__call__).parameters


def _class_name(index: Path) -> object:
    try:
        return json.loads(index.read_text(encoding="utf-8")).get("_class_name")
    except (OSError, ValueError, AttributeError):  # loading it will say what is wrong
        return None


def _add_lora(pipeline: Any, lora: str, scale: float | None) -> None:
    path = Path(lora).expanduser()
    if path.is_file():
        pipeline.load_lora_weights(str(path.parent), weight_name=path.name, adapter_name="lora")
    else:
        pipeline.load_lora_weights(str(path) if path.exists() else lora, adapter_name="lora")
    pipeline.set_adapters(["lora"], [1.0 if scale is None else scale])


def _save_memory(name: str, pipeline: Any, wishes: Wishes) -> None:
    if wishes.attention_slicing:
        pipeline.enable_attention_slicing()
    if wishes.vae_tiling:
        vae: Any = getattr(pipeline, "vae", None)
        if not hasattr(vae, "enable_tiling"):
            raise FormalimgError(f"{name} cannot decode in tiles: leave vae_tiling out")
        vae.enable_tiling()


def _place(name: str, pipeline: Any, checkpoint: Checkpoint, wishes: Wishes) -> None:
    if wishes.offload == "none":
        pipeline.to(checkpoint.device)
    elif checkpoint.device == "cpu":
        raise FormalimgError(
            f"offload={wishes.offload} of {name} is for devices with memory of their own: leave it out"
        )
    elif wishes.offload == "model":
        pipeline.enable_model_cpu_offload(device=checkpoint.device)
    else:
        pipeline.enable_sequential_cpu_offload(device=checkpoint.device)
