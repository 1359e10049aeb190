"""Chat models on this machine: vision-language models, and models of words alone, that transformers can load."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.models.asking import asking
from formalimg.models.calls import CallError, Usage
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.identity import Setting
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, hush, read_checkpoint
from formalimg.models.local.memory import free_memory, is_out_of_memory
from formalimg.models.manners import Manners, chat_manners
from formalimg.models.needs import needs, require_modules
from formalimg.models.options import Options
from formalimg.models.server_options import read_extras

_HOURS = 4 * 3600.0
_PATIENT = Manners(concurrency=1, timeout=_HOURS, tries=1, reads=0)
"""A model of one's own is never busy, and what it fails at once it fails at again."""


class _Loaded(NamedTuple):
    """A model and what prepares its input."""

    model: Any
    processor: Any
    sees: bool


class TransformersChat:
    """A chat model of the transformers library. It is loaded when it is first asked.

    Attributes:
        name, settings: as for every provider of chat models.
        holds_to_schema: it cannot be held to one; the form of the answer is asked for in words.
    """

    holds_to_schema = False

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        *,
        max_new_tokens: int = 4096,
        temperature: float = 0.0,
        processing: Mapping[str, object] | None = None,
        generating: Mapping[str, object] | None = None,
    ) -> None:
        """A model that is not loaded yet.

        Args:
            name: how users write it.
            checkpoint: which weights.
            max_new_tokens: after so many an answer is cut off.
            temperature: 0 for the likeliest answer, always the same.
            processing: what else the processor is made with, such as the most pixels of a picture.
            generating: what else `generate` is given.
        """
        self.name = name
        self.settings: Mapping[str, Setting] = {
            **checkpoint.settings,
            "max_new_tokens": max_new_tokens,
            "temperature": temperature,
            **{f"processor.{key}": str(value) for key, value in (processing or {}).items()},
            **{f"generate.{key}": str(value) for key, value in (generating or {}).items()},
        }
        self._checkpoint = checkpoint
        self._processing = dict(processing or {})
        self._generating = {"max_new_tokens": max_new_tokens, **_sampling(temperature), **(generating or {})}
        self._thread = ThreadPoolExecutor(1, "transformers")
        self._loaded: _Loaded | None = None

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Ask once; the schema is left aside."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(self._complete, messages))

    def _complete(self, messages: Sequence[Message]) -> Completion:
        if self._loaded is None:
            self._loaded = self._load()
        pictured = any(isinstance(part, Attachment) for message in messages for part in message.parts)
        if pictured and not self._loaded.sees:
            raise FormalimgError(f"{self.name} reads words only: give a model that can see")
        try:
            return self._answer(self._loaded, messages)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        free_memory()
        raise CallError("rejected", "out of memory: see the options dtype, max_new_tokens and processor.NAME")

    def _load(self) -> _Loaded:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor
        from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

        hush("transformers")
        source, loading = self._checkpoint.source, self._checkpoint.loading()
        with self._checkpoint.being_loaded(self.name):
            sees = (
                AutoConfig.from_pretrained(source, **loading).model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
            )
            processor = AutoProcessor.from_pretrained(source, **loading, **self._processing)
            kind = AutoModelForImageTextToText if sees else AutoModelForCausalLM
            model = kind.from_pretrained(source, **loading, dtype=self._checkpoint.torch_dtype())
        if getattr(processor, "chat_template", None) is None:
            raise FormalimgError(
                f"{self.name} has no chat template, so it cannot be asked: give a model made for chats"
            )
        return _Loaded(model.to(self._checkpoint.device).eval(), processor, sees)

    def _answer(self, loaded: _Loaded, messages: Sequence[Message]) -> Completion:
        import torch

        asked = loaded.processor.apply_chat_template(
            [_as_chat(message, loaded.sees) for message in messages],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        ).to(loaded.model.device)
        if loaded.sees and "pixel_values" in asked:
            asked["pixel_values"] = asked["pixel_values"].to(loaded.model.dtype)
        length = asked["input_ids"].shape[1]
        with torch.inference_mode():
            said = loaded.model.generate(**asked, **self._generating)[0][length:]
        ends = loaded.model.generation_config.eos_token_id
        ended = len(said) > 0 and said[-1].item() in (ends if isinstance(ends, list) else [ends])
        return Completion(
            loaded.processor.decode(said, skip_special_tokens=True).strip(),
            "stop" if ended else "length",
            Usage(length, len(said)),
            self._checkpoint.served("config.json", "transformers"),
        )


@needs(modules=("torch", "transformers"), install=INSTALL_LOCAL)
def open_transformers_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model in a folder or on the Hugging Face hub, run here: transformers/FOLDER or transformers/OWNER/NAME.

    Args:
        model: the folder of a saved model, or its id on the hub.
        options: `device`, `dtype`, `revision`, `offline`, `trust_remote_code`; `max_new_tokens`, `temperature`;
            `processor.NAME` (such as `processor.max_pixels`) and `generate.NAME` are passed on as they are; and those
            of all chat models, such as `cache`.

    Raises:
        FormalimgError: if an option is wrong, there is no such folder, or a library is missing.
    """
    require_modules("transformers", open_transformers_chat)
    name = f"transformers/{model}"
    given = Options(name, options)
    checkpoint = read_checkpoint(model, given)
    temperature = given.number("temperature", 0.0, least=0, most=5)
    manners = chat_manners(given, _PATIENT if temperature == 0 else Manners(1, timeout=_HOURS, tries=1))
    provider = TransformersChat(
        name,
        checkpoint,
        max_new_tokens=given.whole_number("max_new_tokens", 4096, least=1),
        temperature=temperature,
        processing=read_extras(name, given.starting_with("processor.")),
        generating=read_extras(name, given.starting_with("generate.")),
    )
    given.done()
    return asking(provider, manners=manners)


def _sampling(temperature: float) -> dict[str, object]:
    if temperature > 0:
        return {"do_sample": True, "temperature": temperature}
    # What checkpoints bring along for sampling would only be warned about.
    return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}


def _as_chat(message: Message, sees: bool) -> dict[str, object]:
    """A message as chat templates want it; templates of models that only read want plain text."""
    if not sees:
        return {"role": message.role, "content": "\n".join(str(part) for part in message.parts)}
    return {"role": message.role, "content": [_as_content(part) for part in message.parts]}


def _as_content(part: str | Attachment) -> dict[str, object]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    from PIL import Image

    return {"type": "image", "image": Image.open(io.BytesIO(part.data)).convert("RGB")}
