"""Questions in one word: what judges share that ask each of an item's questions to be answered in one word.

An answer counts by the probability of the expected one, the sum over the first tokens of its spellings. It needs
log-probabilities from the server of the judge. Where there are none, the word that was given counts as right or wrong,
and reports say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from formalimg.benchmarks.questions.spec import COUNT_WORDS, GraphQuestion, QuestionSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import NoValidAnswer, total_cost
from formalimg.judges.factory import open_chat
from formalimg.judges.published_protocol import PublishedJudge, PublishedReply, WordAnswer, attach
from formalimg.models.base import Attachment, Message
from formalimg.types import ChatModel, Item, Part, Setting, Unscored, Verdict

_FIRST_WORD = re.compile(r"[^\W_]+")
_THOUGHTS_END = "</think>"
_MAX_TOKENS = 16


class WordJudge(PublishedJudge):
    """Base of the judges that ask a chat model each question of an item by itself, to be answered in one word.

    The score of a part is 1 if the first word of the answer is the expected one, and else 0; its `p_yes` is the
    probability of the expected answer, if the server tells. An image passes if every answer is the expected one. One
    user message, the image before the text. Evidence, all plain data:

    - `answers`: for each request, the question (`asked`), the answer that is good (`expected`), and the answer, word
      for word (`raw`);
    - `served`: what was actually used by the last request, as far as the provider says.
    """

    prompt: ClassVar[str]
    """The prompt that each question is sent with."""

    def __init__(
        self, chat: ChatModel, prompts: Path | None = None, options: Mapping[str, Setting] | None = None
    ) -> None:
        """Create a judge that asks this chat model."""
        super().__init__(chat, "published", {"prompt": self.prompt}, prompts, options)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return len(item.spec.questions) if isinstance(item.spec, QuestionSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge how likely every question about the image has its expected answer."""
        spec = item.spec
        if not isinstance(spec, QuestionSpec) or not spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        attachment = await attach(image)
        parts: list[Part] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for question in spec.questions:
            reply = await self._answer(attachment, question)
            cost = total_cost((cost, reply.cost))
            asked: dict[str, object] = {"asked": [question.question], "expected": question.expected}
            if isinstance(reply, NoValidAnswer):
                answers.append({**asked, "raw": list(reply.raw)})
                count = len(spec.questions)
                detail = (
                    f"{count - len(parts)} of {count} questions have no answer ({question.question}): {reply.detail}"
                )
                return Unscored(reply.reason, detail, {"answers": answers}, cost)
            answers.append({**asked, "raw": [reply.raw]})
            served = reply.served
            parts.append(_part(question, reply, self._chance(question, reply)))
        evidence: dict[str, object] = {"answers": answers, "served": dict(served)}
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)

    def _chance(self, question: GraphQuestion, reply: PublishedReply[WordAnswer]) -> float | None:
        """Return the probability of the expected answer; None if the server does not tell."""
        return expected_probability(reply.first_tokens, question.expected)

    async def _answer(
        self, attachment: Attachment, question: GraphQuestion
    ) -> PublishedReply[WordAnswer] | NoValidAnswer:
        text = self._prompts["prompt"].fill({"question": question.question})
        reply = await self._ask([Message("user", (attachment, text))], WordAnswer)
        if isinstance(reply, PublishedReply) and not reply.raw.strip() and not reply.first_tokens:
            return NoValidAnswer("not understood", f"{self.name} answered nothing", (reply.raw,), reply.cost)
        return reply


def spellings(expected: str) -> tuple[str, ...]:
    """Return how an expected answer may be written: the word, capitalised, and a number in digits."""
    digits = (str(COUNT_WORDS.index(expected)),) if expected in COUNT_WORDS else ()
    return (expected, expected.capitalize(), *digits)


def expected_probability(chances: Mapping[str, float], expected: str) -> float | None:
    """Return the probability of an expected answer, given those of the first tokens; None if nothing is known."""
    return min(1.0, sum(chances.get(word, 0.0) for word in spellings(expected))) if chances else None


def _part(question: GraphQuestion, reply: PublishedReply[WordAnswer], chance: float | None) -> Part:
    said = _FIRST_WORD.search(reply.raw.rpartition(_THOUGHTS_END)[2])
    is_right = said is not None and said[0].lower() in map(str.lower, spellings(question.expected))
    reason = f"{reply.raw.strip()[:80]}, {question.expected} is expected"
    return Part(question.question, question.category, float(is_right), question.weight, reason=reason, p_yes=chance)


def open_word_chat(
    suite: str, name: str, options: Mapping[str, str], own_keys: tuple[str, ...]
) -> tuple[ChatModel, dict[str, Any]]:
    """Return the chat model that answers in one word, and the options that say how it is used."""
    from formalimg.models.options import logprobs_options, sampling_options

    # The first token decides; a few more make the answer readable where there are no log-probabilities.
    asked = {**sampling_options(name, temperature=0, max_tokens=_MAX_TOKENS), **logprobs_options(name)}
    return open_chat(name, {**asked, **options}, own_keys, suite, {})
