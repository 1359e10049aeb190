"""Caption classification by a chat model, with concurrent calls, cached answers and a cost estimate."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from formalimg._util.aio import run_sync
from formalimg._util.databases import has_no_schema, open_untrusted, require_our_schema
from formalimg._util.strict_json import StoredValueError, stored_integer
from formalimg.benchmarks.conceptmix.captions.files import (
    MASKS,
    Caption,
    CaptionResult,
    categories_to_mask,
    read_captions,
)
from formalimg.benchmarks.conceptmix.spec import Category
from formalimg.errors import FormalimgError
from formalimg.models.base import Message, Unanswered, Usage
from formalimg.models.pricing import price_of
from formalimg.prompts import Prompt, load_prompts
from formalimg.types import ChatModel


class CategoriesFound(BaseModel):
    """The categories that a caption speaks of; any other word makes the answer unreadable."""

    model_config = ConfigDict(extra="forbid")
    categories: list[Category]


ANSWERS_FILE = "answers.sqlite"

_TABLES = (
    "create table if not exists asked (name text primary key, value text not null) strict",
    "create table if not exists answers (caption text primary key, found integer not null, raw text not null) strict",
)


class CaptionAnswerCache:
    """A crash-safe SQLite cache of answers by caption."""

    def __init__(self, folder: Path | None, settings: Mapping[str, object]) -> None:
        """Open the cache in a folder, or create it."""
        self._path = ":memory:" if folder is None else str(folder / ANSWERS_FILE)
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._database = open_untrusted(None if folder is None else folder / ANSWERS_FILE, timeout=10)
        except (OSError, sqlite3.Error) as error:
            raise FormalimgError(f"cannot write to {folder}: {error}") from error
        try:
            with self._explain_failure():
                if not has_no_schema(self._database):
                    require_our_schema(self._database, self._path, ";".join(_TABLES), "choose another folder")
                for statement in ("pragma journal_mode = wal", "pragma synchronous = normal", *_TABLES):
                    self._database.execute(statement)
                self._require_same(settings)
        except FormalimgError:
            self._database.close()
            raise

    @contextmanager
    def _explain_failure(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, StoredValueError) as error:
            raise FormalimgError(f"{self._path} cannot be used: {error}; choose another folder") from error

    def get(self, caption: str) -> int | None:
        """Return the category mask of a caption, or None if it is not cached."""
        with self._explain_failure():
            query = "select found from answers where caption = ?"
            row = self._database.execute(query, (_hash_caption(caption),)).fetchone()
            return None if row is None else stored_integer(row[0], "found", 0, MASKS - 1)

    def put(self, caption: str, mask: int, raw: str) -> None:
        """Store an answer."""
        try:
            row = (_hash_caption(caption), mask, raw)
            self._database.execute("insert or ignore into answers values (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise FormalimgError(f"cannot write {self._path}: {error}; rerun the same command to resume") from error

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _require_same(self, settings: Mapping[str, object]) -> None:
        current = {name: json.dumps(value, sort_keys=True) for name, value in settings.items()}
        stored: dict[str, str] = dict(self._database.execute("select name, value from asked").fetchall())
        if not stored:
            self._database.executemany("insert into asked values (?, ?)", list(current.items()))
        for name in current if stored else ():
            if current[name] != stored.get(name):
                raise FormalimgError(
                    f"{self._path} holds answers with {name} {stored.get(name)}, not {current[name]}: "
                    "give the same options to resume, or another folder"
                )


def _hash_caption(caption: str) -> str:
    return hashlib.sha256(caption.encode()).hexdigest()


_QUEUED_PER_CALL = 4  # Captions queued for each concurrent call: one slow answer must not hold up the others


def load_question(folder: Path | None = None) -> Prompt:
    """Return the classification prompt: built in, or `find-categories.txt` in the user's folder."""
    return load_prompts(Path(__file__).parent / "prompts", folder)["find-categories"]


def render_question(caption: str, question: Prompt) -> str:
    """Return the prompt for a caption, which is quoted as JSON to prevent prompt injection."""
    return question.fill({"caption": json.dumps(caption, ensure_ascii=False)})


def classifier_settings(model: ChatModel, question: Prompt) -> dict[str, object]:
    """Return all settings that affect the answers: model, model settings and prompt version."""
    return {"model": model.name, "settings": dict(model.settings), "prompt": question.version}


