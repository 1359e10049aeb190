"""One attempt at one item: ask the writer, check by logic, ask the checker (paper, 2.3)."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import BaseModel

from formalimg.errors import presentable
from formalimg.logic import Formula
from formalimg.models import Answered, ChatModel, Message, Reply, Unanswered
from formalimg.suites import FormulaSpec, Item
from formalimg.writers.agreeing import Agreement, agreement
from formalimg.writers.answers import Draft, Review
from formalimg.writers.assignment import draw_assignment
from formalimg.writers.examining import Sound, examine
from formalimg.writers.outcome import Outcome
from formalimg.writers.plan import Slot, WritingPlan
from formalimg.writers.rejection import Rejection
from formalimg.writers.shelf import Shelf
from formalimg.writers.texts import Texts

AnswerType = TypeVar("AnswerType", bound=BaseModel)

_LONGEST_WORDS = 3000
"""The most characters of a prompt; the longest published one has about a thousand."""


@dataclass(frozen=True)
class Asked:
    """A chat model in one of the two parts it can play, and the door that only so many questions fit through."""

    part: str
    chat: ChatModel
    door: AbstractAsyncContextManager[object]

    async def ask(self, text: str, answer_type: type[AnswerType]) -> Reply[AnswerType]:
        """Ask one question."""
        async with self.door:
            return await self.chat.ask([Message("user", (text,))], answer_type)


@dataclass(frozen=True)
class Attempt:
    """An attempt under way: who is asked, with which texts, for which item."""

    plan: WritingPlan
    slot: Slot
    number: int
    writer: Asked
    checker: Asked
    texts: Texts
    shelf: Shelf

    async def made(self) -> Outcome:
        """Make the attempt. The shelf is only looked at, so that hopeless answers cost no second question."""
        assignment = draw_assignment(self.plan, self.slot, self.number)
        outcome = Outcome(self.slot.id, self.number, Rejection("unanswered", "nothing was asked"))
        reply = await self.writer.ask(self.texts.asking_to_write(assignment), Draft)
        outcome = replace(outcome, expense=outcome.expense.with_reply(self.writer.part, reply))
        if not isinstance(reply, Answered):
            return replace(outcome, result=_unanswered(reply, ""))
        words = _fit(reply.value.prompt)
        if isinstance(words, Rejection):
            return replace(outcome, result=words)
        sound = await asyncio.to_thread(examine, reply.value.formula, assignment, seed=self.slot.id)
        if isinstance(sound, Rejection):
            return replace(outcome, result=sound)
        return await self._checked(outcome, words, sound)

    async def _checked(self, outcome: Outcome, words: str, sound: Sound) -> Outcome:
        """Ask the checker; once more if it mends the words, since mended words may be wrong as well."""
        for may_mend in (True, False):
            read = await self._agreement(words, sound.formula)
            outcome = replace(outcome, agreement=read)
            if read == "different":
                return replace(outcome, result=Rejection("words say otherwise", f"read as something else: {words}"))
            known = self.shelf.objection(words, sound.formula, self.slot.level)
            if known is not None:
                return replace(outcome, result=known)
            reply = await self.checker.ask(self.texts.asking_to_check(words, sound.formula), Review)
            outcome = replace(outcome, expense=outcome.expense.with_reply(self.checker.part, reply))
            if not isinstance(reply, Answered):
                return replace(outcome, result=_unanswered(reply, "check "))
            judged = _judged(reply.value, words, may_mend)
            if isinstance(judged, Rejection):
                return replace(outcome, result=judged)
            if judged == words:
                return replace(outcome, result=self._item(words, sound))
            words, outcome = judged, replace(outcome, polished=True)
        raise AssertionError("mended words are judged without mending them again")

    async def _agreement(self, words: str, formula: Formula) -> Agreement:
        return await asyncio.to_thread(agreement, words, formula, self.plan.suite)

    def _item(self, words: str, sound: Sound) -> Item[FormulaSpec]:
        return Item(
            self.plan.suite,
            str(self.slot.id),
            self.slot.level,
            words,
            FormulaSpec.of(sound.formula, sound.witness),
            (f"written-by:{self.writer.chat.name}",),
            self.plan.version,
        )


def _judged(review: Review, words: str, may_mend: bool) -> str | Rejection:
    """The words to go on with, or why there are none."""
    reason = presentable(" ".join(review.reason.split()), 250, 50) or "no reason given"
    if not review.plausible:
        return Rejection("check: implausible", reason)
    better = _fit(review.better_prompt) if may_mend and review.better_prompt is not None else words
    if isinstance(better, Rejection) or better == words:
        return words if review.aligned else Rejection("check: not aligned", reason)
    return better


def _fit(words: str) -> str | Rejection:
    """The words on one line, if they can be a prompt."""
    line = " ".join(words.split())
    if not line:
        return Rejection("unfit words", "there are none")
    if len(line) > _LONGEST_WORDS:
        return Rejection("unfit words", f"{len(line):,} characters, the limit is {_LONGEST_WORDS:,}")
    if not line.isprintable():
        return Rejection("unfit words", "characters that cannot be printed")
    return line


def _unanswered(reply: Unanswered, who: str) -> Rejection:
    if reply.kind == "failed":
        return Rejection("unanswered", f"{who}{reply.reason}")
    if who:
        return Rejection("check refused" if reply.kind == "refused" else "check unreadable", reply.reason)
    return Rejection(reply.kind, reply.reason)
