"""Planners: baselines that answer an instruction with a layout instead of an image (FormalImg, section 3.5).

A layout is judged by the same logic as an image, without a grounder: an item that fails here was not understood, and
one that passes here but fails as an image was lost between text and vision. Under the published protocol, a chat model
is asked only for a list of objects.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from formalimg._util.text import truncate
from formalimg.drawing.icon_scene import layout_error_png, layout_png, written_layout_png
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Answered, Failed, Generated, ImageRequest, ImageResult, Message, Refused, Unanswered
from formalimg.models.options import sampling_options
from formalimg.models.pricing import Price, price_of
from formalimg.models.registry import open_chat_model
from formalimg.models.structured_output import TextAnswer, json_or_literal
from formalimg.prompts import Prompt, load_prompts
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import ChatModel, ImageModel, Setting

SOLVER = "builtin/solver"
_PROMPTS = Path(__file__).parent / "prompts"
_MAX_ANSWER = 2000  # characters of an unreadable answer that are stored with it
_PUBLISHED_TEMPERATURE = 1.0
_THOUGHT = "</think>"
_FENCED_LIST = re.compile(r"```(?:json)?\s*(?=\[\s*\{)")
_END_OF_FENCED_LIST = re.compile(r"\}\s*\](?=\s*```)")
_LIST = re.compile(r"(?=\[\s*\{)")
_END_OF_LIST = re.compile(r"\}\s*\]")

# Answer types. Models are sent their names, fields and docstrings as a JSON schema.


class PlannedThing(BaseModel):
    """One object of the plan."""

    model_config = ConfigDict(extra="forbid")

    label: str
    color: str
    box_2d: Annotated[list[int], Field(min_length=4, max_length=4, description="left, top, right, bottom")]


class PlannedLayout(BaseModel):
    """The plan: thoughts first, so that they can be of use, then the objects."""

    model_config = ConfigDict(extra="forbid")

    thoughts: str
    objects: list[PlannedThing]


def open_planner(
    name: str, options: Mapping[str, str] | None = None, prompts: Path | None = None, *, published: bool = False
) -> ImageModel:
    """Open a planner by name: `builtin/solver` or any chat model."""
    if name == SOLVER:
        if options:
            raise FormalimgError(f"{SOLVER} has no options, but {', '.join(options)} was given")
        return SolverPlanner()
    if name.startswith("builtin/"):
        raise FormalimgError(f"{name} plans no layouts: use {SOLVER} or a chat model such as openai/gpt-4o")
    if published:
        sampling = sampling_options(name, temperature=_PUBLISHED_TEMPERATURE)
        return PublishedPlanner(open_chat_model(name, {**sampling, **(options or {})}), prompts)
    return ChatPlanner(open_chat_model(name, options), prompts)


class LayoutAnswer(TextAnswer):
    """The objects of a layout, as they were written.

    Attributes:
        objects: plain data; None if the answer could not be read, which is final.
    """

    objects: list[Any] | None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the list from a fenced block, from the outermost braces, or from the outermost brackets."""
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


