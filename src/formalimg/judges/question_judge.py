"""Judges that ask a chat model yes/no questions about an image.

In a graph, questions depend on each other and are asked in the order of their dependencies. A question whose parent
does not have its expected answer is not asked: whether the cup is red means nothing where there is no cup. It counts as
failed, as in evaluations by scene graphs, so that a score cannot rise by showing less.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import COUNT_WORDS, GraphQuestion, QuestionSpec, Zeroing
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import (
    PROMPTS,
    ChatImage,
    ChatJudge,
    NoValidAnswer,
    PublishedJudge,
    ValidAnswer,
    WordAnswer,
    attach_image,
    check_option,
    numbering_problem,
    total_cost,
)
from formalimg.judges.text_judge import TextJudge, put_text_beside
from formalimg.models.base import Answered, Message
from formalimg.types import ChatModel, Item, Part, Setting, Unscored, Verdict

QuestionRequests: TypeAlias = Literal["each question", "all at once"]
REQUESTS: tuple[QuestionRequests, ...] = get_args(QuestionRequests)  # How several questions can be asked
_FIRST_WORD = re.compile(r"[^\W_]+")
_THOUGHTS_END = "</think>"
_MAX_TOKENS = 16
_IGNORED = " \t\n\r\f\v\"'`“”‘’"  # Blanks, quotes and a full stop around the word are ignored; nothing else is

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
    """A question to be asked, with the kind and words of the resulting part."""

    question: str
    category: str
    about: tuple[str, ...] = ()


class QuestionRequest(NamedTuple):
    """A request to a chat model, with its questions and answer."""

    questions: Sequence[AskedQuestion]
    answer: ValidAnswer[YesNoAnswer | NumberedAnswers] | NoValidAnswer

    def parts(self) -> list[Part]:
        """Return a part for each question, or [] if the answer is invalid."""
        if isinstance(self.answer, NoValidAnswer):
            return []
        value = self.answer.value
        answers: Sequence[YesNoAnswer | NumberedAnswer] = [value] if isinstance(value, YesNoAnswer) else value.answers
        p_yes = self.answer.p_yes if isinstance(value, YesNoAnswer) else None
        return [
            Part(
                question.question,
                question.category,
                float(parse_yes_no(answer.answer) is True),
                about=question.about,
                reason=answer.observation,
                p_yes=p_yes,
            )
            for question, answer in zip(self.questions, answers, strict=True)
        ]


class YesNoJudge(ChatJudge):
    """Base class for judges that ask a chat model yes/no questions about an image.

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
        check_option("requests", requests, REQUESTS)
        self._one_by_one = requests == "each question"
        prompt = "question-judge" if self._one_by_one else "question-judge-all"
        super().__init__(chat, {"requests": requests}, {"prompt": prompt}, prompts)
        self._answer_type: type[YesNoAnswer | NumberedAnswers] = YesNoAnswer if self._one_by_one else NumberedAnswers
        self._semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def _request_all(self, image: ChatImage, groups: Sequence[Sequence[AskedQuestion]]) -> list[QuestionRequest]:
        try:
            async with asyncio.TaskGroup() as tasks:
                sent = [tasks.create_task(self._request(image, questions)) for questions in groups]
        except ExceptionGroup as errors:
            # The caller must see what the user can fix, such as a wrong key, and not a group of it.
            user_errors = (error for error in errors.exceptions if isinstance(error, FormalimgError))
            raise next(user_errors, errors.exceptions[0]) from None
        return [task.result() for task in sent]

    async def _request(self, image: ChatImage, questions: Sequence[AskedQuestion]) -> QuestionRequest:
        lines = [" ".join(question.question.split()) for question in questions]
        listed = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
        values = {"question": lines[0], "questions": listed}
        # The requests of all images together keep to the concurrency of the model, in each event loop.
        new = asyncio.Semaphore(max(1, self._chat.concurrency))
        async with self._semaphores.setdefault(asyncio.get_running_loop(), new):
            answer = await self._ask(image, values, self._answer_type, partial(find_problem, count=len(questions)))
        return QuestionRequest(questions, answer)


