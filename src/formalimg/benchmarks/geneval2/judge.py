"""The GenEval 2 judge (Soft-TIFA): one-word answers, scored by the probability of the expected answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from formalimg.benchmarks.geneval2.formulas import compare_answers, question_classes
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import total_cost
from formalimg.judges.factory import DETECTORS, open_grounder, require_chat
from formalimg.judges.question_judge import WordJudge, open_word_chat
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import ChatModel, Grounder, Item, Judge, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.judges.recorded_judge import RecordedModels

_BOX_RULES = 1  # The version of the rules from boxes to answers: raise it whenever one may come out differently


class PublishedWordJudge(WordJudge):
    """Judge that asks a chat model each question separately, for a one-word answer.

    Evidence is that of `WordJudge`; with a grounder also the `scene` that it found, and `by_boxes`: its name, its
    `answers` (None where boxes cannot decide), and why there is no scene (`unscored`).
    """

    prompt_folder = Path(__file__).parent / "prompts"
    prompt = "published-word-judge"

    def __init__(
        self, chat: ChatModel, prompts: Path | None = None, grounder: Grounder | None = None, *, pixels: bool = False
    ) -> None:
        """Initialize the judge with a chat model and an optional grounder."""
        options: dict[str, Setting] = {}
        if grounder is not None:
            options = {f"grounder_{key}": value for key, value in grounder.settings.items()}
            options |= {"grounder": grounder.name, "grounder_pixel_colors": pixels, "box_rules": _BOX_RULES}
        super().__init__(chat, prompts, options)
        self._grounder = grounder
        self._pixels = pixels

    @property
    def concurrency(self) -> int:
        """The number of images that both the chat model and the grounder process concurrently."""
        limit = super().concurrency
        return limit if self._grounder is None else min(limit, self._grounder.concurrency)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        if not isinstance(item.spec, QuestionSpec):
            return 0
        of_classes = getattr(self._grounder, "questions", lambda classes: 0)
        return super().questions(item) + int(of_classes(question_classes(item.spec.questions)))

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge the image by the probability of the expected answer to each question."""
        verdict = await super().judge(item, image)
        if self._grounder is None or isinstance(verdict, Unscored) or not isinstance(item.spec, QuestionSpec):
            return verdict
        evidence_by_boxes, cost = await self._answer_by_boxes(self._grounder, item, item.spec, image)
        answers = evidence_by_boxes["by_boxes"]["answers"]
        by_boxes = {True: "; by boxes it is so", False: "; by boxes it is not so", None: ""}
        parts = tuple(
            replace(part, reason=part.reason + by_boxes[answer])
            for part, answer in zip(verdict.parts, answers, strict=True)
        )
        evidence = {**verdict.evidence, **evidence_by_boxes}
        return replace(verdict, parts=parts, evidence=evidence, cost=total_cost((verdict.cost, cost)))

    async def _answer_by_boxes(
        self, grounder: Grounder, item: Item[object], spec: QuestionSpec, image: LoadedImage
    ) -> tuple[dict[str, Any], float | None]:
        """Answer the questions by boxes and logic, and return the evidence and the cost."""
        classes = question_classes(spec.questions)
        unknown = tuple(getattr(grounder, "unknown_classes", lambda words: ())(classes))
        undecided: list[bool | None] = [None] * len(spec.questions)
        result: dict[str, object] = {"grounder": grounder.name, "answers": undecided}
        searched = [label for label in classes if label not in unknown]
        if not searched:
            return {"by_boxes": result}, 0.0
        grounding = await grounder.ground(image, searched)
        if isinstance(grounding, Unscored):
            return {"by_boxes": {**result, "unscored": grounding.detail or grounding.reason}}, grounding.cost
        scene = grounding.scene
        if self._pixels:
            from formalimg.judges.grounders.colors import color_in

            objects = [SceneObject(obj.label, obj.box, color_in(image.pil, obj.box).name) for obj in scene.objects]
            scene = Scene.of(objects)
        question_item = cast("Item[QuestionSpec]", item)
        result["answers"] = [compared.by_logic for compared in compare_answers(question_item, scene, unknown=unknown)]
        return {"scene": scene.to_json(), "by_boxes": result}, grounding.cost


def open_judge(suite: str, name: str | None, options: Mapping[str, str]) -> Judge:
    """Open the one-word judge, which is the same under every protocol."""
    name = require_chat(suite, name, "and cannot answer questions")
    chat, judge_options = open_word_chat(suite, name, options, ("prompts", "grounder"))
    finder = judge_options.pop("grounder", None)
    if finder is not None:
        judge_options |= {"grounder": open_grounder(finder), "pixels": finder.startswith(DETECTORS)}
    return PublishedWordJudge(chat, **judge_options)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Reopen a judge from recorded settings and answers."""
    if "protocol" not in recorded.settings:
        raise FormalimgError("it is asked as published")
    return PublishedWordJudge(recorded.chat)
