"""The score judge: asks a chat model for a score from 0 to 1 on each weighted question about an image.

A persona (`personas.toml`) defines how strictly a family of models is asked to judge, and with which prompts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast, get_args

from pydantic import BaseModel, ConfigDict, RootModel, WithJsonSchema

from formalimg._util.text import truncate
from formalimg.benchmarks.cfworld.items import read_package_toml
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, WeightedQuestion
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import ChatJudge, NoValidAnswer, check_option, numbering_problem
from formalimg.judges.factory import open_chat, open_published_chat, require_chat
from formalimg.stats.observations import PASS_THRESHOLD
from formalimg.types import ChatModel, Item, Judge, Part, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels

ScoreAnswerForm: TypeAlias = Literal["numbered", "published"]
ANSWERS: tuple[ScoreAnswerForm, ...] = get_args(ScoreAnswerForm)  # The forms of answer that can be asked for
Persona: TypeAlias = Literal["standard", "strict"]  # An analyst of the shown world, or an examiner who looks for faults
PERSONAS: tuple[Persona, ...] = get_args(Persona)
ImageKind: TypeAlias = Literal["factual", "counterfactual", "rules", "attributes"]  # Each has a prompt of its own

# Answer types. Models are sent their names, fields and docstrings as a JSON schema, which asks for numbers, so that
# servers with constrained decoding give nothing else. Others may write anything, so the types accept anything, and the
# model is asked again if it is not a score.

AnyScore: TypeAlias = Annotated[object, WithJsonSchema({"type": "number"})]


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


ScoreAnswer: TypeAlias = NumberedScores | PublishedScores


@cache
def score_answer_type(count: int) -> type[PublishedScores]:
    """Return the published answer type for `count` questions, whose schema has exactly their numbers as keys."""

    def schema_of_numbers(schema: dict[str, Any]) -> None:
        entry = GivenScore.model_json_schema()
        numbers = map(str, range(1, count + 1))
        schema.clear()
        schema.update(type="object", properties=dict.fromkeys(numbers, entry))

    class Numbered(PublishedScores):
        model_config = ConfigDict(json_schema_extra=schema_of_numbers)

    return Numbered


class ScoreJudge(ChatJudge):
    """A judge that asks a chat model for a score from 0 to 1 on each weighted question about an image.

    All questions go in one request. An image has a verdict only if every question has a score from 0 to 1; after a
    second invalid answer the image is `Unscored`. Its score is the weighted mean over the dimensions of the questions.
    The evidence has the `persona` (`objective` on probes), the `prompt`, the `answers`, and with a verdict `served` and
    the `scores`.
    """

    prompt_folder = Path(__file__).parent / "prompts"
    retry_prompt = "score-judge-again"

    def __init__(
        self,
        chat: ChatModel,
        *,
        persona: Literal["auto", "standard", "strict"] | str = "auto",
        answers: ScoreAnswerForm = "numbered",
        prompts: Path | None = None,
    ) -> None:
        check_option("answers", answers, ANSWERS)
        self._persona = select_persona(chat.name, persona)
        self._numbered = answers == "numbered"
        names: Mapping[ImageKind, str] = read_package_toml("personas.toml")["texts"][self._persona]
        super().__init__(
            chat,
            {"persona": self._persona, "answers": answers},
            {f"prompt_{kind}": name for kind, name in names.items()},
            prompts,
        )

    def questions(self, item: Item[object]) -> int:
        return count_requests(item)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        questions = askable_questions(item)
        if isinstance(questions, Unscored):
            return questions
        kind, count = image_kind(item.suite, item.level), len(questions)
        listed = (
            f"{number}. {' '.join(entry.question.split())}\n   Criteria: {' '.join(entry.criteria.split())}"
            for number, entry in enumerate(questions, 1)
        )
        answer_type: type[ScoreAnswer] = NumberedScores if self._numbered else score_answer_type(count)
        answer = await self._ask(
            await self._encode(image),
            {"questions": "\n".join(listed)},
            answer_type,
            partial(find_problem, count=count),
            prompt=f"prompt_{kind}",
        )
        evidence = score_evidence(self._persona, kind, str(self._prompts[f"prompt_{kind}"]), questions, answer.raw)
        if isinstance(answer, NoValidAnswer):
            return Unscored(answer.reason, answer.detail, evidence, answer.cost)
        scored = [(parse_score(entry.score), entry.reasoning) for _, entry in _list_entries(answer.value)]
        parts = score_parts(questions, [(score, reasoning) for score, reasoning in scored if score is not None])
        evidence |= {"served": dict(answer.served), "scores": part_evidence(parts)}
        return Verdict(is_passing(parts), parts, evidence, answer.cost)


def select_persona(model: str, persona: str = "auto") -> Persona:
    """Return the persona of a judge model; `auto` selects it by the model's name."""
    if persona not in ("auto", *PERSONAS):
        raise FormalimgError(f"unknown persona {persona!r}: choose from auto, {', '.join(PERSONAS)}")
    if persona != "auto":
        return cast(Persona, persona)
    families = read_package_toml("personas.toml")["families"]
    match = next(family for family in families if re.search(family["pattern"], model, re.IGNORECASE))
    return cast(Persona, match["persona"])


def image_kind(suite: str, level: int) -> ImageKind:
    """Return the kind of an image, which determines the judge's prompt."""
    default = "factual" if level == 1 else "counterfactual"
    return cast(ImageKind, read_package_toml("personas.toml")["probes"].get(suite, default))


# --- questions and parts, also of the published protocol


