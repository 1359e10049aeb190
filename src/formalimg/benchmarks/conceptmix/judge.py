"""The question judge: ask a chat model one yes/no question for each concept that an image must show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_chat, open_published_chat, require_chat
from formalimg.judges.question_judge import REQUESTS, AskedQuestion, YesNoJudge, combine_answers
from formalimg.types import Item, Judge, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.judges.recorded_judge import RecordedModels

_OPTIONS = ("requests", "prompts")
_PEOPLE = (
    "; or make the images only, with `formalimg run --no-judge`, and let people answer: "
    "`formalimg agree` reads their votes from a CSV file"
)


class QuestionJudge(YesNoJudge):
    """Ask a chat model one yes/no question for each concept that an image must show.

    By default each question is a conversation of its own, as published. An image passes if every answer is yes.
    """

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        count = len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0
        return count if self._one_by_one else min(1, count)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows every concept of the item."""
        spec = item.spec
        if not isinstance(spec, ConceptSpec) or not spec.concepts:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        if not all(concept.question.strip() for concept in spec.concepts):
            return Unscored("not understood", f"item {item.id} of {item.suite} has a concept without a question")
        encoded = await self._encode(image)
        questions = [AskedQuestion(each.question, each.category, (each.value,)) for each in spec.concepts]
        if self._one_by_one:
            return combine_answers(await self._request_all(encoded, [(asked,) for asked in questions]))
        return combine_answers([await self._request(encoded, questions)])


def open_judge(suite: str, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
    """Return the judge that asks a chat model about each concept."""
    if protocol != "default":
        from formalimg.benchmarks.conceptmix.published_judge import PublishedQuestionJudge

        chat, followed, own = open_published_chat(suite, name, options, protocol, temperature=0, max_tokens=1)
        return PublishedQuestionJudge(chat, followed, **own)
    name = require_chat(suite, name, "and cannot answer questions", _PEOPLE)
    chat, own = open_chat(name, options, _OPTIONS, suite, {"requests": REQUESTS})
    return QuestionJudge(chat, **own)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Return the judge of recorded settings that goes by recorded answers."""
    from formalimg.benchmarks.conceptmix.published_judge import PublishedQuestionJudge

    if "protocol" in recorded.settings:
        return PublishedQuestionJudge(recorded.chat, recorded.settings["protocol"])
    return QuestionJudge(recorded.chat, requests=recorded.settings["requests"])
