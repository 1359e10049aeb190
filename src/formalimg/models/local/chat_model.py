"""Chat models on this machine: vision-language models, and models of words alone, that transformers can load."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from formalimg.models.asking import asking
from formalimg.models.chat import ChatModel, Completion, Message
from formalimg.models.identity import Setting
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, read_checkpoint
from formalimg.models.local.desk import Desk
from formalimg.models.local.devices import read_devices
from formalimg.models.local.speaker import Question, Said, Speaker
from formalimg.models.needs import needs, require_modules
from formalimg.models.options import Options
from formalimg.models.retry import RetryPolicy, chat_retry_policy
from formalimg.models.server_options import read_extras

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