@dataclass(frozen=True)
class LayoutPlanner:
    """Base class of chat models that plan layouts; subclasses send the request and parse the answer."""

    prompt_name: ClassVar[str]
    protocol: ClassVar[Mapping[str, str]] = {}  # settings that name the protocol

    chat: ChatModel  # the chat model
    prompts: Path | None = None  # a folder with prompts that replace ours
    batch: int = 1  # as for every image model
    sees_spec: bool = False

    @property
    def name(self) -> str:
        """Name of the chat model."""
        return self.chat.name

    @property
    def price(self) -> Price:
        """Price of the chat model."""
        return price_of(self.chat)

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent requests of the chat model."""
        return self.chat.concurrency

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Settings of the chat model, the protocol, and the prompt."""
        return {**self.chat.settings, **self.protocol, "prompt": str(self.prompt)}

    @cached_property
    def prompt(self) -> Prompt:
        """Prompt that asks for a layout."""
        return load_prompts(_PROMPTS, self.prompts)[self.prompt_name]

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one layout per request."""
        for request in requests:
            yield await self.plan(request)

    async def plan(self, request: ImageRequest) -> ImageResult:
        """Return the layout for a request."""
        raise NotImplementedError


class ChatPlanner(LayoutPlanner):
    """A chat model that plans layouts with the package's own prompt."""

    prompt_name = "plan"

    def sent(self, request: ImageRequest) -> str:
        """Return the text sent to the chat model for a request."""
        words = vocabulary("knolling").words
        return self.prompt.fill(
            {"classes": ", ".join(words["class"]), "colors": ", ".join(words["color"]), "prompt": request.prompt}
        )

    async def plan(self, request: ImageRequest) -> ImageResult:
        """Return the layout for a request."""
        reply = await self.chat.ask([Message("user", (self.sent(request),))], PlannedLayout)
        if not isinstance(reply, Answered):
            if reply.kind == "unreadable":
                return _build_failed_layout(reply.reason, {"answer": truncate(reply.raw, _MAX_ANSWER, 0)}, reply.cost)
            return _build_failure(reply)
        served = {**reply.served, "thoughts": reply.value.thoughts}
        try:
            scene = Scene.from_json({"objects": [obj.model_dump() for obj in reply.value.objects]})
        except SceneError as error:
            return _build_failed_layout(f"the layout makes no sense: {error}", served, reply.cost)
        return Generated(await asyncio.to_thread(layout_png, scene), served, reply.cost)


def _build_failed_layout(problem: str, served: Mapping[str, Setting], cost: float | None) -> Generated:
    """Return an unparseable layout as an image that is judged as a failure of the planner."""
    return Generated(layout_error_png(" ".join(problem.split())), served, cost)


def _build_failure(reply: Unanswered) -> ImageResult:
    if reply.kind == "refused":
        return Refused(reply.reason, cost=reply.cost)
    return Failed(f"{reply.kind}: {reply.reason}", cost=reply.cost)


class PublishedPlanner(LayoutPlanner):
    """A chat model that plans layouts under the published protocol.

    An unreadable answer counts as a layout without objects: a failure of the model, not missing data.
    """

    prompt_name = "published-plan"
    protocol: ClassVar[Mapping[str, str]] = {"protocol": "published"}

    def sent(self, request: ImageRequest) -> str:
        """Return the text sent to the chat model for a request.

        The words of the item are appended to a prompt without a placeholder for them, such as the official one.
        """
        words = vocabulary("knolling").words
        text = self.prompt.fill(
            {"classes": str(list(words["class"])), "colors": str(list(words["color"])), "prompt": request.prompt}
        )
        if "prompt" in self.prompt.placeholders:
            return text
        # The blanks at the end of a file are not part of its text, and words must not run into one another.
        return f"{text}\n{request.prompt}"

    async def plan(self, request: ImageRequest) -> ImageResult:
        """Return the layout for a request."""
        reply = await self.chat.ask([Message("user", (self.sent(request),))], LayoutAnswer)
        if not isinstance(reply, Answered):
            return _build_failure(reply)
        data = await asyncio.to_thread(written_layout_png, reply.value.objects)
        return Generated(data, {**reply.served, "answer": reply.raw}, reply.cost)


@dataclass(frozen=True)
class SolverPlanner:
    """`builtin/solver`: the planner that solves the formula itself, as an upper bound."""

    name: str = SOLVER
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"version": 1})
    batch: int = 1
    concurrency: int = field(default_factory=lambda: os.cpu_count() or 1)
    sees_spec: bool = True

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one layout per request: the witness for the first sample, else a new solution."""
        for request in requests:
            yield await asyncio.to_thread(self._solve, request)

    def _solve(self, request: ImageRequest) -> ImageResult:
        from formalimg.models.builtin.oracle import compose_solution  # needs the solver

        solution = compose_solution(request)
        return Generated(layout_png(solution)) if isinstance(solution, Scene) else solution