@dataclass
class CaptionClassifier:
    """Classify captions with a chat model, with one request per distinct text."""

    model: ChatModel  # the model
    question: Prompt  # the prompt
    cache: CaptionAnswerCache  # known answers, and where new ones go
    cost: float | None = 0.0  # of all new answers, in US dollars; None as soon as a price is unknown
    _in_flight: dict[str, asyncio.Task[int | Unanswered]] = field(default_factory=dict)

    def classify(self, captions: Iterable[Caption], on_result: Callable[[CaptionResult], None]) -> None:
        """Classify all captions and call `on_result` with each result, in input order."""
        run_sync(lambda: self._classify(captions, on_result))

    async def _classify(self, captions: Iterable[Caption], on_result: Callable[[CaptionResult], None]) -> None:
        limit = asyncio.Semaphore(self.model.concurrency)
        queue: deque[tuple[Caption, asyncio.Task[int | Unanswered]]] = deque()

        async def take() -> None:
            caption, task = queue.popleft()
            outcome = await task
            if isinstance(outcome, Unanswered):
                on_result(CaptionResult(caption, None, unanswered=outcome.kind, reason=outcome.reason))
            else:
                on_result(CaptionResult(caption, outcome))

        try:
            for caption in captions:
                if caption.text not in self._in_flight:
                    task = asyncio.create_task(self._mask(caption.text, limit))
                    self._in_flight[caption.text] = task
                    task.add_done_callback(lambda done, text=caption.text: self._in_flight.pop(text))  # type: ignore[misc]
                queue.append((caption, self._in_flight[caption.text]))
                if len(queue) >= _QUEUED_PER_CALL * self.model.concurrency:
                    await take()
            while queue:
                await take()
        finally:
            for _, task in queue:
                task.cancel()
            await asyncio.gather(*(task for _, task in queue), return_exceptions=True)

    async def _mask(self, text: str, limit: asyncio.Semaphore) -> int | Unanswered:
        cached = self.cache.get(text)
        if cached is not None:
            return cached
        async with limit:
            reply = await self.model.ask([Message("user", (render_question(text, self.question),))], CategoriesFound)
        self.cost = None if self.cost is None or reply.cost is None else self.cost + reply.cost
        if isinstance(reply, Unanswered):
            return reply
        mask = categories_to_mask(reply.value.categories)
        self.cache.put(text, mask, reply.raw)
        return mask


_CHARACTERS_PER_TOKEN = 4
_SCHEMA_TOKENS = 150  # Tokens of the answer schema, roughly
_ANSWER_TOKENS = 40  # Tokens of an answer, roughly; a reasoning model takes more


class CaptionEstimate(NamedTuple):
    """An estimate of the calls and cost of a caption study."""

    captions: int  # how many captions there are
    to_ask: int  # how many calls it would take: one for each distinct caption without an answer
    cost: float | None  # their estimated cost, in US dollars; None if the price is unknown
    first: str  # the first prompt; empty if there is none


def estimate_caption_study(
    path: str | Path,
    model: ChatModel,
    *,
    column: str | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    prompts: Path | None = None,
) -> CaptionEstimate:
    """Estimate the cost of `study_captions` with the same arguments, without sending or writing anything."""
    question = load_question(prompts)
    folder = Path(out) if out is not None and (Path(out) / ANSWERS_FILE).exists() else None
    captions, tokens, first = 0, 0, ""
    texts: set[str] = set()
    with closing(CaptionAnswerCache(folder, classifier_settings(model, question))) as cache:
        for caption in read_captions(Path(path), column=column, limit=limit):
            captions += bool(caption.text)
            if caption.text and caption.text not in texts and cache.get(caption.text) is None:
                texts.add(caption.text)
                prompt = render_question(caption.text, question)
                tokens += len(prompt) // _CHARACTERS_PER_TOKEN + _SCHEMA_TOKENS
                first = first or prompt
    if not captions:
        raise FormalimgError(f"there are no captions in {path}: give a file with at least one")
    usage = Usage(input_tokens=tokens, output_tokens=_ANSWER_TOKENS * len(texts))
    return CaptionEstimate(captions, len(texts), price_of(model).cost(usage) if texts else 0.0, first)
