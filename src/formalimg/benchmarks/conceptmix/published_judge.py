"""A chat model as judge under the published protocol of ConceptMix: one word for each question."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import NoValidAnswer, total_cost
from formalimg.judges.published_protocol import Followed, PublishedJudge, WordAnswer, attach_image
from formalimg.models.chat import Message
from formalimg.types import ChatModel, Item, Part, Setting, Unscored, Verdict

PROMPTS = Path(__file__).parent / "prompts"


class PublishedQuestionJudge(PublishedJudge):
    """One request for each question, and one word for an answer; whatever is not yes is a no.

    One user message, the text before the image. Evidence, all plain data:

    - `answers`: for each request, the question (`asked`) and the answer, word for word (`raw`);
    - `served`: what was actually used by the last request, as far as the provider says.
    """

    prompt_folder = PROMPTS

    def __init__(self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None) -> None:
        """Create a judge that asks this chat model; the arguments are those of `PublishedJudge`."""
        super().__init__(chat, protocol, {"prompt": "published-question-judge"}, prompts)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return len(item.spec.concepts) if isinstance(item.spec, ConceptSpec) else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows every concept of the item."""
        spec = item.spec
        if not isinstance(spec, ConceptSpec) or not spec.concepts:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        if not all(concept.question.strip() for concept in spec.concepts):
            return Unscored("not understood", f"item {item.id} of {item.suite} has a concept without a question")
        prompt = self._prompts["prompt"]
        attachment = await attach_image(image, self._label(prompt, "image/jpeg"))
        parts: list[Part] = []
        answers: list[dict[str, object]] = []
        cost: float | None = 0.0
        served: Mapping[str, Setting] = {}
        for concept in spec.concepts:
            text = prompt.fill({"question": concept.question})
            reply = await self._ask([Message("user", (text, attachment))], WordAnswer)
            cost = total_cost((cost, reply.cost))
            if isinstance(reply, NoValidAnswer):
                answers.append({"asked": [concept.question], "raw": list(reply.raw)})
                count = len(spec.concepts)
                detail = (
                    f"{count - len(parts)} of {count} questions have no answer ({concept.question}): {reply.detail}"
                )
                return Unscored(reply.reason, detail, {"answers": answers}, cost)
            answers.append({"asked": [concept.question], "raw": [reply.raw]})
            served = reply.served
            score = float(reply.value.is_yes(as_code=self.as_code))
            about = (concept.value,)
            parts.append(
                Part(concept.question, concept.category, score, about=about, reason=reply.raw, p_yes=reply.p_yes)
            )
        evidence: dict[str, object] = {"answers": answers, "served": dict(served)}
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)