def parse_yes_no(answer: str) -> bool | None:
    """Return whether an answer is yes or no, or None for anything else, such as `Yes, but …` or `oui`."""
    word = answer.strip(_IGNORED).removesuffix(".").rstrip(_IGNORED).lower()
    return {"yes": True, "no": False}.get(word)


def find_problem(answer: YesNoAnswer | NumberedAnswers, count: int) -> str | None:
    """Return an error message for the model if the answer to `count` questions is invalid, else None."""
    if isinstance(answer, YesNoAnswer):
        if parse_yes_no(answer.answer) is not None:
            return None
        return f"{_quote_answer(answer.answer)} is neither yes nor no"
    numbers = [numbered.number for numbered in answer.answers]
    if numbers != list(range(1, count + 1)):
        return numbering_problem(count, ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else ""))
    for numbered in answer.answers:
        if parse_yes_no(numbered.answer) is None:
            quoted = _quote_answer(numbered.answer)
            return f"the answer to question {numbered.number} is {quoted}, which is neither yes nor no"
    return None


def _quote_answer(answer: str) -> str:
    return f'"{truncate(" ".join(answer.split()), 80, 20)}"'


def combine_answers(requests: Sequence[QuestionRequest]) -> Verdict | Unscored:
    """Combine the answers to all requests into a verdict."""
    parts = [part for request in requests for part in request.parts()]
    served: dict[str, list[Setting]] = {}  # all values, where requests differ
    for request in requests:
        for name, value in request.answer.served.items() if isinstance(request.answer, ValidAnswer) else ():
            if value not in served.setdefault(name, []):
                served[name].append(value)
    evidence: dict[str, object] = {
        "answers": [
            {"asked": [question.question for question in request.questions], "raw": list(request.answer.raw)}
            for request in requests
        ],
        "served": {name: values[0] if len(values) == 1 else values for name, values in served.items()},
        "observations": [
            {"question": part.name, "observation": part.reason, "answer": "yes" if part.score else "no"}
            for part in parts
        ],
    }
    cost = total_cost(request.answer.cost for request in requests)
    count = sum(len(request.questions) for request in requests)
    for questions, answer in requests:
        if isinstance(answer, NoValidAnswer):
            which = f" ({questions[0].question})" if len(questions) == 1 else ""
            detail = f"{count - len(parts)} of {count} questions have no answer{which}: {answer.detail}"
            return Unscored(answer.reason, detail, evidence, cost)
    return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)


# --- graphs


