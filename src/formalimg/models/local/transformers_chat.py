"""A loaded chat model at work: from questions to answers, several at once."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Setting, Usage
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.chat_provider import asking
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, hush, read_checkpoint
from formalimg.models.local.device_pool import Desk, computing, read_devices
from formalimg.models.local.memory import Batching, free_memory, is_out_of_memory
from formalimg.models.options import Options, read_extras
from formalimg.models.registry import needs, require_modules
from formalimg.models.retry import RetryPolicy, chat_retry_policy

Said: TypeAlias = Completion | Exception
"""An answer, or why there is none."""


class Question(NamedTuple):
    """A conversation to which an answer is wanted.

    Attributes:
        turns: its messages in the form that chat templates know, with their images decoded.
        images: how many images are in it.
    """

    turns: Sequence[Mapping[str, Any]]
    images: int

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Question:
        """The question that these messages are."""
        turns = [{"role": message.role, "content": [_content(part) for part in message.parts]} for message in messages]
        return cls(turns, sum(isinstance(part, Attachment) for message in messages for part in message.parts))

    def in_words(self) -> list[dict[str, Any]]:
        """The turns as models want them that only read: as plain text."""
        return [{**turn, "content": "\n".join(part["text"] for part in turn["content"])} for turn in self.turns]


class Speaker:
    """A chat model that has been loaded. To be used by one thread at a time."""

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        processing: Mapping[str, object],
        generating: Mapping[str, object],
    ) -> None:
        """Loads the model, which takes its time.

        Args:
            name: of the model, for messages.
            checkpoint: which weights, and on which device.
            processing: what else the processor is made with.
            generating: what `generate` is given.

        Raises:
            FormalimgError: if it cannot be loaded, or is not made for chats.
        """
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor
        from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

        hush("transformers")
        source, loading = checkpoint.source, checkpoint.loading()
        with checkpoint.being_loaded(name):
            kind = AutoConfig.from_pretrained(source, **loading).model_type
            self._sees = kind in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
            self._processor: Any = AutoProcessor.from_pretrained(source, **loading, **processing)
            family = AutoModelForImageTextToText if self._sees else AutoModelForCausalLM
            model = family.from_pretrained(source, **loading, dtype=checkpoint.torch_dtype())
        if getattr(self._processor, "chat_template", None) is None:
            raise FormalimgError(f"{name} has no chat template, so it cannot be asked: give a model made for chats")
        self._name = name
        self._model: Any = model.to(checkpoint.device).eval()
        self._generating = generating
        self._ends = _ends(generating.get("eos_token_id", self._model.generation_config.eos_token_id))
        self._served = checkpoint.served("config.json", "transformers")
        self._batching = Batching()

    def answer(self, questions: Sequence[Question]) -> list[Said]:
        """What it says to each question; all must have the same number of images.

        Raises:
            FormalimgError: if it cannot see and there are images.
        """
        if questions[0].images and not self._sees:
            raise FormalimgError(f"{self._name} reads words only: give a model that can see")
        return self._batching.do(self._together, questions, _no_room())

    def _together(self, questions: Sequence[Question]) -> list[Said]:
        if len(questions) > 1:
            try:
                return [*self._said(questions)]
            except Exception as error:
                if is_out_of_memory(error):
                    raise
        # Also where something goes wrong with one of them: the others are not to blame.
        return [self._alone(question) for question in questions]

    def _alone(self, question: Question) -> Said:
        try:
            return self._said([question])[0]
        except Exception as error:
            if not is_out_of_memory(error):
                return error
        free_memory()
        return _no_room()

    def _said(self, questions: Sequence[Question]) -> list[Completion]:
        import torch

        with computing(), torch.inference_mode():
            asked = self._asked(questions).to(self._model.device)
            if self._sees and "pixel_values" in asked:
                asked["pixel_values"] = asked["pixel_values"].to(self._model.dtype)
            length = asked["input_ids"].shape[1]
            lengths = asked["attention_mask"].sum(dim=1).tolist() if len(questions) > 1 else [length]
            said = self._model.generate(**asked, **self._generating)[:, length:].tolist()
        return [self._completion(asked_for, tokens) for asked_for, tokens in zip(lengths, said, strict=True)]

    def _asked(self, questions: Sequence[Question]) -> Any:
        chats = [question.turns if self._sees else question.in_words() for question in questions]
        template = self._processor.apply_chat_template
        form = {"add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt"}
        if len(chats) == 1:
            return template(chats[0], **form)
        tokenizer = getattr(self._processor, "tokenizer", self._processor)
        tokenizer.padding_side = "left"  # answers begin where questions end, which must be the same place for all
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        padding: dict[str, Any] = {"padding": True}
        if "padding" not in inspect.signature(template).parameters:
            padding = {"processor_kwargs": padding}
        return template(chats, **form, **padding)

    def _completion(self, asked: int, tokens: list[int]) -> Completion:
        end = next((place for place, token in enumerate(tokens, 1) if token in self._ends), None)
        said = tokens[:end]  # beyond its end, a short answer is filled up to the length of the longest
        return Completion(
            self._processor.decode(said, skip_special_tokens=True).strip(),
            "length" if end is None else "stop",
            Usage(asked, len(said)),
            self._served,
        )


def _no_room() -> Said:
    return CallError("rejected", "out of memory: see the options dtype, max_new_tokens and processor.NAME")


def _ends(token: object) -> frozenset[object]:
    return frozenset(token) if isinstance(token, list | tuple) else frozenset([token])


def _content(part: str | Attachment) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    from PIL import Image

    return {"type": "image", "image": Image.open(io.BytesIO(part.data)).convert("RGB")}


_HOURS = 4 * 3600.0
_PATIENT = RetryPolicy(timeout=_HOURS, tries=1, reads=0)
"""A model of one's own is never busy, and what it fails at once it fails at again."""
_DRAWING = RetryPolicy(timeout=_HOURS, tries=1)
"""But where answers are drawn, the next may be readable."""


