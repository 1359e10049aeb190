"""Images per second: a bare loop of diffusers, and our run of the same pipeline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from gpu_load import Load, Watch, free, timed
from gpu_models import save_pipeline


def measure_images(load: Load, place: Path) -> dict[str, Any]:
    folder = place / "pipeline"
    found: dict[str, Any] = {}
    found["billion parameters"], found["seconds to build"] = timed(
        lambda: save_pipeline(folder, load.device, tiny=load.tiny)
    )
    free()
    found["bare"] = bare_images(load, folder)
    free()
    found["ours"] = our_images(load, folder, place)
    free()
    found["ours / bare"] = found["ours"]["images/s"] / found["bare"]["images/s"]
    found["batch=auto"] = automatic_batch(load, folder)
    free()
    found["out of memory"] = out_of_memory(load, folder)
    free()
    return found


def bare_images(load: Load, folder: Path) -> dict[str, Any]:
    import torch
    from diffusers import DiffusionPipeline

    pipeline = DiffusionPipeline.from_pretrained(folder, dtype=getattr(torch, load.dtype))
    pipeline.to(load.device)
    pipeline.set_progress_bar_config(disable=True)

    def make(first: int) -> None:
        numbers = range(first, first + load.batch)
        pipeline(
            prompt=[prompt(number) for number in numbers],
            generator=[torch.Generator("cpu").manual_seed(number) for number in numbers],
            num_inference_steps=load.steps,
            height=load.size,
            width=load.size,
        )

    make(0)
    with Watch() as watch:
        for first in range(0, load.images, load.batch):
            make(first)
    return {"images/s": load.images / watch.seconds, **watch.told()}


def our_images(load: Load, folder: Path, place: Path) -> dict[str, Any]:
    from formalimg.models.local.diffusers_model import open_diffusers
    from formalimg.runs.config import RunConfig
    from formalimg.runs.execution import execute

    model = open_diffusers(
        str(folder), {"steps": str(load.steps), "batch": str(load.batch), "device": load.device, "dtype": load.dtype}
    )
    execute(RunConfig(items(load.batch), model, size=load.size), place / "warm")
    with Watch() as watch:
        progress = execute(RunConfig(items(load.images), model, size=load.size), place / "run")
    assert progress.made == load.images, progress
    files = sorted((place / "run" / "images").iterdir())
    return {
        "images/s": load.images / watch.seconds,
        "MB per file": sum(file.stat().st_size for file in files) / len(files) / 1e6,
        **watch.told(),
    }


def automatic_batch(load: Load, folder: Path) -> dict[str, Any]:
    """After the first image, and after the first batch; few steps, since they take no more memory."""
    import torch

    from formalimg.models.local.diffusers_model import open_diffusers

    model = open_diffusers(str(folder), {"steps": "2", "batch": "auto", "device": load.device, "dtype": load.dtype})
    chosen = [model.batch]
    for _ in range(3):
        answers(model, load, chosen[-1])
        chosen.append(model.batch)
        if chosen[-1] == chosen[-2]:
            break
    return {"chosen": chosen, **({} if load.tiny else {"peak GB": torch.cuda.max_memory_allocated(load.device) / 1e9})}


def out_of_memory(load: Load, folder: Path) -> dict[str, Any]:
    """A batch that is far too large for the available memory: it is halved, and no image is lost."""
    import torch

    from formalimg.models.base import Generated
    from formalimg.models.local.diffusers_model import open_diffusers

    if load.tiny:
        return {"tried": False}
    torch.cuda.set_per_process_memory_fraction(0.35)
    try:
        model = open_diffusers(str(folder), {"steps": "1", "batch": "96", "device": load.device, "dtype": load.dtype})
        made, seconds = timed(lambda: answers(model, load, 96))
        return {
            "asked": 96,
            "made": sum(isinstance(answer, Generated) for answer in made),
            "at once in the end": model._pipelines[0].max_batch,
            "seconds": seconds,
        }
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def answers(model: Any, load: Load, count: int) -> list[Any]:
    from formalimg.models.base import ImageRequest

    async def collected() -> list[Any]:
        requests = [ImageRequest(str(number), 0, prompt(number), number, load.size) for number in range(count)]
        return [answer async for answer in model.generate(requests)]

    return asyncio.run(collected())


def items(count: int) -> list[Any]:
    from formalimg.benchmarks.formal.spec import FormulaSpec
    from formalimg.logic.parser import parse
    from formalimg.types import Item

    spec = FormulaSpec.of(parse("(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"))
    return [Item("knolling", str(number), 1, prompt(number), spec, (), "1") for number in range(count)]


def prompt(number: int) -> str:
    return f"a red cup left of {number} pens"
