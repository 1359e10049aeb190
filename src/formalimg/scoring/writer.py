"""The question writer, which decomposes prompts into yes/no questions with a chat model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import MAX_QUESTIONS, QUESTION_CATEGORIES, GraphQuestion, find_graph_problem
from formalimg.errors import FormalimgError, OverBudgetError
from formalimg.models.base import Answered, Message, Unanswered
from formalimg.models.pricing import Spending, open_meter
from formalimg.prompts import Prompt, load_prompts
from formalimg.types import ChatModel, Setting

_Answer = TypeVar("_Answer", bound=BaseModel)
_Written = TypeVar("_Written")
_PROMPTS = Path(__file__).parent / "prompts"
_MAX_ATTEMPTS = 2
_YES_NO = re.compile(
    r"(is|are|was|were|am|does|do|did|has|have|had|can|could|will|would|should|may|might|must)\b.*\?", re.IGNORECASE
)
"""A question that yes or no can answer begins with a verb."""


class WrittenQuestion(BaseModel):
    """One question, with the questions that it depends on."""

    model_config = ConfigDict(strict=True)

    id: str
    category: str
    question: str
    parents: list[str]


class WrittenQuestions(BaseModel):
    """All questions, parents first."""

    model_config = ConfigDict(strict=True)

    questions: list[WrittenQuestion]


class Writing(NamedTuple):
    """The questions written for a prompt, or the reason why there are none."""

    questions: tuple[GraphQuestion, ...] | None  # its questions; None if none could be written
    reason: str = ""  # why there are none, on one line
    failed: bool = False  # whether the writer did not answer at all, so that asking later may help


class QuestionWriter:
    """Decomposes prompts into yes/no questions with a chat model.

    Attributes:
        chat: the chat model that writes.
    """

    def __init__(self, chat: ChatModel) -> None:
        self.chat = chat
        texts = load_prompts(_PROMPTS)
        self._prompt, self._again = texts["question-writer"], texts["question-writer-again"]

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model and the prompt for writing questions."""
        return {**self.chat.settings, "writer": self.chat.name, "prompt": str(self._prompt)}

    async def write_all(self, prompts: Sequence[str], spending: Spending) -> dict[str, Writing]:
        """Write questions for all prompts, and return them by prompt."""
        advice = "by writing questions: give a larger one, or --as whole, which writes none"
        return await write_each(prompts, self._write, self.chat, spending, advice)

    async def _write(self, prompt: str) -> Writing:
        sent = self._prompt.fill({"prompt": prompt, "limit": str(MAX_QUESTIONS)})
        result = await ask_until_valid(self.chat, sent, WrittenQuestions, _read_questions, self._again)
        if isinstance(result, Unanswered):
            return Writing(None, f"{self.chat.name}, {result.kind}: {result.reason}", result.kind == "failed")
        if isinstance(result, str):
            return Writing(None, f"{self.chat.name} wrote twice what cannot be asked: {result}")
        return result


def _read_questions(answer: WrittenQuestions) -> Writing | str:
    """Return the questions of an answer, or the problem with them."""
    questions = tuple(
        GraphQuestion(
            written.id.strip(),
            " ".join(written.question.split()),
            tuple(dict.fromkeys(parent.strip() for parent in written.parents)),
            category=category if (category := written.category.strip().lower()) in QUESTION_CATEGORIES else "other",
        )
        for written in answer.questions
    )
    if problem := find_graph_problem(questions):
        return problem
    for question in questions:
        if not (question.id + question.question).isprintable():
            return f"the question {truncate(question.id, 20, 20)!r} holds characters that cannot be shown"
        if not _YES_NO.fullmatch(question.question):
            return f"{truncate(question.question, 80, 20)!r} is not a question that yes or no answers"
    return Writing(questions)


async def ask_until_valid(
    chat: ChatModel, text: str, answer: type[_Answer], check: Callable[[_Answer], _Written | str], again: Prompt
) -> _Written | Unanswered | str:
    """Query the chat model and return the checked answer, retrying once with the problem if it is invalid."""
    messages = [Message("user", (text,))]
    problem = ""
    for _ in range(_MAX_ATTEMPTS):
        reply = await chat.ask(messages, answer)
        if isinstance(reply, Unanswered):
            return reply
        assert isinstance(reply, Answered), "there is no third kind of reply"
        result = check(reply.value)
        if not isinstance(result, str):
            return result
        problem = result
        messages += [Message("assistant", (reply.raw,)), Message("user", (again.fill({"problem": problem}),))]
    return problem


async def write_each(
    prompts: Sequence[str],
    write: Callable[[str], Awaitable[_Written]],
    chat: ChatModel,
    spending: Spending,
    advice: str,
) -> dict[str, _Written]:
    """Apply `write` to each prompt, respecting the chat model's concurrency and the budget."""
    door = asyncio.Semaphore(max(1, chat.concurrency))

    async def write_one(prompt: str) -> _Written:
        async with door:
            with open_meter(spending) as meter:
                written = await write(prompt)
                if meter.blocked:
                    raise OverBudgetError(f"the budget of ${spending.budget} was used up {advice}")
                return written

    try:
        async with asyncio.TaskGroup() as tasks:
            begun = {prompt: tasks.create_task(write_one(prompt)) for prompt in dict.fromkeys(prompts)}
    except ExceptionGroup as errors:
        # The caller must see what the user can fix, such as a wrong key, and not a group of it.
        user_errors = (error for error in errors.exceptions if isinstance(error, FormalimgError))
        raise next(user_errors, errors.exceptions[0]) from None
    return {prompt: task.result() for prompt, task in begun.items()}
