"""Yes/no questions: what judges share that ask a chat model such questions about an image."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.chat_images import ChatImage
from formalimg.judges.chat_judge import (
    PROMPTS,
    ChatJudge,
    NoValidAnswer,
    ValidAnswer,
    check_option,
    numbering_problem,
    total_cost,
)
from formalimg.types import ChatModel, Part, Setting, Unscored, Verdict

QuestionRequests: TypeAlias = Literal["each question", "all at once"]
REQUESTS: tuple[QuestionRequests, ...] = get_args(QuestionRequests)
"""How several questions can be asked."""

# Answer types. Models are sent their names, fields and docstrings as a JSON schema, which names the two words, so that
# servers with constrained decoding give nothing else. Others may write anything, so the types accept any word, and the
# model is asked again if it is neither.

YesOrNo: TypeAlias = Annotated[str, Field(json_schema_extra={"enum": ["yes", "no"]})]


class YesNoAnswer(BaseModel):
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


class AskedQuestion(NamedTuple):
    """A question as it is asked, with the kind of its part and the words that the part is about."""

    question: str
    category: str
    about: tuple[str, ...] = ()


class YesNoJudge(ChatJudge):
    """Base of the judges that ask a chat model yes/no questions about an image.

    There is a verdict only if every question has an answer that is yes or no; after a second invalid answer the image
    is `Unscored`. Evidence, all plain data:

    - `answers`: for each request, the questions in it (`asked`) and the answers, word for word (`raw`);
    - `served`: what was actually used, as far as the provider says; a list where requests differ;
    - `observations`: for each question that has an answer, what the model says it saw, and yes or no.
    """

    prompt_folder = PROMPTS / "question_judge"
    retry_prompt = "question-judge-again"

    def __init__(
        self, chat: ChatModel, *, requests: QuestionRequests = "each question", prompts: Path | None = None
    ) -> None:
        """Create a judge that asks this chat model."""
        check_option("requests", requests, REQUESTS)
        self._one_by_one = requests == "each question"
        prompt = "question-judge" if self._one_by_one else "question-judge-all"
        super().__init__(chat, {"requests": requests}, {"prompt": prompt}, prompts)
        self._answer_type: type[YesNoAnswer | NumberedAnswers] = YesNoAnswer if self._one_by_one else NumberedAnswers
        self._semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def _request_all(self, image: ChatImage, groups: Sequence[Sequence[AskedQuestion]]) -> list[QuestionRequest]:
        """Send several requests concurrently."""
        try:
            async with asyncio.TaskGroup() as tasks:
                sent = [tasks.create_task(self._request(image, questions)) for questions in groups]
        except ExceptionGroup as errors:
            # The caller must see what the user can fix, such as a wrong key, and not a group of it.
            user_errors = (error for error in errors.exceptions if isinstance(error, FormalimgError))
            raise next(user_errors, errors.exceptions[0]) from None
        return [task.result() for task in sent]

    async def _request(self, image: ChatImage, questions: Sequence[AskedQuestion]) -> QuestionRequest:
        lines = [" ".join(asked.question.split()) for asked in questions]
        listed = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
        values = {"question": lines[0], "questions": listed}
        async with self._semaphore():
            answer = await self._ask(image, values, self._answer_type, partial(find_problem, count=len(questions)))
        return QuestionRequest(questions, answer)

    def _semaphore(self) -> asyncio.Semaphore:
        """Limit the requests of all images together to the concurrency of the model, in each event loop."""
        new = asyncio.Semaphore(max(1, self._chat.concurrency))
        return self._semaphores.setdefault(asyncio.get_running_loop(), new)


class YesNoFinding(NamedTuple):
    """The answer to a question: whether it was yes, what the model saw, and P(yes) if the server reported it."""

    yes: bool
    observation: str
    p_yes: float | None = None


def parse_yes_no(answer: str) -> bool | None:
    """Return whether an answer is yes or no; None if it is neither, such as `Yes, but …`, `Not sure` or `oui`."""
    word = answer.strip(_AROUND).removesuffix(".").rstrip(_AROUND).lower()
    return {"yes": True, "no": False}.get(word)


_AROUND = " \t\n\r\f\v\"'`“”‘’"
"""Blanks, quotes and a full stop around the word are ignored; nothing else is."""


def find_problem(answer: YesNoAnswer | NumberedAnswers, count: int) -> str | None:
    """Return why an answer to so many questions is not valid, as a message to the model; None if it is."""
    if isinstance(answer, YesNoAnswer):
        return None if parse_yes_no(answer.answer) is not None else f"{_quote(answer.answer)} is neither yes nor no"
    numbers = [one.number for one in answer.answers]
    if numbers != list(range(1, count + 1)):
        return numbering_problem(count, ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else ""))
    neither = next((one for one in answer.answers if parse_yes_no(one.answer) is None), None)
    if neither is None:
        return None
    return f"the answer to question {neither.number} is {_quote(neither.answer)}, which is neither yes nor no"


def _quote(answer: str) -> str:
    return f'"{truncate(" ".join(answer.split()), 80, 20)}"'


class QuestionRequest(NamedTuple):
    """One request: its questions, and its answer."""

    questions: Sequence[AskedQuestion]
    answer: ValidAnswer[YesNoAnswer | NumberedAnswers] | NoValidAnswer

    @property
    def findings(self) -> Sequence[YesNoFinding | None]:
        """The finding for each question; None without a valid answer."""
        if isinstance(self.answer, NoValidAnswer):
            return [None] * len(self.questions)
        value = self.answer.value
        if isinstance(value, YesNoAnswer):
            return [YesNoFinding(parse_yes_no(value.answer) is True, value.observation, self.answer.p_yes)]
        return [YesNoFinding(parse_yes_no(one.answer) is True, one.observation) for one in value.answers]


def combine_answers(requests: Sequence[QuestionRequest]) -> Verdict | Unscored:
    """Return the verdict that the answers to all requests make."""
    findings = [pair for one in requests for pair in zip(one.questions, one.findings, strict=True)]
    known = [(asked, finding) for asked, finding in findings if finding is not None]
    evidence: dict[str, object] = {
        "answers": [
            {"asked": [asked.question for asked in one.questions], "raw": list(one.answer.raw)} for one in requests
        ],
        "served": _served(requests),
        "observations": [
            {"question": asked.question, "observation": finding.observation, "answer": "yes" if finding.yes else "no"}
            for asked, finding in known
        ],
    }
    cost = total_cost(one.answer.cost for one in requests)
    if len(known) < len(findings):
        return _unscored(requests, len(findings) - len(known), evidence, cost)
    parts = tuple(
        Part(
            asked.question,
            asked.category,
            float(finding.yes),
            about=asked.about,
            reason=finding.observation,
            p_yes=finding.p_yes,
        )
        for asked, finding in known
    )
    return Verdict(all(finding.yes for _, finding in known), parts, evidence, cost)


def _unscored(
    requests: Sequence[QuestionRequest], missing: int, evidence: Mapping[str, object], cost: float | None
) -> Unscored:
    """Explain by the first request without a valid answer why there is no verdict."""
    count = sum(len(one.questions) for one in requests)
    first, why = next((one, one.answer) for one in requests if isinstance(one.answer, NoValidAnswer))
    which = f" ({first.questions[0].question})" if len(first.questions) == 1 else ""
    return Unscored(why.reason, f"{missing} of {count} questions have no answer{which}: {why.detail}", evidence, cost)


def _served(requests: Sequence[QuestionRequest]) -> dict[str, object]:
    """Return what the requests were served by; a list of all values where they differ."""
    found: dict[str, list[Setting]] = {}
    for one in requests:
        for name, value in one.answer.served.items() if isinstance(one.answer, ValidAnswer) else ():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
