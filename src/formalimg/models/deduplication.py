"""De-duplication of questions: what is asked several times at the same moment is asked, and paid for, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from formalimg.models.chat import Completion


@dataclass
class CurrentQuestion:
    """A question that is being asked, and by how many."""

    # the answer, as soon as one of them has it. Beside the cache, because a full disk keeps nothing
    answer: Completion | None = None
    askers: int = 0  # number of those who ask it or wait for its answer
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # held by the one who asks


_questions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, CurrentQuestion]] = WeakKeyDictionary()
"""All that are being asked, by event loop and key: models of the same name and settings share them."""


@asynccontextmanager
async def asking(key: str) -> AsyncIterator[CurrentQuestion]:
    """Wait for whoever is asking this question, then yield it: with an answer, or to be asked by the caller.

    One at a time: if the first gets no answer or is cancelled, the next tries itself, and nobody else is cancelled.
    """
    questions = _questions.setdefault(asyncio.get_running_loop(), {})
    question = questions.setdefault(key, CurrentQuestion())
    question.askers += 1
    try:
        async with question.turn:
            yield question
    finally:
        question.askers -= 1
        if not question.askers:
            del questions[key]