class QuestionGraphJudge(YesNoJudge):
    """A judge that asks a chat model the questions of an item, parents before their children.

    An image passes if every question has its expected answer; its score is the weighted mean. It has a verdict only if
    every question that was asked has an answer that is yes or no. With all questions in one request, those whose
    parents failed are answered too, and count as failed all the same. Where zeroing is direct (see `Zeroing`), every
    question is asked, because a parent's own answer decides.

    Evidence is that of `YesNoJudge`; `skipped`: the questions that were not asked, with the parent that failed; and
    with a text reader, `by_reader`: see `put_text_beside`.
    """

    rules: ClassVar[Mapping[str, Setting]] = {"judging_rules": 1, "failed_parents": "count as failed"}

    def __init__(
        self,
        chat: ChatModel,
        *,
        requests: QuestionRequests = "each question",
        zeroing: Zeroing | None = None,
        prompts: Path | None = None,
        by_text: TextJudge | None = None,
    ) -> None:
        super().__init__(chat, requests=requests, prompts=prompts)
        if zeroing is not None:
            check_option("zeroing", zeroing, get_args(Zeroing))
            self._options["zeroing"] = zeroing
        self._zeroing = zeroing
        self._by_text = by_text
        if by_text is not None:
            self._options |= {f"reader_{key}": value for key, value in by_text.settings.items() if key != "reader"}
            self._options["reader"] = by_text.name

    @property
    def chat(self) -> ChatModel:
        return self._chat

    def questions(self, item: Item[object]) -> int:
        count = len(item.spec.questions) if isinstance(item.spec, QuestionSpec) else 0
        return count if self._one_by_one else min(1, count)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        if not isinstance(spec, QuestionSpec) or not spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions")
        if any(question.expected not in ("yes", "no") for question in spec.questions):
            return Unscored(
                "not understood", f"item {item.id} of {item.suite} asks for a number, and not for yes or no"
            )
        verdict = await self._judge_graph(spec if self._zeroing is None else spec.with_zeroing(self._zeroing), image)
        if self._by_text is None or isinstance(verdict, Unscored):
            return verdict
        return await put_text_beside(verdict, spec.questions, self._by_text, image)

    async def _judge_graph(self, spec: QuestionSpec, image: LoadedImage) -> Verdict | Unscored:
        encoded = await self._encode(image)
        requests: list[QuestionRequest] = []
        parts: dict[str, Part] = {}
        verdict = Verdict(False)
        while wave := [question for question in spec.questions if self._is_next(question, parts, spec)]:
            questions = [AskedQuestion(question.question, question.category) for question in wave]
            if self._one_by_one:
                requests += await self._request_all(encoded, [(question,) for question in questions])
            else:
                requests.append(await self._request(encoded, questions))
            answered = combine_answers(requests)
            if isinstance(answered, Unscored):
                return answered
            verdict = answered
            parts |= dict(zip((question.id for question in wave), answered.parts[-len(wave) :], strict=True))
        return graph_verdict(spec, parts, verdict)

    def _is_next(self, question: GraphQuestion, parts: Mapping[str, Part], spec: QuestionSpec) -> bool:
        if question.id in parts:
            return False
        if not self._one_by_one or spec.zeroing == "direct":
            return True
        by_id = {parent.id: parent for parent in spec.questions}
        return all(parent in parts and _is_met(by_id[parent], parts[parent]) for parent in question.parents)


def _is_met(question: GraphQuestion, part: Part) -> bool:
    return (part.score >= 0.5) == (question.expected == "yes")


def graph_verdict(spec: QuestionSpec, answered: Mapping[str, Part], verdict: Verdict) -> Verdict:
    """Build the verdict on an item from the answered parts, with failed parents taken into account."""
    by_id = {question.id: question for question in spec.questions}
    met = {name: _is_met(by_id[name], part) for name, part in answered.items()}
    failed_by = spec.failed_parents(met)
    parts: list[Part] = []
    skipped: list[dict[str, str]] = []
    for question in spec.questions:
        part = answered.get(question.id)
        if question.id in failed_by:
            parent = by_id[failed_by[question.id]]
            status = "not asked" if part is None or spec.zeroing == "transitive" else "counts as failed"
            reason = f"{status}, because this failed: {parent.question}"
            parts.append(Part(question.question, question.category, 0.0, question.weight, reason=reason))
            skipped.append({"question": question.question, "failed": parent.question})
            continue
        assert part is not None, "what is not skipped was asked"
        if question.expected == "no":  # the score and the probability are those of the answer that is good
            soft = None if part.p_yes is None else 1 - part.p_yes
            part = replace(part, score=1 - part.score, p_yes=soft)
        parts.append(replace(part, weight=question.weight, about=()))
    evidence = {**verdict.evidence, "skipped": skipped} if skipped else verdict.evidence
    passed = not failed_by and all(met.get(question.id, False) for question in spec.questions)
    return replace(verdict, passed=passed, parts=tuple(parts), evidence=evidence)


# --- questions in one word