class TransformersChat:
    """A chat model of the transformers library. It is loaded when it is first asked, on each device once.

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
        batch: int = 1,
        devices: Sequence[str] = (),
    ) -> None:
        """A model that is not loaded yet.

        Args:
            name: how users write it.
            checkpoint: which weights.
            max_new_tokens: after so many an answer is cut off.
            temperature: 0 for the likeliest answer, always the same.
            processing: what else the processor is made with, such as the most pixels of an image.
            generating: what else `generate` is given.
            batch: how many questions are answered at once, if so many wait.
            devices: where questions are answered at the same time; that of the checkpoint if there are none.
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
        self._desk = Desk[Question, Said](
            "transformers",
            tuple(devices) or (checkpoint.device,),
            self._speaker_on,
            most=batch,
            alike=lambda question: question.images,
        )

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Ask once; the schema is left aside."""
        question = await asyncio.to_thread(Question.of, messages)
        said = await self._desk.do(question)
        if isinstance(said, Exception):
            raise said
        return said

    def _speaker_on(self, device: str) -> Callable[[Sequence[Question]], list[Said]]:
        checkpoint = replace(self._checkpoint, device=device)
        return Speaker(self.name, checkpoint, self._processing, self._generating).answer


@needs(modules=("torch", "transformers"), install=INSTALL_LOCAL)
def open_transformers_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model in a folder or on the Hugging Face hub, run here: transformers/FOLDER or transformers/OWNER/NAME.

    Args:
        model: the folder of a saved model, or its id on the hub.
        options: `device`, `devices`, `dtype`, `revision`, `offline`, `trust_remote_code`; `batch` (questions that are
            answered at once); `max_new_tokens`, `temperature`; `processor.NAME` (such as `processor.max_pixels`) and
            `generate.NAME` are passed on as they are; and those of all chat models, such as `cache`.

    Raises:
        FormalimgError: if an option is wrong, there is no such folder, or a library is missing.
    """
    require_modules("transformers", open_transformers_chat)
    name = f"transformers/{model}"
    given = Options(name, options)
    devices = read_devices(given)
    checkpoint = read_checkpoint(model, given, devices=devices)
    batch = given.whole_number("batch", 1, least=1, most=1024)
    temperature = given.number("temperature", 0.0, least=0, most=5)
    # One batch waits while another is answered, so that no device is ever idle.
    usual = replace(_PATIENT if temperature == 0 else _DRAWING, concurrency=2 * batch * len(devices))
    retry_policy = chat_retry_policy(given, usual)
    provider = TransformersChat(
        name,
        checkpoint,
        max_new_tokens=given.whole_number("max_new_tokens", 4096, least=1),
        temperature=temperature,
        processing=read_extras(name, given.starting_with("processor.")),
        generating=read_extras(name, given.starting_with("generate.")),
        batch=batch,
        devices=devices,
    )
    given.done()
    return asking(provider, retry_policy=retry_policy)


def _sampling(temperature: float) -> dict[str, object]:
    if temperature > 0:
        return {"do_sample": True, "temperature": temperature}
    # What checkpoints bring along for sampling would only be warned about.
    return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
