"""A chat model as judge under the published protocol of CF-World: scores on weighted questions."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from formalimg.benchmarks.cfworld.judge import (
    ImageKind,
    Persona,
    image_kind,
    is_complete,
    select_persona,
    shared_weights,
)
from formalimg.benchmarks.cfworld.published_answers import PairScore, ScoreFamily, ScoreSheet, score_sheet
from formalimg.benchmarks.cfworld.questions import pair_objects
from formalimg.benchmarks.cfworld.spec import PASS_THRESHOLD, CounterfactualSpec, WeightedQuestion
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import NoValidAnswer
from formalimg.judges.published_protocol import Followed, PublishedJudge, attach_image, system_and_user
from formalimg.models.base import Attachment, Message
from formalimg.types import ChatModel, Item, Part, Unscored, Verdict

FAMILIES: Mapping[Persona, ScoreFamily] = {"standard": "gemini", "strict": "qwen"}
"""The published scorer of each persona: one was written for Gemini, the other for Qwen."""

PROMPTS = Path(__file__).parent / "prompts" / "published"
_MAX_SIDE = 1024
_QUALITY = 85


class PublishedScoreJudge(PublishedJudge):
    """CF-World: all questions in one request, and an object with a score for each.

    Of a pair of objects, the prompt and both names in place of questions, and an object with one score. A system and a
    user message. For Gemini the text comes first, and the image is sent as JPEG with at most 1024 pixels
    a side; for Qwen the image comes first, as it is. A question that the answer leaves out has a 0, as published.
    Evidence, all plain data:

    - `persona`, `prompt`: in which persona and with which prompt the model judged;
    - `answers`: the questions (`asked`) and the answer, word for word (`raw`);
    - `served`, `scores`: as of `ScoreJudge`; only with a verdict.
    """

    prompt_folder = PROMPTS
    rules = 2  # questions are headed as in the scorer of each family, and pairs are asked about by name

    def __init__(
        self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None, persona: str = "auto"
    ) -> None:
        """Create a judge that asks this chat model."""
        self._persona = select_persona(chat.name, persona)
        self._family = FAMILIES[self._persona]
        names = {
            "prompt_factual": f"published-score-factual-{self._family}",
            "prompt_counterfactual": f"published-score-counterfactual-{self._family}",
            "prompt_rules": "published-score-rules",
            "prompt_attributes": "published-score-attributes",
        }
        super().__init__(chat, protocol, names, prompts, {"persona": self._persona})

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        return 1 if isinstance(item.spec, CounterfactualSpec) and item.spec.questions else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Score the image on the questions of the item."""
        spec = item.spec
        if not isinstance(spec, CounterfactualSpec) or not spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        if not all(map(is_complete, spec.questions)):
            detail = f"item {item.id} of {item.suite} has a question without words, criteria or weight"
            return Unscored("not understood", detail)
        kind = image_kind(item.suite, item.level)
        prompt = self._prompts[f"prompt_{kind}"]
        values = self._values(kind, item, spec)
        if values is None:
            return Unscored("not understood", f"item {item.id} of {item.suite} does not name two objects")
        messages = await self._messages(*system_and_user(prompt, values), image)
        count = len(spec.questions)
        sheet: type[ScoreSheet] = PairScore if kind == "attributes" else score_sheet(self._family, count)
        reply = await self._ask(messages, sheet)
        raw = list(reply.raw) if isinstance(reply, NoValidAnswer) else [reply.raw]
        evidence: dict[str, object] = {
            "persona": self._persona if kind in ("factual", "counterfactual") else "objective",
            "prompt": str(prompt),
            "answers": [{"asked": [one.question for one in spec.questions], "raw": raw}],
        }
        if isinstance(reply, NoValidAnswer):
            return Unscored(reply.reason, reply.detail, evidence, reply.cost)
        evidence["served"] = dict(reply.served)
        evidence["scores"] = [
            {"question": one.question, "reasoning": reason, "score": score}
            for one, score, reason in zip(spec.questions, reply.value.scores, reply.value.reasons, strict=True)
        ]
        # Stored with the weights of the paper, as by every judge: `report --profile official-code` gives each question
        # its full weight again.
        parts = tuple(
            Part(one.question, one.dimension, score, weight=weight, reason=reason)
            for one, score, weight, reason in zip(
                spec.questions, reply.value.scores, shared_weights(spec.questions), reply.value.reasons, strict=True
            )
        )
        return Verdict(self._passed(spec.questions, parts), parts, evidence, reply.cost)

    def _values(self, kind: ImageKind, item: Item[object], spec: CounterfactualSpec) -> dict[str, str] | None:
        """Return what fills the prompt; None for a pair whose objects are unknown."""
        if kind != "attributes":
            return {"questions": list_questions(spec.questions, "qwen" if kind == "rules" else self._family)}
        objects = pair_objects(spec, item.prompt)
        return None if objects is None else {"prompt": item.prompt, "a": objects[0], "b": objects[1]}

    def _passed(self, questions: Sequence[WeightedQuestion], parts: tuple[Part, ...]) -> bool:
        if self.as_code:
            parts = tuple(replace(part, weight=one.weight) for one, part in zip(questions, parts, strict=True))
        return round(Verdict(False, parts).score, 9) >= PASS_THRESHOLD

    async def _messages(self, system: str, user: str, image: LoadedImage) -> list[Message]:
        if self._family == "gemini":
            jpeg = await asyncio.to_thread(_as_jpeg, image)
            label = self._label(self._prompts["prompt_factual"], "image/png")
            parts: tuple[str | Attachment, ...] = (user, replace(jpeg, media_type=label or jpeg.media_type))
        else:
            parts = (await attach_image(image), user)
        return [Message("system", (system,)), Message("user", parts)] if system else [Message("user", parts)]


def list_questions(questions: Sequence[WeightedQuestion], family: ScoreFamily) -> str:
    """Return the questions with their numbers and criteria, in the published form: colons differ between scorers."""
    heading = 'Question ID "{}":' if family == "gemini" else 'Question ID: "{}"'
    return "".join(
        f"\n{heading.format(number)}\nQuestion: {one.question}\nCriteria: {one.criteria}\n---"
        for number, one in enumerate(questions, 1)
    )


def _as_jpeg(image: LoadedImage) -> Attachment:
    from PIL.Image import Resampling

    pixels = image.pil.convert("RGB")
    scale = min(1.0, _MAX_SIDE / max(pixels.size))
    if scale < 1:
        width, height = (max(1, int(side * scale)) for side in pixels.size)
        pixels = pixels.resize((width, height), Resampling.LANCZOS)
    file = io.BytesIO()
    pixels.save(file, "JPEG", quality=_QUALITY)
    return Attachment(file.getvalue(), "image/jpeg")
