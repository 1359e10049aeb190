"""Judges that ask a chat model one yes/no question per concept, by our protocol or the published one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import Followed, NoValidAnswer, PublishedJudge, WordAnswer, attach_image, total_cost
from formalimg.judges.factory import open_chat, open_published_chat, require_chat
from formalimg.judges.question_judge import REQUESTS, AskedQuestion, YesNoJudge, combine_answers
from formalimg.models.base import Message
from formalimg.types import ChatModel, Item, Judge, Part, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.judges.recorded_judge import RecordedModels


_OPTIONS = ("requests", "prompts")
_PEOPLE = (
    "; or make the images only, with `formalimg run --no-judge`, and let people answer: "
    "`formalimg agree` reads their votes from a CSV file"
)


def _find_concepts(item: Item[object]) -> Sequence[RequestedConcept] | Unscored:
    """Return the concepts to judge, or an unscored result if the item has no usable questions."""
    concepts = item.spec.concepts if isinstance(item.spec, ConceptSpec) else ()
    if not concepts:
        return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
    if not all(concept.question.strip() for concept in concepts):
        return Unscored("not understood", f"item {item.id} of {item.suite} has a concept without a question")
    return concepts


class QuestionJudge(YesNoJudge):
    """Judge that asks a chat model one yes/no question for each requested concept.

    By default each question is a conversation of its own, as published. An image passes if every answer is yes.
    """

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        count = len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0
        return count if self._one_by_one else min(1, count)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows every concept of the item."""
        concepts = _find_concepts(item)
        if isinstance(concepts, Unscored):
            return concepts
        encoded = await self._encode(image)
        questions = [AskedQuestion(concept.question, concept.category, (concept.value,)) for concept in concepts]
        if self._one_by_one:
            return combine_answers(await self._request_all(encoded, [(question,) for question in questions]))
        return combine_answers([await self._request(encoded, questions)])


class PublishedQuestionJudge(PublishedJudge):
    """Judge by the published protocol: one request per question, and every answer other than yes counts as no.

    One user message, the text before the image. Evidence, all plain data:

    - `answers`: for each request, the question (`asked`) and the answer, word for word (`raw`);
    - `served`: what was actually used by the last request, as far as the provider says.
    """

    prompt_folder = Path(__file__).parent / "prompts"

    def __init__(self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None) -> None:
        """Initialize the judge with a chat model; the arguments are those of `PublishedJudge`."""
        super().__init__(chat, protocol, {"prompt": "published-question-judge"}, prompts)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows every concept of the item."""
        concepts = _find_concepts(item)
        if isinstance(concepts, Unscored):
            return concepts
        prompt = self._prompts["prompt"]
        attachment = await attach_image(image, self._label(prompt, "image/jpeg"))
        parts: list[Part] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for category, value, question in ((concept.category, concept.value, concept.question) for concept in concepts):
            reply = await self._ask([Message("user", (prompt.fill({"question": question}), attachment))], WordAnswer)
            cost = total_cost((cost, reply.cost))
            if isinstance(reply, NoValidAnswer):
                answers.append({"asked": [question], "raw": list(reply.raw)})
                missing = f"{len(concepts) - len(parts)} of {len(concepts)} questions have no answer"
                return Unscored(reply.reason, f"{missing} ({question}): {reply.detail}", {"answers": answers}, cost)
            answers.append({"asked": [question], "raw": [reply.raw]})
            served = reply.served
            score = float(reply.value.is_yes(as_code=self.as_code))
            parts.append(Part(question, category, score, about=(value,), reason=reply.raw, p_yes=reply.p_yes))
        evidence: dict[str, object] = {"answers": answers, "served": dict(served)}
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)


def open_judge(suite: str, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
    """Open a judge that asks a chat model about each concept."""
    if protocol != "default":
        published, followed, judge_options = open_published_chat(
            suite, name, options, protocol, temperature=0, max_tokens=1
        )
        return PublishedQuestionJudge(published, followed, **judge_options)
    name = require_chat(suite, name, "and cannot answer questions", _PEOPLE)
    chat, judge_options = open_chat(name, options, _OPTIONS, suite, {"requests": REQUESTS})
    return QuestionJudge(chat, **judge_options)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Reopen a judge from recorded settings and answers."""
    if "protocol" in recorded.settings:
        return PublishedQuestionJudge(recorded.chat, recorded.settings["protocol"])
    return QuestionJudge(recorded.chat, requests=recorded.settings["requests"])
