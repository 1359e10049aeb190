"""Rewriting of prompts: a chat model thinks the words through and writes them anew before the image model gets them.

What an image model lacks in deduction, a chat model does for it. The judge still asks for what the item asks for. Texts
are kept in the run folder as soon as they are paid for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from formalimg._util.io import open_plain
from formalimg._util.strict_json import is_text, loads_strict
from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Failed, Generated, ImageRequest, ImageResult, Message
from formalimg.models.pricing import price_of
from formalimg.prompts import Prompt
from formalimg.runs.progress import Progress, share_progress
from formalimg.types import ChatModel, ImageModel, Setting

REWRITES_FILE = "rewrites.jsonl"
"""The file of a run folder with the texts of the rewriter."""

_LONGEST = 10_000
"""The most characters of a prompt; what is asked for has about a thousand."""


class RewrittenPrompt(BaseModel):
    """The prompt, written anew: thoughts first, so that they can be of use."""

    model_config = ConfigDict(extra="forbid")

    thoughts: str
    prompt: str


class Rewrite(NamedTuple):
    """What became of the words of an item."""

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
        """All that shapes its texts, as settings of the run."""
        own = {f"rewriter.{name}": value for name, value in self.chat.settings.items()}
        return {"rewriter": self.chat.name, **own, "rewriter.prompt": str(self.prompt)}

    def sent(self, words: str) -> str:
        """Return the text that the chat model is sent for the words of an item."""
        return self.prompt.fill({"prompt": words})

    def key(self, words: str) -> str:
        """Return the key by which the text for these words is kept."""
        return hashlib.sha256(json.dumps([self.settings, words], sort_keys=True).encode()).hexdigest()

    async def rewrite(self, words: str) -> Rewrite:
        """Ask for a text."""
        reply = await self.chat.ask([Message("user", (self.sent(words),))], RewrittenPrompt)
        if not isinstance(reply, Answered):
            return Rewrite(None, reply.cost, f"the prompt was not rewritten, {reply.kind}: {reply.reason}")
        text = " ".join(reply.value.prompt.split())
        if not text or len(text) > _LONGEST or not text.isprintable():
            return Rewrite(None, reply.cost, "the prompt was not rewritten: the new one is empty, endless or no text")
        return Rewrite(text, reply.cost)


class RewriteStore:
    """The texts of a run, by their keys, in `rewrites.jsonl`: one line each, written at once."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / REWRITES_FILE
        self._texts: dict[str, str] = {}
        try:
            with open(self._path, "rb", opener=open_plain) as file:
                for line in file:
                    self._read(line)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise FormalimgError(f"cannot read {self._path}: {error.strerror}") from error

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def get(self, key: str) -> str | None:
        """Return the text of this key; None if there is none yet."""
        return self._texts.get(key)

    def add(self, key: str, item: str, words: str, text: str) -> None:
        """Keep a text; it is on disk when this returns."""
        self._texts[key] = text
        # A line that a crash cut short stays alone on its line.
        line = "\n" + json.dumps({"key": key, "item": item, "prompt": words, "rewritten": text}) + "\n"
        try:
            with open(self._path, "ab", opener=open_plain) as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise FormalimgError(f"cannot write {self._path}: {error.strerror}; make room, and run it again") from error

    def _read(self, line: bytes) -> None:
        """Take the text of a line; a line that is none, such as a torn one, is asked for again."""
        try:
            kept = loads_strict(line)
        except (ValueError, RecursionError):
            return
        if isinstance(kept, dict) and all(is_text(kept.get(name)) for name in ("key", "rewritten")):
            text = kept["rewritten"]
            if text and len(text) <= _LONGEST and text.isprintable():
                self._texts[kept["key"]] = text


class RewritingModel:
    """An image model whose prompts are rewritten first.

    Attributes:
        name, batch, concurrency, sees_spec: those of the image model.
        settings: those of the image model, and what shapes the texts of the rewriter.
        price: that of the image model.
    """

    def __init__(
        self, model: ImageModel, rewriter: Rewriter, words: Mapping[str, str], store: RewriteStore | None = None
    ) -> None:
        """Put a rewriter in front of a model."""
        self.name = model.name
        self.settings: Mapping[str, Setting] = {**model.settings, **rewriter.settings}
        self.batch, self.concurrency, self.sees_spec = model.batch, model.concurrency, model.sees_spec
        self.price = price_of(model)
        self._model = model
        self._rewriter = rewriter
        self._words = words
        self._store = store
        self._calls = asyncio.Semaphore(max(1, rewriter.chat.concurrency))
        self._turns: dict[str, asyncio.Lock] = {}

    def watch_progress(self, progress: Progress) -> None:
        """Hand the progress on to a model that watches it."""
        share_progress(progress, self._model)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order; what could not be rewritten is not sent to the image model."""
        rewrites = await asyncio.gather(*(self._rewrite(request) for request in requests))
        # Calls are paid for now, so all of them are counted with the first result.
        spent = _total([rewrite.cost for rewrite in rewrites])
        texts = [rewrite.text for rewrite in rewrites]
        sent = [
            replace(request, prompt=request.prompt.removesuffix(self._words[request.item]) + text)
            for request, text in zip(requests, texts, strict=True)
            if text is not None
        ]
        async with aclosing(self._model.generate(sent) if sent else _nothing()) as results:  # type: ignore[type-var]
            for rewrite in rewrites:
                if rewrite.text is None:
                    yield Failed(rewrite.reason, cost=spent)
                else:
                    result = await anext(results, None)
                    if result is None:
                        return
                    yield _with(result, rewrite.text, spent)
                spent = 0.0

    async def _rewrite(self, request: ImageRequest) -> Rewrite:
        assert self._store is not None, "a model that generates needs a store for its texts"
        words = self._words[request.item]
        key = self._rewriter.key(words)
        async with self._turns.setdefault(key, asyncio.Lock()):  # samples of an item share a text
            known = self._store.get(key)
            if known is not None:
                return Rewrite(known)
            async with self._calls:
                found = await self._rewriter.rewrite(words)
            if found.text is not None:
                await asyncio.to_thread(self._store.add, key, request.item, words, found.text)
            return found


async def _nothing() -> AsyncIterator[ImageResult]:
    return
    yield


def _total(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _with(result: ImageResult, text: str, spent: float | None) -> ImageResult:
    """Return a result with the prompt that was sent, and with what the texts cost."""
    cost = None if result.cost is None or spent is None else result.cost + spent
    if isinstance(result, Generated):
        return replace(result, served={**result.served, "rewritten_prompt": text}, cost=cost)
    return replace(result, cost=cost)
