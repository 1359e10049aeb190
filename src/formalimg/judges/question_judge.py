"""Front."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage, Part, Unscored, Verdict
from formalimg.judges.chat_images import Shown, question_about, shown
from formalimg.judges.chat_judge import NoAnswer, Understood, added, ask_until_understood
from formalimg.models import ChatModel, Setting
from formalimg.prompts import load_prompts
from formalimg.suites import AskedConcept, ConceptSpec, Item

YesOrNo: TypeAlias = Annotated[str, Field(json_schema_extra={"enum": ["yes", "no"]})]

_AROUND = r"""[\s"'`“”‘’]*"""
_ONE_WORD = re.compile(rf"{_AROUND}(yes|no){_AROUND}\.?{_AROUND}", re.IGNORECASE | re.ASCII)
"""Blanks, quotes and a full stop change nothing; anything else does."""


class QuestionAnswer(BaseModel):
    """What is seen, then yes or no."""

    model_config = ConfigDict(strict=True)

    observation: str
    answer: YesOrNo


class NumberedAnswer(BaseModel):
    """The number of a question, what is seen, then yes or no."""

    model_config = ConfigDict(strict=True)

    number: int
    observation: str
    answer: YesOrNo


class NumberedAnswers(BaseModel):
    """All questions in their order."""

    model_config = ConfigDict(strict=True)

    answers: list[NumberedAnswer]


class Finding(NamedTuple):
    """What was answered to a question: whether it was yes, and what was seen."""

    yes: bool
    observation: str


def yes_or_no(answer: str) -> bool | None:
    """Whether an answer is yes or no; None if it is neither, such as `Yes, but …`, `Not sure`, `N/A` or `oui`."""
    found = _ONE_WORD.fullmatch(answer)
    return None if found is None else found[1].lower() == "yes"


def problem_with(answer: QuestionAnswer | NumberedAnswers, count: int) -> str | None:
    """Why an answer to so many questions cannot be used, in words for whoever gave it; None if it can."""
    if isinstance(answer, QuestionAnswer):
        return None if yes_or_no(answer.answer) is not None else f"{_quoted(answer.answer)} is neither yes nor no"
    numbers = [one.number for one in answer.answers]
    if numbers != list(range(1, count + 1)):
        told = ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")
        return f"it must answer the questions 1 to {count}, each once and in this order, but it has {told or 'none'}"
    neither = next((one for one in answer.answers if yes_or_no(one.answer) is None), None)
    if neither is None:
        return None
    return f"the answer to question {neither.number} is {_quoted(neither.answer)}, which is neither yes nor no"


def findings_of(answer: QuestionAnswer | NumberedAnswers) -> tuple[Finding, ...]:
    """What was answered to each question, in their order, by an answer without a problem."""
    given = answer.answers if isinstance(answer, NumberedAnswers) else [answer]
    return tuple(Finding(yes_or_no(one.answer) is True, one.observation) for one in given)


def _quoted(answer: str) -> str:
    return f'"{truncate(" ".join(answer.split()), 80, 20)}"'


RULES = 1
"""The version of the rules from answers to verdicts: a new number wherever a verdict may come out differently."""

Requests: TypeAlias = Literal["each question", "all at once"]
REQUESTS: tuple[Requests, ...] = get_args(Requests)
"""How a chat model can be asked several questions."""


class _Heard(NamedTuple):
    """What came back to one request."""

    concepts: Sequence[AskedConcept]
    reply: Understood[QuestionAnswer | NumberedAnswers] | NoAnswer

    @property
    def findings(self) -> Sequence[Finding | None]:
        if isinstance(self.reply, NoAnswer):
            return [None] * len(self.concepts)
        return findings_of(self.reply.value)


class QuestionJudge:
    """Asks a chat model that can see one yes/no question for each concept that an image must show.

    An image passes if every answer is yes. It has a verdict only if every question has an answer that is yes or no;
    anything else is asked for once more, and then the image is `Unscored`. Evidence, all plain data:

    - `answers`: for each request, the questions in it (`asked`) and what came back, word for word (`raw`);
    - `served`: what was really used, as far as the provider says; a list where it was not the same for all requests;
    - `observations`: for each question that has an answer, what the model says it saw, and yes or no.
    """

    def __init__(self, chat: ChatModel, *, requests: Requests = "each question", prompts: Path | None = None) -> None:
        """A judge that asks this chat model.

        Args:
            chat: who looks.
            requests: a new conversation for each question, as published, or all questions in one.
            prompts: a folder with the user's own texts in place of ours.

        Raises:
            FormalimgError: if an option is wrong.
        """
        if requests not in REQUESTS:
            raise FormalimgError(f"unknown requests {requests!r}: known are {', '.join(REQUESTS)}")
        self._chat = chat
        self._requests = requests
        texts = load_prompts(Path(__file__).parent / "prompts" / "question_judge", prompts)
        self._prompt = texts["question-judge" if requests == "each question" else "question-judge-all"]
        self._again = texts["question-judge-again"]
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The name of the chat model."""
        return self._chat.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, how it is asked, with which texts, and the version of the rules."""
        return {
            **self._chat.settings,
            "requests": self._requests,
            "prompt": str(self._prompt),
            "prompt_again": str(self._again),
            "judging_rules": RULES,
        }

    @property
    def concurrency(self) -> int:
        """As many images as the chat model takes questions; their questions together are never more than that."""
        return self._chat.concurrency

    def questions(self, item: Item[object]) -> int:
        """How many requests are sent about an image of this item."""
        asked = len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0
        return asked if self._requests == "each question" else min(1, asked)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Whether the image shows every concept of the item."""
        spec = item.spec
        if not isinstance(spec, ConceptSpec) or not spec.concepts:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        if not all(concept.question.strip() for concept in spec.concepts):
            return Unscored("not understood", f"item {item.id} of {item.suite} has a concept without a question")
        view = await asyncio.to_thread(shown, image)
        if self._requests == "each question":
            return _judged(await self._hear_all(view, [(concept,) for concept in spec.concepts]))
        return _judged([await self._hear(view, spec.concepts)])

    async def _hear_all(self, view: Shown, requests: Sequence[Sequence[AskedConcept]]) -> list[_Heard]:
        """What comes back to several requests, sent side by side."""
        try:
            async with asyncio.TaskGroup() as asked:
                hearing = [asked.create_task(self._hear(view, concepts)) for concepts in requests]
        except ExceptionGroup as errors:
            # Whoever calls must see what the user can mend, such as a wrong key, and not a group of it.
            mendable = (error for error in errors.exceptions if isinstance(error, FormalimgError))
            raise next(mendable, errors.exceptions[0]) from None
        return [heard.result() for heard in hearing]

    async def _hear(self, view: Shown, concepts: Sequence[AskedConcept]) -> _Heard:
        questions = [" ".join(concept.question.split()) for concept in concepts]
        listed = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
        words = {"question": questions[0], "questions": listed}
        problem = partial(problem_with, count=len(concepts))
        async with self._turn():
            asked = question_about(view.attachment, self._prompt, words)
            reply = await ask_until_understood(self._chat, asked, self._answer_type, problem, self._again)
        return _Heard(concepts, reply)

    @property
    def _answer_type(self) -> type[QuestionAnswer | NumberedAnswers]:
        return QuestionAnswer if self._requests == "each question" else NumberedAnswers

    def _turn(self) -> asyncio.Semaphore:
        """A place among the requests that run at a time, which all images share; a judge may serve several loops."""
        places = asyncio.Semaphore(max(1, self._chat.concurrency))
        return self._turns.setdefault(asyncio.get_running_loop(), places)


def _judged(heard: Sequence[_Heard]) -> Verdict | Unscored:
    concepts = [concept for one in heard for concept in one.concepts]
    findings = [finding for one in heard for finding in one.findings]
    told: dict[str, object] = {
        "answers": [
            {"asked": [concept.question for concept in one.concepts], "raw": list(one.reply.raw)} for one in heard
        ],
        "served": _served(heard),
        "observations": [
            {"question": concept.question, "observation": finding.observation, "answer": "yes" if finding.yes else "no"}
            for concept, finding in zip(concepts, findings, strict=True)
            if finding is not None
        ],
    }
    cost = reduce(added, [one.reply.cost for one in heard])
    known = [finding for finding in findings if finding is not None]
    if len(known) < len(concepts):
        return _unscored(heard, len(concepts) - len(known), len(concepts), told, cost)
    parts = tuple(_part(concept, finding) for concept, finding in zip(concepts, known, strict=True))
    return Verdict(all(finding.yes for finding in known), parts, told, cost)


def _unscored(
    heard: Sequence[_Heard], missing: int, asked: int, told: Mapping[str, object], cost: float | None
) -> Unscored:
    """Why there is no verdict: what became of the first request that has no answer."""
    first, why = next((one, one.reply) for one in heard if isinstance(one.reply, NoAnswer))
    which = f" ({first.concepts[0].question})" if len(first.concepts) == 1 else ""
    return Unscored(why.reason, f"{missing} of {asked} questions have no answer{which}: {why.detail}", told, cost)


def _part(concept: AskedConcept, finding: Finding) -> Part:
    return Part(
        concept.question, concept.category, float(finding.yes), about=(concept.value,), reason=finding.observation
    )


def _served(heard: Sequence[_Heard]) -> dict[str, object]:
    """What the requests were served by, as one; where they differ, all that there was."""
    found: dict[str, list[Setting]] = {}
    for one in heard:
        for name, value in one.reply.served.items() if isinstance(one.reply, Understood) else ():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
