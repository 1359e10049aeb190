"""Transformers chat models: vision-language and text-only models loaded by transformers."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment, CallError, Completion, Message, Usage
from formalimg.models.local.checkpoint import (
    INSTALL_LOCAL,
    Checkpoint,
    read_checkpoint,
    read_devices,
    silence_libraries,
)
from formalimg.models.local.device_pool import (
    AdaptiveBatcher,
    DevicePool,
    free_memory,
    inference_allowed,
    is_out_of_memory,
)
from formalimg.models.options import Options, read_extra_fields
from formalimg.models.provider_models import build_chat_model
from formalimg.models.registry import require_modules, requires
from formalimg.models.retry import RetryPolicy, chat_retry_policy
from formalimg.types import ChatModel, Setting

ChatOutcome: TypeAlias = Completion | Exception  # an answer, or why there is none

# A local model is never busy, and what it fails at once it fails at again.
_GREEDY_POLICY = RetryPolicy(timeout=4 * 3600.0, max_attempts=1, parse_retries=0)
_SAMPLING_POLICY = replace(_GREEDY_POLICY, parse_retries=2)  # where answers are sampled, the next one may be parseable


class ChatPrompt(NamedTuple):
    """A conversation to complete."""

    turns: Sequence[Mapping[str, Any]]  # its messages in the form of chat templates, with decoded images
    images: int  # number of images in it

    @classmethod
    def from_messages(cls, messages: Sequence[Message]) -> ChatPrompt:
        """Convert messages to a conversation."""
        turns = [
            {"role": message.role, "content": [_encode_content(part) for part in message.parts]} for message in messages
        ]
        return cls(turns, sum(isinstance(part, Attachment) for message in messages for part in message.parts))

    def text_turns(self) -> list[dict[str, Any]]:
        """Return the turns as plain text for text-only models."""
        return [{**turn, "content": "\n".join(part["text"] for part in turn["content"])} for turn in self.turns]


class LoadedChatModel:
    """A loaded chat model. Not thread-safe."""

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        processor_options: Mapping[str, object],
        generate_options: Mapping[str, object],
    ) -> None:
        """Load the model, which may take a while."""
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor
        from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

        silence_libraries("transformers")
        source, arguments = checkpoint.source, checkpoint.loading()
        with checkpoint.being_loaded(name):
            model_type = AutoConfig.from_pretrained(source, **arguments).model_type
            self._has_vision = model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
            self._processor: Any = AutoProcessor.from_pretrained(source, **arguments, **processor_options)
            family = AutoModelForImageTextToText if self._has_vision else AutoModelForCausalLM
            model = family.from_pretrained(source, **arguments, dtype=checkpoint.torch_dtype())
        if getattr(self._processor, "chat_template", None) is None:
            raise FormalimgError(f"{name} has no chat template, so it cannot be asked: give a model made for chats")
        self._name = name
        self._model: Any = model.to(checkpoint.device).eval()
        self._generate_options = generate_options
        end: Any = generate_options.get("eos_token_id", self._model.generation_config.eos_token_id)
        self._eos_tokens = frozenset(end if isinstance(end, list | tuple) else [end])
        self._served = checkpoint.served("config.json", "transformers")
        self._batcher = AdaptiveBatcher()

    def complete(self, prompts: Sequence[ChatPrompt]) -> list[ChatOutcome]:
        """Return one outcome per prompt; all prompts must have the same number of images."""
        if prompts[0].images and not self._has_vision:
            raise FormalimgError(f"{self._name} reads text only: name a model that accepts images")
        return self._batcher.run(self._complete_batch, prompts, _out_of_memory())

    def _complete_batch(self, prompts: Sequence[ChatPrompt]) -> list[ChatOutcome]:
        if len(prompts) > 1:
            try:
                return [*self._generate(prompts)]
            except Exception as error:
                if is_out_of_memory(error):
                    raise
        # Also where something goes wrong with one of them: the others are not to blame.
        return [self._complete_one(prompt) for prompt in prompts]

    def _complete_one(self, prompt: ChatPrompt) -> ChatOutcome:
        try:
            return self._generate([prompt])[0]
        except Exception as error:
            if not is_out_of_memory(error):
                return error
        free_memory()
        return _out_of_memory()

    def _generate(self, prompts: Sequence[ChatPrompt]) -> list[Completion]:
        import torch

        with inference_allowed(), torch.inference_mode():
            inputs = self._tokenize(prompts).to(self._model.device)
            if self._has_vision and "pixel_values" in inputs:
                inputs["pixel_values"] = inputs["pixel_values"].to(self._model.dtype)
            length = inputs["input_ids"].shape[1]
            lengths = inputs["attention_mask"].sum(dim=1).tolist() if len(prompts) > 1 else [length]
            outputs = self._model.generate(**inputs, **self._generate_options)[:, length:].tolist()
        return [self._completion(count, tokens) for count, tokens in zip(lengths, outputs, strict=True)]

    def _tokenize(self, prompts: Sequence[ChatPrompt]) -> Any:
        chats = [prompt.turns if self._has_vision else prompt.text_turns() for prompt in prompts]
        template = self._processor.apply_chat_template
        form = {"add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt"}
        if len(chats) == 1:
            return template(chats[0], **form)
        tokenizer = getattr(self._processor, "tokenizer", self._processor)
        tokenizer.padding_side = "left"  # answers begin where prompts end, which must be the same position for all
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        padding: dict[str, Any] = {"padding": True}
        if "padding" not in inspect.signature(template).parameters:
            padding = {"processor_kwargs": padding}
        return template(chats, **form, **padding)

    def _completion(self, prompt_tokens: int, tokens: list[int]) -> Completion:
        end = next((index for index, token in enumerate(tokens, 1) if token in self._eos_tokens), None)
        answer = tokens[:end]  # beyond its end, a short answer is padded to the length of the longest
        return Completion(
            self._processor.decode(answer, skip_special_tokens=True).strip(),
            "length" if end is None else "stop",
            Usage(prompt_tokens, len(answer)),
            self._served,
        )


class TransformersChat:
    """A chat model of the transformers library, loaded once per device at the first request."""

    supports_schema = False

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        *,
        max_new_tokens: int = 4096,
        temperature: float = 0.0,
        processor_options: Mapping[str, object] | None = None,
        generate_options: Mapping[str, object] | None = None,
        batch: int = 1,
        devices: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.settings: Mapping[str, Setting] = {
            **checkpoint.settings,
            "max_new_tokens": max_new_tokens,
            "temperature": temperature,
            **{f"processor.{key}": str(value) for key, value in (processor_options or {}).items()},
            **{f"generate.{key}": str(value) for key, value in (generate_options or {}).items()},
        }
        # What checkpoints bring along for sampling would only cause warnings.
        greedy = {"temperature": None, "top_p": None, "top_k": None}
        options = {
            "max_new_tokens": max_new_tokens,
            **({"temperature": temperature} if temperature else greedy),
            "do_sample": temperature > 0,
            **(generate_options or {}),
        }

        def load(device: str) -> Callable[[Sequence[ChatPrompt]], list[ChatOutcome]]:
            return LoadedChatModel(name, replace(checkpoint, device=device), processor_options or {}, options).complete

        self._pool = DevicePool[ChatPrompt, ChatOutcome](
            "transformers",
            tuple(devices) or (checkpoint.device,),
            load,
            max_batch=batch,
            batch_key=lambda prompt: prompt.images,
        )

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Generate one completion; the schema is ignored."""
        prompt = await asyncio.to_thread(ChatPrompt.from_messages, messages)
        outcome = await self._pool.run(prompt)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@requires(modules=("torch", "transformers"), install=INSTALL_LOCAL)
