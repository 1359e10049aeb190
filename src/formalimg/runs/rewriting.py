"""Rewriting of prompts by a chat model before they are sent to the image model.

The chat model makes deductions that the image model may be unable to make. The judge still checks the original item.
Rewritten prompts are saved in the run folder as soon as they are paid for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from formalimg._util.strict_json import is_text
from formalimg.models.base import Answered, Failed, Generated, ImageRequest, ImageResult, Message
from formalimg.models.pricing import price_of
from formalimg.prompts import Prompt
from formalimg.runs.folder import REWRITES, append_to_journal, read_journal
from formalimg.runs.progress import Progress, share_progress
from formalimg.types import ChatModel, ImageModel, Setting

_MAX_LENGTH = 10_000  # The most characters of a prompt; what is asked for has about a thousand


class RewrittenPrompt(BaseModel):
    """The prompt, written anew: thoughts first, so that they can be of use."""

    model_config = ConfigDict(extra="forbid")

    thoughts: str
    prompt: str


class Rewrite(NamedTuple):
    """The result of rewriting a prompt."""

    text: str | None  # the words, written anew; None if they were not
    # of this call in US dollars; 0 for a text that was there already, None if the price is unknown
    cost: float | None = 0.0
    reason: str = ""  # why there is no text, on one line


@dataclass(frozen=True)
class Rewriter:
    """A chat model that rewrites prompts."""

    chat: ChatModel  # the chat model
    prompt: Prompt  # the text that it is sent, with `{prompt}` for the words of the item

    @property
    def settings(self) -> dict[str, Setting]:
        """The settings that affect the rewritten prompts."""
        chat_settings = {f"rewriter.{name}": value for name, value in self.chat.settings.items()}
        return {"rewriter": self.chat.name, **chat_settings, "rewriter.prompt": str(self.prompt)}

    def sent(self, prompt: str) -> str:
        """Return the text sent to the chat model for a prompt."""
        return self.prompt.fill({"prompt": prompt})

    def key(self, prompt: str) -> str:
        """Return the key under which the rewritten prompt is stored."""
        return hashlib.sha256(json.dumps([self.settings, prompt], sort_keys=True).encode()).hexdigest()

    async def rewrite(self, prompt: str) -> Rewrite:
        """Rewrite a prompt with the chat model."""
        reply = await self.chat.ask([Message("user", (self.sent(prompt),))], RewrittenPrompt)
        if not isinstance(reply, Answered):
            return Rewrite(None, reply.cost, f"the prompt was not rewritten, {reply.kind}: {reply.reason}")
        text = " ".join(reply.value.prompt.split())
        if not _is_prompt(text):
            return Rewrite(None, reply.cost, "the prompt was not rewritten: the new one is empty, endless or no text")
        return Rewrite(text, reply.cost)


class RewriteStore:
    """The rewritten prompts of a run by key, stored as lines of `rewrites.jsonl`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / REWRITES
        self._texts: dict[str, str] = {}
        for record in read_journal(self._path):
            key, text = record.get("key"), record.get("rewritten")
            if is_text(key) and is_text(text) and _is_prompt(text):
                self._texts[key] = text

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def get(self, key: str) -> str | None:
        """Return the rewritten prompt for a key, or None."""
        return self._texts.get(key)

    def add(self, key: str, item: str, prompt: str, text: str) -> None:
        """Store a rewritten prompt and sync it to disk."""
        self._texts[key] = text
        # A line that a crash cut short stays alone on its line.
        line = "\n" + json.dumps({"key": key, "item": item, "prompt": prompt, "rewritten": text}) + "\n"
        append_to_journal(self._path, line.encode())


def _is_prompt(text: str) -> bool:
    return 0 < len(text) <= _MAX_LENGTH and text.isprintable()


class RewritingModel:
    """An image model that rewrites prompts first, and includes the rewriter's settings in its own."""

    def __init__(
        self, model: ImageModel, rewriter: Rewriter, prompts: Mapping[str, str], store: RewriteStore | None = None
    ) -> None:
        """Wrap an image model in a rewriter, with the prompts keyed by item id."""
        self.name = model.name
        self.settings: Mapping[str, Setting] = {**model.settings, **rewriter.settings}
        self.batch, self.concurrency, self.sees_spec = model.batch, model.concurrency, model.sees_spec
        self.price = price_of(model)
        self._model = model
        self._rewriter = rewriter
        self._prompts = prompts
        self._store = store
        self._calls = asyncio.Semaphore(max(1, rewriter.chat.concurrency))
        self._locks: dict[str, asyncio.Lock] = {}

    def watch_progress(self, progress: Progress) -> None:
        """Pass the progress to the wrapped model if it watches it."""
        share_progress(progress, self._model)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order, skipping the image model if rewriting fails."""
        rewrites = await asyncio.gather(*(self._rewrite(request) for request in requests))
        # Calls are paid for now, so all of them are counted with the first result.
        costs = [rewrite.cost for rewrite in rewrites]
        spent = None if None in costs else sum(cost for cost in costs if cost is not None)
        rewritten = [
            replace(request, prompt=request.prompt.removesuffix(self._prompts[request.item]) + rewrite.text)
            for request, rewrite in zip(requests, rewrites, strict=True)
            if rewrite.text is not None
        ]
        results = self._model.generate(rewritten) if rewritten else _generate_nothing()
        async with aclosing(results) as results:  # type: ignore[type-var]
            for rewrite in rewrites:
                if rewrite.text is None:
                    yield Failed(rewrite.reason, cost=spent)
                else:
                    result = await anext(results, None)
                    if result is None:
                        return
                    cost = None if result.cost is None or spent is None else result.cost + spent
                    if isinstance(result, Generated):
                        served = {**result.served, "rewritten_prompt": rewrite.text}
                        yield replace(result, served=served, cost=cost)
                    else:
                        yield replace(result, cost=cost)
                spent = 0.0

    async def _rewrite(self, request: ImageRequest) -> Rewrite:
        assert self._store is not None, "a model that generates needs a store for its texts"
        prompt = self._prompts[request.item]
        key = self._rewriter.key(prompt)
        async with self._locks.setdefault(key, asyncio.Lock()):  # samples of an item share a text
            text = self._store.get(key)
            if text is not None:
                return Rewrite(text)
            async with self._calls:
                rewrite = await self._rewriter.rewrite(prompt)
            if rewrite.text is not None:
                await asyncio.to_thread(self._store.add, key, request.item, prompt, rewrite.text)
            return rewrite


async def _generate_nothing() -> AsyncIterator[ImageResult]:
    return
    yield
