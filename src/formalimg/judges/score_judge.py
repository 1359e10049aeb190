"""Front."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from pydantic import BaseModel, ConfigDict, RootModel, WithJsonSchema

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage, Part, Unscored, Verdict
from formalimg.judges.chat_images import question_about, shown
from formalimg.judges.chat_judge import NoAnswer, ask_until_understood
from formalimg.models import ChatModel, Setting
from formalimg.prompts import load_prompts
from formalimg.suites import PASS_MARK, CounterfactualSpec, Item, WeightedQuestion

AnyScore: TypeAlias = Annotated[object, WithJsonSchema({"type": "number"})]

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")
"""A number in quotes is one if it is written so, and with nothing around it."""


class GivenScore(BaseModel):
    """Why, then the score."""

    model_config = ConfigDict(strict=True)

    reasoning: str
    score: AnyScore


class NumberedScore(BaseModel):
    """The number of a question, why, then the score."""

    model_config = ConfigDict(strict=True)

    number: int
    reasoning: str
    score: AnyScore


class NumberedScores(BaseModel):
    """All questions in their order."""

    model_config = ConfigDict(strict=True)

    answers: list[NumberedScore]


class PublishedScores(RootModel[dict[str, GivenScore]]):
    """The published form: an object whose names are the numbers of the questions."""

    model_config = ConfigDict(strict=True)


Scores: TypeAlias = NumberedScores | PublishedScores


class Finding(NamedTuple):
    """What was answered to a question: the score, and why."""

    score: float
    reasoning: str


@cache
def published_scores(count: int) -> type[PublishedScores]:
    """The published form of an answer to so many questions: servers are held to exactly their numbers."""

    def schema_of_numbers(schema: dict[str, Any]) -> None:
        entry = GivenScore.model_json_schema()
        numbers = map(str, range(1, count + 1))
        schema.clear()
        schema.update(type="object", properties=dict.fromkeys(numbers, entry))

    class Numbered(PublishedScores):
        model_config = ConfigDict(json_schema_extra=schema_of_numbers)

    return Numbered


def score_of(given: object) -> float | None:
    """The score in what was given: a number from 0 to 1, also in quotes.

    None for all else, such as `1/2`, `50%`, `high`, 5, true or nothing.
    """
    if isinstance(given, str) and _DECIMAL.fullmatch(given):
        given = float(given)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return abs(float(given)) if 0 <= given <= 1 else None  # -0.0 is a number from 0 to 1 too, and is 0


def problem_with(answer: Scores, count: int) -> str | None:
    """Why an answer to so many questions cannot be used, in words for whoever gave it; None if it can."""
    wanted = [str(number) for number in range(1, count + 1)]
    entries = _entries(answer)
    numbers = [number for number, _ in entries]
    if numbers != wanted:
        told = truncate(", ".join(numbers[:20]), 120, 20) + (" …" if len(numbers) > 20 else "")
        return f"it must answer the questions 1 to {count}, each once and in this order, but it has {told or 'none'}"
    wrong = next(((number, one.score) for number, one in entries if score_of(one.score) is None), None)
    if wrong is None:
        return None
    return f"the score of question {wrong[0]} is {_quoted(wrong[1])}, which is no number from 0 to 1"


def findings_of(answer: Scores) -> tuple[Finding, ...]:
    """What was answered to each question, in their order, by an answer without a problem."""
    scored = [(score_of(one.score), one.reasoning) for _, one in _entries(answer)]
    return tuple(Finding(score, reasoning) for score, reasoning in scored if score is not None)


def _entries(answer: Scores) -> list[tuple[str, GivenScore | NumberedScore]]:
    if isinstance(answer, PublishedScores):
        # The names of an object have no order: 1 to 9 come before 10.
        return sorted(answer.root.items(), key=lambda entry: (len(entry[0]), entry[0]))
    return [(str(one.number), one) for one in answer.answers]


def _quoted(score: object) -> str:
    return truncate(" ".join(json.dumps(score, ensure_ascii=False).split()), 80, 20)


Persona: TypeAlias = Literal["standard", "strict"]
PERSONAS: tuple[Persona, ...] = get_args(Persona)
"""An analyst who asks whether the other world is shown, or an examiner who looks for whatever speaks against it."""

Occasion: TypeAlias = Literal["factual", "counterfactual", "rules", "attributes"]
"""What sort of image is judged."""


def persona_of(model: str, wish: str = "auto") -> Persona:
    """The persona in which a model judges.

    Args:
        model: its name; with `auto`, the family it belongs to decides.
        wish: `auto`, or the name of a persona.

    Raises:
        FormalimgError: if there is no such persona.
    """
    if wish not in ("auto", *PERSONAS):
        raise FormalimgError(f"unknown persona {wish!r}: known are auto, {', '.join(PERSONAS)}")
    if wish != "auto":
        return cast(Persona, wish)
    families = _table()["families"]
    found = next(family for family in families if re.search(family["pattern"], model, re.IGNORECASE))
    return cast(Persona, found["persona"])


def occasion_of(suite: str, level: int) -> Occasion:
    """What sort of image an item of this suite and level asks for."""
    usual = "factual" if level == 1 else "counterfactual"
    return cast(Occasion, _table()["probes"].get(suite, usual))


def texts_of(persona: Persona) -> Mapping[Occasion, str]:
    """The names of the texts by which a persona judges."""
    return cast(Mapping[Occasion, str], _table()["texts"][persona])


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges") / "personas.toml").read_text(encoding="utf-8"))


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
        texts = load_prompts(Path(__file__).parent / "prompts" / "score_judge", prompts)
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
