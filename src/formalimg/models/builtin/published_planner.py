"""The published layout task: a chat model answers with a bare list of objects, and is asked for nothing else."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from formalimg.drawing.icon_scene import written_layout_png
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.models.builtin.planner import LayoutPlanner
from formalimg.models.chat import Answered, Message
from formalimg.models.text_answer import TextAnswer, json_or_literal
from formalimg.prompts import Prompt, load_prompts
from formalimg.types import Setting

TEMPERATURE = 1.0

_PROMPTS = Path(__file__).parent / "prompts"
_THOUGHT = "</think>"

_FENCED_LIST = re.compile(r"```(?:json)?\s*(?=\[\s*\{)")
_END_OF_FENCED_LIST = re.compile(r"\}\s*\](?=\s*```)")
_LIST = re.compile(r"(?=\[\s*\{)")
_END_OF_LIST = re.compile(r"\}\s*\]")


class LayoutAnswer(TextAnswer):
    """The objects of a layout, as they were written.

    Attributes:
        objects: plain data; None if the answer could not be read, which is final.
    """

    objects: list[Any] | None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the list in a text: in a fence, from the first to the last brace, or from bracket to bracket."""
        try:
            value = json_or_literal(_list_in(text.rpartition(_THOUGHT)[2]))
            # Literals may hold what no JSON file can; what it can hold comes out as it would be read from one.
            plain = json.loads(json.dumps(value))
        except (ValueError, TypeError, RecursionError):
            return cls(objects=None)
        return cls(objects=plain if isinstance(plain, list) else None)


def _list_in(text: str) -> str:
    for opening, closing in ((_FENCED_LIST, _END_OF_FENCED_LIST), (_LIST, _END_OF_LIST)):
        start, ends = opening.search(text), list(closing.finditer(text))
        if start and ends and ends[-1].start() > text.index("{", start.end()):
            return text[start.end() : ends[-1].end()]
    first, last = text.find("["), text.rfind("]")
    if first == -1 or last <= first:
        raise ValueError("there is no list in it")
    return text[first : last + 1]


class PublishedPlanner(LayoutPlanner):
    """A chat model that plans layouts under the published protocol.

    An answer that cannot be read is a layout without objects: the failure of the model, and not missing data.
    """

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, the protocol, and the prompt."""
        return {**self.chat.settings, "protocol": "published", "prompt": str(self._prompt)}

    def sent(self, request: ImageRequest) -> str:
        """Return the text that the chat model is sent for a request.

        A prompt without a place for the words of the item, as the official one, has them at its end.
        """
        words = vocabulary("knolling").words
        text = self._prompt.fill(
            {"classes": str(list(words["class"])), "colors": str(list(words["color"])), "prompt": request.prompt}
        )
        if "prompt" in self._prompt.placeholders:
            return text
        # The blanks at the end of a file are not part of its text, and words must not run into one another.
        return f"{text}\n{request.prompt}"

    async def plan(self, request: ImageRequest) -> ImageResult:
        """Return the layout for a request."""
        reply = await self.chat.ask([Message("user", (self.sent(request),))], LayoutAnswer)
        if not isinstance(reply, Answered):
            if reply.kind == "refused":
                return Refused(reply.reason, cost=reply.cost)
            return Failed(f"{reply.kind}: {reply.reason}", cost=reply.cost)
        data = await asyncio.to_thread(written_layout_png, reply.value.objects)
        return Generated(data, {**reply.served, "answer": reply.raw}, reply.cost)

    @cached_property
    def _prompt(self) -> Prompt:
        return load_prompts(_PROMPTS, self.prompts)["published-plan"]
