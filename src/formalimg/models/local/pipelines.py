"""From a checkpoint to a pipeline that is ready to work."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.models.local.checkpoint import Checkpoint, hush
from formalimg.models.local.wishes import Wishes

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
