"""The judge itself: all questions about an image in one request, and a verdict that is the weighted mean of scores."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.judges.judge import LoadedImage
from formalimg.judges.questioning import NoAnswer, ask_until_understood
from formalimg.judges.score_judge.answers import (
    Finding,
    NumberedScores,
    Scores,
    findings_of,
    problem_with,
    published_scores,
)
from formalimg.judges.score_judge.personas import occasion_of, persona_of, texts_of
from formalimg.judges.showing import question_about, shown
from formalimg.judges.verdict import Part, Unscored, Verdict
from formalimg.models import ChatModel, Setting
from formalimg.prompts import load_prompts
from formalimg.suites import PASS_MARK, CounterfactualSpec, Item, WeightedQuestion

RULES = 1
"""The version of the rules from answers to verdicts: a new number wherever a verdict may come out differently."""

Answers: TypeAlias = Literal["numbered", "published"]
ANSWERS: tuple[Answers, ...] = get_args(Answers)
"""The forms in which a chat model can be made to answer."""


class ScoreJudge:
    """Asks a chat model that can see for a score from 0 to 1 on each weighted question about an image.

    All questions go in one request, each with its criteria. An image has a verdict only if every question has a score
    from 0 to 1; anything else is asked for once more, and then the image is `Unscored`. Its score is the weighted
    mean over the dimensions of the questions, each with the mean of its own. Evidence, all plain data:

    - `persona`: in which persona the model judged; on probes, where there is only one, `objective`;
    - `prompt`: by which text;
    - `answers`: the questions (`asked`) and what came back, word for word (`raw`);
    - `served`: what was really used, as far as the provider says; only with a verdict;
    - `scores`: for each question why, and the score; only with a verdict.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        persona: Literal["auto", "standard", "strict"] | str = "auto",
        answers: Answers = "numbered",
        prompts: Path | None = None,
    ) -> None:
        """A judge that asks this chat model.

        Args:
            chat: who looks.
            persona: how severely it judges; with `auto`, the family of the model decides, as in the paper.
            answers: the form of the answer: a list of numbered scores, or the published one, an object with a name for
                each question.
            prompts: a folder with the user's own texts in place of ours.

        Raises:
            FormalimgError: if an option is wrong.
        """
        if answers not in ANSWERS:
            raise FormalimgError(f"unknown answers {answers!r}: known are {', '.join(ANSWERS)}")
        self._chat = chat
        self._persona = persona_of(chat.name, persona)
        self._answers = answers
        texts = load_prompts(Path(__file__).parent / "prompts", prompts)
        self._prompts = {occasion: texts[name] for occasion, name in texts_of(self._persona).items()}
        self._again = texts["score-judge-again"]

    @property
    def name(self) -> str:
        """The name of the chat model."""
        return self._chat.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the chat model, how it is asked, with which texts, and the version of the rules."""
        return {
            **self._chat.settings,
            "persona": self._persona,
            "answers": self._answers,
            **{f"prompt_{occasion}": str(prompt) for occasion, prompt in self._prompts.items()},
            "prompt_again": str(self._again),
            "judging_rules": RULES,
        }

    @property
    def concurrency(self) -> int:
        """As many images as the chat model takes questions."""
        return self._chat.concurrency

    def questions(self, item: Item[object]) -> int:
        """How many requests are sent about an image of this item."""
        return 1 if isinstance(item.spec, CounterfactualSpec) and item.spec.questions else 0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """How well the image does on the questions of the item."""
        spec = item.spec
        if not isinstance(spec, CounterfactualSpec) or not spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        if not all(map(_is_complete, spec.questions)):
            detail = f"item {item.id} of {item.suite} has a question without words, criteria or weight"
            return Unscored("not understood", detail)
        occasion = occasion_of(item.suite, item.level)
        prompt = self._prompts[occasion]
        view = await asyncio.to_thread(shown, image)
        question = question_about(view.attachment, prompt, {"questions": _listed(spec.questions)})
        problem = partial(problem_with, count=len(spec.questions))
        reply = await ask_until_understood(
            self._chat, question, self._answer_type(len(spec.questions)), problem, self._again
        )
        told: dict[str, object] = {
            "persona": self._persona if occasion in ("factual", "counterfactual") else "objective",
            "prompt": str(prompt),
            "answers": [{"asked": [asked.question for asked in spec.questions], "raw": list(reply.raw)}],
        }
        if isinstance(reply, NoAnswer):
            return Unscored(reply.reason, reply.detail, told, reply.cost)
        findings = findings_of(reply.value)
        told["served"] = dict(reply.served)
        told["scores"] = [
            {"question": asked.question, "reasoning": finding.reasoning, "score": finding.score}
            for asked, finding in zip(spec.questions, findings, strict=True)
        ]
        parts = _parts(spec.questions, findings)
        # Weights such as 8/3 are not exact, and an image on the line must not fall off it for that.
        passed = round(Verdict(False, parts).score, 9) >= PASS_MARK
        return Verdict(passed, parts, told, reply.cost)

    def _answer_type(self, count: int) -> type[Scores]:
        return NumberedScores if self._answers == "numbered" else published_scores(count)


def _is_complete(asked: WeightedQuestion) -> bool:
    return bool(asked.question.strip() and asked.criteria.strip()) and asked.weight > 0


def _listed(questions: Sequence[WeightedQuestion]) -> str:
    """The questions with their numbers and criteria; what they are about and what they count is not for the judge."""
    return "\n".join(
        f"{number}. {' '.join(asked.question.split())}\n   Criteria: {' '.join(asked.criteria.split())}"
        for number, asked in enumerate(questions, 1)
    )


def _parts(questions: Sequence[WeightedQuestion], findings: Sequence[Finding]) -> tuple[Part, ...]:
    """The questions of a dimension share its weight, so that several of them do not outweigh the others."""
    sharing = Counter(asked.dimension for asked in questions)
    return tuple(
        Part(
            asked.question,
            asked.dimension,
            finding.score,
            weight=asked.weight / sharing[asked.dimension],
            reason=finding.reasoning,
        )
        for asked, finding in zip(questions, findings, strict=True)
    )
