"""The judge of GenEval 2: each question is answered in one word, and counts by the probability of the expected one.

This is Soft-TIFA: the probability of an answer is the sum over the first tokens of its spellings. It needs
log-probabilities from the server of the judge. Where there are none, the word that was given counts as right or wrong,
and reports say so.

With a grounder, boxes and logic answer as well where they can. That changes no verdict: it is stored beside the words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

from formalimg.judges.base import Grounder, LoadedImage, Part, Unscored, Verdict
from formalimg.judges.chat_judge import NoValidAnswer, total_cost
from formalimg.judges.published.answers import WordAnswer
from formalimg.judges.published.judges import PublishedJudge, PublishedReply, attach
from formalimg.models import Attachment, ChatModel, Message, Setting
from formalimg.scenes import Scene, SceneObject
from formalimg.suites import COUNT_WORDS, GraphQuestion, Item, QuestionSpec, compare_answers, question_classes

_FIRST_WORD = re.compile(r"[^\W_]+")
_THOUGHTS_END = "</think>"
_BOX_RULES = 1
"""The version of the rules from boxes to answers: raise it whenever one may come out differently."""


class PublishedWordJudge(PublishedJudge):
    """Ask a chat model each question of an item by itself, to be answered in one word.

    The score of a part is 1 if the first word of the answer is the expected one, and else 0; its `p_yes` is the
    probability of the expected answer, if the server tells. An image passes if every answer is the expected one. One
    user message, the image before the text. Evidence, all plain data:

    - `answers`: for each request, the question (`asked`), the answer that is good (`expected`), and the answer, word
      for word (`raw`);
    - `served`: what was actually used by the last request, as far as the provider says;
    - with a grounder, `scene`: what it found; and `by_boxes`: its name (`grounder`), for each question whether boxes
      say that it has the expected answer, None where they cannot decide (`answers`), and why not if there is no scene
      (`unscored`).
    """

    prompt: ClassVar[str] = "published-word-judge"
    """The prompt that each question is sent with."""

    def __init__(
        self, chat: ChatModel, prompts: Path | None = None, grounder: Grounder | None = None, *, pixels: bool = False
    ) -> None:
        """Create a judge that asks this chat model.

        Args:
            chat: the chat model; it must accept images.
            prompts: a folder with prompts of the user that replace ours.
            grounder: finds the boxes by which logic answers what it can.
            pixels: whether colours are read from the pixels of the boxes, and not those that the grounder names.
        """
        options: dict[str, Setting] = {}
        if grounder is not None:
            options = {f"grounder_{key}": value for key, value in grounder.settings.items()}
            options |= {"grounder": grounder.name, "grounder_pixel_colors": pixels, "box_rules": _BOX_RULES}
        super().__init__(chat, "published", {"prompt": self.prompt}, prompts, options)
        self._grounder = grounder
        self._pixels = pixels

    @property
    def concurrency(self) -> int:
        """As many images at a time as both the chat model and the grounder take."""
        own = super().concurrency
        return own if self._grounder is None else min(own, self._grounder.concurrency)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        if not isinstance(item.spec, QuestionSpec):
            return 0
        of_classes = getattr(self._grounder, "questions", lambda classes: 0)
        return len(item.spec.questions) + int(of_classes(question_classes(item.spec.questions)))

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
        if self._grounder is not None:
            found, also = await self._answer_by_boxes(self._grounder, item, spec, image)
            evidence |= found
            cost = total_cost((cost, also))
            said = found["by_boxes"]["answers"]
            parts = [_beside_boxes(part, by_boxes) for part, by_boxes in zip(parts, said, strict=True)]
        return Verdict(all(part.score for part in parts), tuple(parts), evidence, cost)

    async def _answer_by_boxes(
        self, grounder: Grounder, item: Item[object], spec: QuestionSpec, image: LoadedImage
    ) -> tuple[dict[str, Any], float | None]:
        """Return what boxes and logic say of the questions, as evidence, and what it cost."""
        classes = question_classes(spec.questions)
        unknown = tuple(getattr(grounder, "unknown_classes", lambda words: ())(classes))
        undecided: list[bool | None] = [None] * len(spec.questions)
        found: dict[str, object] = {"grounder": grounder.name, "answers": undecided}
        known = [label for label in classes if label not in unknown]
        if not known:
            return {"by_boxes": found}, 0.0
        grounding = await grounder.ground(image, known)
        if isinstance(grounding, Unscored):
            return {"by_boxes": {**found, "unscored": grounding.detail or grounding.reason}}, grounding.cost
        scene = grounding.scene
        if self._pixels:
            from formalimg.judges.grounders.pixel_colors import color_in

            named = [color_in(image.pil, one.box, more_words=True).name for one in scene.objects]
            scene = Scene.of(
                [SceneObject(one.label, one.box, name) for one, name in zip(scene.objects, named, strict=True)]
            )
        asked = cast("Item[QuestionSpec]", item)
        found["answers"] = [one.by_logic for one in compare_answers(asked, scene, unknown=unknown)]
        return {"scene": scene.to_json(), "by_boxes": found}, grounding.cost

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


def _beside_boxes(part: Part, by_boxes: bool | None) -> Part:
    """Return a part whose reason also says what boxes say."""
    if by_boxes is None:
        return part
    return replace(part, reason=f"{part.reason}; by boxes {'it is so' if by_boxes else 'it is not so'}")


class PublishedPhraseJudge(PublishedWordJudge):
    """Ask a chat model whether the image shows each noun phrase of an item, as T2I-CompBench asks BLIP.

    As `PublishedWordJudge`, but `p_yes` is the probability of yes among yes and no.
    """

    prompt = "published-phrase-judge"

    def _chance(self, question: GraphQuestion, reply: PublishedReply[WordAnswer]) -> float | None:
        return reply.p_yes


def spellings(expected: str) -> tuple[str, ...]:
    """Return how an expected answer may be written: the word, capitalised, and a number in digits."""
    digits = (str(COUNT_WORDS.index(expected)),) if expected in COUNT_WORDS else ()
    return (expected, expected.capitalize(), *digits)


def expected_probability(chances: Mapping[str, float], expected: str) -> float | None:
    """Return the probability of an expected answer, given those of the first tokens; None if nothing is known.

    Args:
        chances: the probability of each token without the blanks around it, as far as the server reported it.
        expected: the answer that is good.
    """
    return min(1.0, sum(chances.get(word, 0.0) for word in spellings(expected))) if chances else None


def _part(question: GraphQuestion, reply: PublishedReply[WordAnswer], chance: float | None) -> Part:
    said = _FIRST_WORD.search(reply.raw.rpartition(_THOUGHTS_END)[2])
    is_right = said is not None and said[0].lower() in map(str.lower, spellings(question.expected))
    reason = f"{reply.raw.strip()[:80]}, {question.expected} is expected"
    return Part(question.question, question.category, float(is_right), question.weight, reason=reason, p_yes=chance)
