"""Questions per second: a bare loop of transformers, and our chat model with the same weights."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpu_load import Load, Watch, free, timed
from gpu_models import save_chat_model


def measure_chat(load: Load, place: Path) -> dict[str, Any]:
    folder = place / "chat"
    found: dict[str, Any] = {}
    found["billion parameters"], found["seconds to build"] = timed(
        lambda: save_chat_model(folder, load.device, tiny=load.tiny)
    )
    free()
    files = [image(number) for number in range(load.questions)]
    found["bare"] = bare_answers(load, folder, files)
    free()
    found["ours"] = our_answers(load, folder, files, load.asked_at_once)
    free()
    found["ours / bare"] = found["ours"]["questions/s"] / found["bare"]["questions/s"]
    few = files[: max(2, load.questions // load.asked_at_once)]
    found["ours, one by one"] = our_answers(load, folder, few, 1)
    free()
    return found


def bare_answers(load: Load, folder: Path, files: Sequence[bytes]) -> dict[str, Any]:
    import torch
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from formalimg.models.structured_output import answer_schema, with_format

    model: Any = AutoModelForImageTextToText.from_pretrained(folder, dtype=getattr(torch, load.dtype)).to(load.device)
    processor: Any = AutoProcessor.from_pretrained(folder)
    processor.tokenizer.padding_side = "left"
    words = with_format([message(files[0])], answer_schema(answer_type()))[0].parts[1:]
    texts = [{"type": "text", "text": text} for text in words]

    def answer(some: Sequence[bytes]) -> None:
        chats = [
            [{"role": "user", "content": [{"type": "image", "image": Image.open(io.BytesIO(file))}, *texts]}]
            for file in some
        ]
        asked = processor.apply_chat_template(
            chats,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
        ).to(load.device, model.dtype)
        with torch.inference_mode():
            said = model.generate(**asked, max_new_tokens=load.tokens, min_new_tokens=load.tokens, do_sample=False)
        processor.batch_decode(said, skip_special_tokens=True)

    at_once = load.asked_at_once
    answer(files[:at_once])
    with Watch() as watch:
        for first in range(0, len(files), at_once):
            answer(files[first : first + at_once])
    return {"questions/s": len(files) / watch.seconds, **watch.told()}


def our_answers(load: Load, folder: Path, files: Sequence[bytes], batch: int) -> dict[str, Any]:
    from formalimg.models.local.transformers_chat import open_transformers_chat

    tokens = str(load.tokens)
    chat = open_transformers_chat(
        str(folder),
        {
            "batch": str(batch),
            "device": load.device,
            "max_new_tokens": tokens,
            "generate.min_new_tokens": tokens,
            "cache": "off",
            "dtype": load.dtype,
        },
    )

    async def ask_all(some: Sequence[bytes]) -> None:
        places = asyncio.Semaphore(chat.concurrency)

        async def ask(file: bytes) -> None:
            async with places:
                reply = await chat.ask([message(file)], answer_type())
            assert reply.usage.output_tokens == load.tokens, reply

        await asyncio.gather(*map(ask, some))

    asyncio.run(ask_all(files[:batch]))
    with Watch() as watch:
        asyncio.run(ask_all(files))
    return {"questions/s": len(files) / watch.seconds, **watch.told()}


def message(file: bytes) -> Any:
    from formalimg.models.base import Attachment, Message

    return Message("user", (Attachment(file, "image/png"), "Is there a red cup left of all pens? " * 8))


@cache
def answer_type() -> Any:
    from pydantic import create_model

    return create_model("Answer", yes=(bool, ...))


def image(number: int) -> bytes:
    import numpy as np
    from PIL import Image

    coarse = np.random.default_rng(number).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(coarse).resize((1024, 1024), Image.Resampling.BICUBIC).save(file, "PNG", compress_level=1)
    return file.getvalue()
