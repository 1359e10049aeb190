"""Asking a chat model about captions: many at a time, in their order, and each text only once."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from formalimg._util.aio import run_sync
from formalimg.analysis.captions.answers import CategoriesFound
from formalimg.analysis.captions.category import number_of
from formalimg.analysis.captions.kept_answers import KeptAnswers
from formalimg.analysis.captions.reading import Caption
from formalimg.analysis.captions.results import CaptionResult
from formalimg.models import ChatModel, Message, Unanswered
from formalimg.prompts import Prompt, load_prompts

_WAITING = 4
"""How many captions are under way for each call that may run: one slow answer must not hold up the others."""


def question_text(own: Path | None = None) -> Prompt:
    """The text that asks for the categories of a caption: ours, or `find-categories.txt` of the user's folder."""
    return load_prompts(Path(__file__).parent / "prompts", own)["find-categories"]


def asking_for(caption: str, question: Prompt) -> str:
    """What is sent to ask about a caption; quoted, so that nobody takes its words for ours."""
    return question.fill({"caption": json.dumps(caption, ensure_ascii=False)})


def asked_of(model: ChatModel, question: Prompt) -> dict[str, object]:
    """All that shapes the answers."""
    return {"model": model.name, "settings": dict(model.settings), "prompt": question.version}


@dataclass
class Asking:
    """A chat model at work.

    Attributes:
        model: who is asked.
        question: the text that asks.
        kept: answers that are there already, and where new ones go.
        cost: of all new answers, in US dollars; None as soon as one has no known price.
        asked: how many captions the model was asked about.
    """

    model: ChatModel
    question: Prompt
    kept: KeptAnswers
    cost: float | None = 0.0
    asked: int = 0
    _under_way: dict[str, asyncio.Task[int | Unanswered]] = field(default_factory=dict)

    def hand_on(self, captions: Iterable[Caption], receive: Callable[[CaptionResult], None]) -> None:
        """Ask about all captions, and hand on what is found in each, in their order."""

        async def all_of_them() -> None:
            async for result in self.results(captions):
                receive(result)

        run_sync(all_of_them)

    async def results(self, captions: Iterable[Caption]) -> AsyncIterator[CaptionResult]:
        """What the model finds in each caption, in their order."""
        door = asyncio.Semaphore(self.model.concurrency)
        waiting: deque[tuple[Caption, asyncio.Task[int | Unanswered]]] = deque()
        try:
            for caption in captions:
                waiting.append((caption, self._task(caption.text, door)))
                if len(waiting) >= _WAITING * self.model.concurrency:
                    yield await _result(*waiting.popleft())
            while waiting:
                yield await _result(*waiting.popleft())
        finally:
            for _, task in waiting:
                task.cancel()
            await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)

    def _task(self, text: str, door: asyncio.Semaphore) -> asyncio.Task[int | Unanswered]:
        if text not in self._under_way:
            task = asyncio.create_task(self._found(text, door))
            self._under_way[text] = task
            task.add_done_callback(lambda done: self._under_way.pop(text))
        return self._under_way[text]

    async def _found(self, text: str, door: asyncio.Semaphore) -> int | Unanswered:
        known = self.kept.get(text)
        if known is not None:
            return known
        async with door:
            words = asking_for(text, self.question)
            reply = await self.model.ask([Message("user", (words,))], CategoriesFound)
        self.asked += 1
        self.cost = None if self.cost is None or reply.cost is None else self.cost + reply.cost
        if isinstance(reply, Unanswered):
            return reply
        found = number_of(reply.value.categories)
        self.kept.keep(text, found, reply.raw)
        return found


async def _result(caption: Caption, task: asyncio.Task[int | Unanswered]) -> CaptionResult:
    found = await task
    if isinstance(found, Unanswered):
        return CaptionResult(caption, None, unanswered=found.kind, reason=found.reason)
    return CaptionResult(caption, found)
