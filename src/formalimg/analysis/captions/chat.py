"""The form of a chat model's answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from formalimg._util.aio import run_sync
from formalimg.analysis.captions.categories import Category, categories_to_mask
from formalimg.analysis.captions.files import Caption, CaptionResult, read_captions
from formalimg.errors import FormalimgError
from formalimg.models import ChatModel, Message, Unanswered, Usage, price
from formalimg.prompts import Prompt, load_prompts


class CategoriesFound(BaseModel):
    """The categories that a caption speaks of; any other word makes the answer unreadable."""

    model_config = ConfigDict(extra="forbid")
    categories: list[Category]


ANSWERS_FILE = "answers.sqlite"

_TABLES = (
    "create table if not exists asked (name text primary key, value text not null) strict",
    "create table if not exists answers (caption text primary key, found integer not null, raw text not null) strict",
)


class AnswerCache:
    """Answers by caption. The same words have the same answer, wherever they stand."""

    def __init__(self, folder: Path | None, asked: Mapping[str, object]) -> None:
        """Open the answers of a folder, or begin anew.

        Args:
            folder: where they lie; None keeps them only as long as the program runs.
            asked: who is asked, and how. Answers to another question are not used.

        Raises:
            FormalimgError: if the folder holds answers to another question, or cannot be used.
        """
        self._place = ":memory:" if folder is None else str(folder / ANSWERS_FILE)
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self._place, timeout=10, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise FormalimgError(f"cannot write to {folder}: {error}") from error
        try:
            self._file.execute("pragma journal_mode = wal")
            self._file.execute("pragma synchronous = normal")
            for statement in _TABLES:
                self._file.execute(statement)
            self._require_same(asked)
        except sqlite3.Error as error:
            self._file.close()
            raise FormalimgError(f"{self._place} cannot be used: {error}; choose another folder") from error
        except FormalimgError:
            self._file.close()
            raise

    def get(self, caption: str) -> int | None:
        """The categories found in a caption; None if nobody has said yet."""
        row = self._file.execute("select found from answers where caption = ?", (_key(caption),)).fetchone()
        return None if row is None else int(row[0])

    def keep(self, caption: str, found: int, raw: str) -> None:
        """Keep an answer."""
        try:
            self._file.execute("insert or ignore into answers values (?, ?, ?)", (_key(caption), found, raw))
        except sqlite3.Error as error:
            raise FormalimgError(f"cannot write {self._place}: {error}; the same command goes on from here") from error

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _require_same(self, asked: Mapping[str, object]) -> None:
        wanted = {name: json.dumps(value, sort_keys=True) for name, value in asked.items()}
        kept: dict[str, str] = dict(self._file.execute("select name, value from asked").fetchall())
        if not kept:
            self._file.executemany("insert into asked values (?, ?)", list(wanted.items()))
        for name in wanted if kept else ():
            if wanted[name] != kept.get(name):
                raise FormalimgError(
                    f"{self._place} holds answers with {name} {kept.get(name)}, not {wanted[name]}: "
                    "give the same options to go on with it, or another folder"
                )


def _key(caption: str) -> str:
    return hashlib.sha256(caption.encode()).hexdigest()


_WAITING = 4
"""How many captions are under way for each call that may run: one slow answer must not hold up the others."""


def load_question(own: Path | None = None) -> Prompt:
    """The text that asks for the categories of a caption: ours, or `find-categories.txt` of the user's folder."""
    return load_prompts(Path(__file__).parent / "prompts", own)["find-categories"]


def render_question(caption: str, question: Prompt) -> str:
    """What is sent to ask about a caption; quoted, so that nobody takes its words for ours."""
    return question.fill({"caption": json.dumps(caption, ensure_ascii=False)})


def classifier_settings(model: ChatModel, question: Prompt) -> dict[str, object]:
    """All that shapes the answers."""
    return {"model": model.name, "settings": dict(model.settings), "prompt": question.version}


@dataclass
class CaptionClassifier:
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
    kept: AnswerCache
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
            words = render_question(text, self.question)
            reply = await self.model.ask([Message("user", (words,))], CategoriesFound)
        self.asked += 1
        self.cost = None if self.cost is None or reply.cost is None else self.cost + reply.cost
        if isinstance(reply, Unanswered):
            return reply
        found = categories_to_mask(reply.value.categories)
        self.kept.keep(text, found, reply.raw)
        return found


async def _result(caption: Caption, task: asyncio.Task[int | Unanswered]) -> CaptionResult:
    found = await task
    if isinstance(found, Unanswered):
        return CaptionResult(caption, None, unanswered=found.kind, reason=found.reason)
    return CaptionResult(caption, found)


_CHARACTERS_PER_TOKEN = 4
_FORM = 150
"""Tokens for the form of the answer, roughly."""
_ANSWER = 40
"""Tokens of an answer, roughly; a model that thinks takes more."""


class CaptionEstimate(NamedTuple):
    """What a study would do.

    Attributes:
        captions: how many captions there are.
        to_ask: how many questions it would ask: one for each different caption that has no answer yet.
        cost: about what they would cost, in US dollars; None if nobody knows the price.
        first: what would be sent first; empty if nothing would.
    """

    captions: int
    to_ask: int
    cost: float | None
    first: str


def estimate_study(
    path: str | Path,
    model: ChatModel,
    *,
    column: str | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    prompts: Path | None = None,
) -> CaptionEstimate:
    """What `study_captions` would ask with the same arguments. Nothing is asked or written.

    Raises:
        FormalimgError: as `study_captions` would.
    """
    question = load_question(prompts)
    folder = Path(out) if out is not None and (Path(out) / ANSWERS_FILE).exists() else None
    captions, sent, first = 0, 0, ""
    seen: set[str] = set()
    with closing(AnswerCache(folder, classifier_settings(model, question))) as kept:
        for caption in read_captions(Path(path), column=column, limit=limit):
            captions += bool(caption.text)
            if caption.text and caption.text not in seen and kept.get(caption.text) is None:
                seen.add(caption.text)
                words = render_question(caption.text, question)
                sent += len(words) // _CHARACTERS_PER_TOKEN + _FORM
                first = first or words
    if not captions:
        raise FormalimgError(f"there are no captions in {path}: give a file with at least one")
    usage = Usage(input_tokens=sent, output_tokens=_ANSWER * len(seen))
    return CaptionEstimate(captions, len(seen), price(model.name).cost(usage) if seen else 0.0, first)