class WordJudge(PublishedJudge):
    """Base class for judges that ask a chat model one question per request, to be answered in one word.

    The score of a part is 1 if the first word of the answer is the expected one, and else 0; its `p_yes` is the
    probability of the expected answer, if the server reports log-probabilities: the sum over the first tokens of its
    spellings. An image passes if every answer is the expected one. One user message, the image before the text.
    Evidence, all plain data:

    - `answers`: for each request, the question (`asked`), the answer that is good (`expected`), and the answer, word
      for word (`raw`);
    - `served`: what was actually used by the last request, as far as the provider says.
    """

    prompt: ClassVar[str]
    """The prompt that each question is sent with."""

    def __init__(
        self, chat: ChatModel, prompts: Path | None = None, options: Mapping[str, Setting] | None = None
    ) -> None:
        super().__init__(chat, "published", {"prompt": self.prompt}, prompts, options)

    def questions(self, item: Item[object]) -> int:
        return len(item.spec.questions) if isinstance(item.spec, QuestionSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        if not isinstance(spec, QuestionSpec) or not spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions")
        attachment = await attach_image(image)
        parts: list[Part] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for question in spec.questions:
            text = self._prompts["prompt"].fill({"question": question.question})
            reply = await self._ask([Message("user", (attachment, text))], WordAnswer)
            if isinstance(reply, Answered) and not reply.raw.strip() and not reply.first_tokens:
                detail = f"{self.name} answered nothing"
                reply = NoValidAnswer("not understood", detail, (reply.raw,), reply.cost)
            cost = total_cost((cost, reply.cost))
            raw = list(reply.raw) if isinstance(reply, NoValidAnswer) else [reply.raw]
            answers.append({"asked": [question.question], "expected": question.expected, "raw": raw})
            if isinstance(reply, NoValidAnswer):
                missing = f"{len(spec.questions) - len(parts)} of {len(spec.questions)} questions have no answer"
                detail = f"{missing} ({question.question}): {reply.detail}"
                return Unscored(reply.reason, detail, {"answers": answers}, cost)
            served = reply.served
            parts.append(self._part(question, reply))
        evidence: dict[str, object] = {"answers": answers, "served": dict(served)}
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)

    def _part(self, question: GraphQuestion, reply: Answered[WordAnswer]) -> Part:
        raw, spellings = reply.raw, list_spellings(question.expected)
        word = _FIRST_WORD.search(raw.rpartition(_THOUGHTS_END)[2])
        is_right = word is not None and word[0].lower() in map(str.lower, spellings)
        reason = f"{raw.strip()[:80]}, {question.expected} is expected"
        chance = self._chance(question, reply)
        return Part(question.question, question.category, float(is_right), question.weight, reason=reason, p_yes=chance)

    def _chance(self, question: GraphQuestion, reply: Answered[WordAnswer]) -> float | None:
        """Return the probability of the expected answer, or None if the server reports no log-probabilities."""
        return probability_of(reply.first_tokens, question.expected)


def list_spellings(expected: str) -> tuple[str, ...]:
    """Return the accepted spellings of an expected answer: as given, capitalized, and in digits for numbers."""
    digits = (str(COUNT_WORDS.index(expected)),) if expected in COUNT_WORDS else ()
    return (expected, expected.capitalize(), *digits)


def probability_of(chances: Mapping[str, float], expected: str) -> float | None:
    """Return the probability of an expected answer from first-token probabilities, or None if there are none."""
    return min(1.0, sum(chances.get(word, 0.0) for word in list_spellings(expected))) if chances else None


def open_word_chat(
    suite: str, name: str, options: Mapping[str, str], own_keys: tuple[str, ...]
) -> tuple[ChatModel, dict[str, Any]]:
    """Open a chat model for one-word answers, and return it with the options that belong to the judge."""
    from formalimg.judges.factory import open_chat
    from formalimg.models.options import logprobs_options, sampling_options

    # The first token decides; a few more make the answer readable where there are no log-probabilities.
    defaults = {**sampling_options(name, temperature=0, max_tokens=_MAX_TOKENS), **logprobs_options(name)}
    return open_chat(name, {**defaults, **options}, own_keys, suite, {})