def open_transformers_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model in a folder or on the Hugging Face hub, run here: transformers/FOLDER or transformers/OWNER/NAME."""
    require_modules("transformers", open_transformers_chat)
    name = f"transformers/{model}"
    parsed = Options(name, options)
    devices = read_devices(parsed)
    checkpoint = read_checkpoint(model, parsed, devices=devices)
    batch = parsed.integer("batch", 1, minimum=1, maximum=1024)
    temperature = parsed.number("temperature", 0.0, minimum=0, maximum=5)
    # One batch waits while another is answered, so that no device is ever idle.
    default = replace(_GREEDY_POLICY if temperature == 0 else _SAMPLING_POLICY, concurrency=2 * batch * len(devices))
    retry_policy = chat_retry_policy(parsed, default)
    provider = TransformersChat(
        name,
        checkpoint,
        max_new_tokens=parsed.integer("max_new_tokens", 4096, minimum=1),
        temperature=temperature,
        processor_options=read_extra_fields(parsed, "processor.")[0],
        generate_options=read_extra_fields(parsed, "generate.")[0],
        batch=batch,
        devices=devices,
    )
    parsed.reject_unknown()
    return build_chat_model(provider, retry_policy=retry_policy)


def _out_of_memory() -> ChatOutcome:
    return CallError("rejected", "out of memory: see the options dtype, max_new_tokens and processor.NAME")


def _encode_content(part: str | Attachment) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    from PIL import Image

    return {"type": "image", "image": Image.open(io.BytesIO(part.data)).convert("RGB")}