def count_requests(item: Item[object]) -> int:
    """Return the number of requests per image of an item: one, or none if it has no questions."""
    return 1 if isinstance(item.spec, CounterfactualSpec) and item.spec.questions else 0


def askable_questions(item: Item[object]) -> tuple[WeightedQuestion, ...] | Unscored:
    """Return the questions of an item, or the reason why its images cannot be scored."""
    spec = item.spec
    if not isinstance(spec, CounterfactualSpec) or not spec.questions:
        tags = "".join(f", {tag}" for tag in odd_tags(item.tags))
        return Unscored("not understood", f"item {item.id} of {item.suite} has no questions{tags}")
    for question in spec.questions:
        if not question.question.strip() or not question.criteria.strip() or not question.weight > 0:
            detail = f"item {item.id} of {item.suite} has a question without words, criteria or weight"
            return Unscored("not understood", detail)
    return spec.questions


def score_evidence(
    persona: Persona, kind: ImageKind, prompt: str, questions: Sequence[WeightedQuestion], raw: Sequence[str]
) -> dict[str, object]:
    """Return the evidence of an answer, valid or not; on probes the persona is always `objective`."""
    return {
        "persona": persona if kind in ("factual", "counterfactual") else "objective",
        "prompt": prompt,
        "answers": [{"asked": [question.question for question in questions], "raw": list(raw)}],
    }


def score_parts(questions: Sequence[WeightedQuestion], scores: Sequence[tuple[float, str]]) -> tuple[Part, ...]:
    """Return the parts of a verdict, with the weight of each dimension shared by its questions."""
    sharing = Counter(question.dimension for question in questions)
    return tuple(
        Part(
            question.question,
            question.dimension,
            score,
            weight=question.weight / sharing[question.dimension],
            reason=reasoning,
        )
        for question, (score, reasoning) in zip(questions, scores, strict=True)
    )


def part_evidence(parts: Sequence[Part]) -> list[dict[str, object]]:
    """Return the score and reasoning of each question as plain data."""
    return [{"question": part.name, "reasoning": part.reason, "score": part.score} for part in parts]


def is_passing(parts: tuple[Part, ...]) -> bool:
    """Return whether the weighted score of an image reaches the pass threshold, after rounding."""
    return round(Verdict(False, parts).score, 9) >= PASS_THRESHOLD


# --- answers

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")  # A number in quotes, with nothing around it, is accepted


def parse_score(value: object) -> float | None:
    """Return the score in an answer, a number from 0 to 1, possibly in quotes; None for anything else, like `50%`."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return abs(float(value)) if 0 <= value <= 1 else None  # -0.0 is a number from 0 to 1 too, and is 0


def find_problem(answer: ScoreAnswer, count: int) -> str | None:
    """Return the problem of an answer to `count` questions, as a message to the model; None if it is valid."""
    entries = _list_entries(answer)
    numbers = [number for number, _ in entries]
    if numbers != [str(number) for number in range(1, count + 1)]:
        listed = truncate(", ".join(numbers[:20]), 120, 20) + (" …" if len(numbers) > 20 else "")
        return numbering_problem(count, listed)
    for number, entry in entries:
        if parse_score(entry.score) is None:
            quoted = truncate(" ".join(json.dumps(entry.score, ensure_ascii=False).split()), 80, 20)
            return f"the score of question {number} is {quoted}, which is no number from 0 to 1"
    return None


def _list_entries(answer: ScoreAnswer) -> list[tuple[str, GivenScore | NumberedScore]]:
    if isinstance(answer, PublishedScores):
        # The names of an object have no order: 1 to 9 come before 10.
        return sorted(answer.root.items(), key=lambda entry: (len(entry[0]), entry[0]))
    return [(str(entry.number), entry) for entry in answer.answers]


def open_judge(suite: str, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
    """Return the judge that asks a chat model for scores."""
    if protocol == "default":
        name = require_chat(suite, name, "and cannot give scores")
        chat, judge_options = open_chat(name, options, ("persona", "answers", "prompts"), suite, {"answers": ANSWERS})
        return ScoreJudge(chat, **judge_options)
    from formalimg.benchmarks.cfworld.published_judge import PublishedScoreJudge

    name = require_chat(suite, name, f"and the protocol {protocol} asks a chat model")
    open_chat_as = partial(open_published_chat, suite, name, options, protocol, ("persona", "prompts"))
    if select_persona(name, options.get("persona", "auto")) == "strict":
        chat, followed, judge_options = open_chat_as(temperature=0.1, max_tokens=2048, top_p=0.9)
    else:
        chat, followed, judge_options = open_chat_as(temperature=0.0, max_tokens=5500)
    return PublishedScoreJudge(chat, followed, **judge_options)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Return a judge with recorded settings that replays recorded answers."""
    from formalimg.benchmarks.cfworld.published_judge import PublishedScoreJudge

    settings = recorded.settings
    if "protocol" in settings:
        return PublishedScoreJudge(recorded.chat, settings["protocol"], persona=settings["persona"])
    return ScoreJudge(recorded.chat, persona=settings["persona"], answers=settings["answers"])


def preflight_drawings(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two drawings that are scored on the same question, to test a judge; any score is accepted."""
    from formalimg.judges import preflight as known

    criteria = "1 if there is a bottle, 0 if there is none."
    question = WeightedQuestion("assessment", "Is there a bottle?", criteria, 1.0)
    item = Item(suite, "preflight", 1, known.RED_BOTTLE, CounterfactualSpec("preflight", "", (question,)))
    return known.two_things(item, "for a score of how far it shows a bottle", any_verdict=True)
