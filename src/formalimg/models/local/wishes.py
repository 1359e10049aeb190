"""What users can ask of a local image model besides which one it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from formalimg.errors import FormalimgError
from formalimg.models.identity import Setting
from formalimg.models.local.fingerprints import fingerprint
from formalimg.models.options import Options
from formalimg.models.server_options import read_extras

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
