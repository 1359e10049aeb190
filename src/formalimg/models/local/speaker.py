"""A loaded chat model at work: from questions to answers, several at once."""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.calls import CallError, Usage
from formalimg.models.chat import Attachment, Completion, Message
from formalimg.models.local.alone import computing
from formalimg.models.local.checkpoint import Checkpoint, hush
from formalimg.models.local.memory import Batching, free_memory, is_out_of_memory

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
