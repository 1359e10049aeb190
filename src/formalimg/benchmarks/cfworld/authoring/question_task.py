"""Authoring task: questions for existing prompts of CF-World (appendix C.2) or its rule probe (section 5.1).

The requests use our prompts or the authors' prompts; the latter ask for a plain list as the answer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import ValidationError

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import (
    AcceptedItems,
    AttemptOutcome,
    AuthoringState,
    Rejection,
    Similarity,
    accept,
)
from formalimg.benchmarks.authoring.task import AuthoringPlan, AuthoringTask, Slot
from formalimg.benchmarks.cfworld.authoring.choices import question_sets
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    QuestionAnswer,
    RuleQuestionAnswer,
    ScoresAnswer,
    clean_fields,
    stem_share,
)
from formalimg.benchmarks.cfworld.published_records import QUESTION_TYPES
from formalimg.benchmarks.cfworld.spec import CF_WORLD_RULES, WEIGHTS, CounterfactualSpec, WeightedQuestion
from formalimg.judges.chat_judge import parse_json
from formalimg.models.base import Message
from formalimg.models.structured_output import TextAnswer
from formalimg.types import Item

WrittenDimension: TypeAlias = Literal["integrity", "logic", "assessment"]
_MOST: Mapping[WrittenDimension, int] = {"integrity": 1, "logic": 3, "assessment": 1}  # In the published order
_LONGEST = 600
_ON_THE_POINT = 0.5
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def parse_questions(
    answers: Sequence[QuestionAnswer], shows: str, limits: Mapping[WrittenDimension, int] = _MOST
) -> tuple[WeightedQuestion, ...] | Rejection:
    """Return the questions in canonical order with our weights, or a rejection if any of them is not valid."""
    counts = Counter(answer.dimension for answer in answers)
    for dimension, limit in limits.items():
        if not 1 <= counts[dimension] <= limit:
            expected = "1" if limit == 1 else f"1 to {limit}"
            return Rejection("wrong number of questions", f"{counts[dimension]} of {dimension} instead of {expected}")
    questions: list[WeightedQuestion] = []
    for answer in sorted(answers, key=lambda answer: [*_MOST].index(answer.dimension)):
        texts = clean_fields({"question": answer.question, "criteria": answer.criteria})
        if isinstance(texts, Rejection):
            return texts
        questions.append(WeightedQuestion(answer.dimension, **texts, weight=WEIGHTS[answer.dimension]))
    for question in questions:
        if objection := _find_fault(question, shows):
            return objection
    texts_asked = Counter(question.question.lower() for question in questions)
    repeated = next((text for text, count in texts_asked.items() if count > 1), None)
    return tuple(questions) if repeated is None else Rejection("no question", f"asked twice: {repeated[:200]}")


def _find_fault(question: WeightedQuestion, shows: str) -> Rejection | None:
    shortened = truncate(question.question, 200, 50)
    if not question.question.endswith("?") or len(question.question) > _LONGEST:
        return Rejection("no question", shortened)
    numbers = {float(number) for number in _NUMBER.findall(question.criteria)}
    if not {0.0, 1.0} <= numbers or max(numbers) > 1:
        return Rejection("no criteria", truncate(question.criteria, 200, 50))
    if question.dimension == "assessment" and stem_share(shows, question.question) < _ON_THE_POINT:
        return Rejection("question beside the point", shortened)
    return None


class ListedQuestions(TextAnswer):
    """The questions about one image, as the authors' text asks for them; weights are not for the model to say."""

    questions: list[QuestionAnswer]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the list between the first and the last square bracket."""
        entries = parse_json(text[text.find("[") : text.rfind("]") + 1])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ValueError("it is not a list of questions")
        try:
            return cls(
                questions=[
                    QuestionAnswer(
                        dimension=QUESTION_TYPES.get(entry.get("question_type")),  # type: ignore[arg-type]  # validated
                        question=entry.get("question"),
                        criteria=entry.get("evaluation_criteria"),
                    )
                    for entry in entries
                ]
            )
        except (ValidationError, TypeError) as error:
            raise ValueError("a question has no type, words or criteria") from error


async def write_questions(
    texts: CounterfactualTemplates, talk: Conversation, prompt: str, rule: str, shows: str, *, factual: bool
) -> tuple[WeightedQuestion, ...]:
    """Return the questions about an image of a group, as written by the model."""
    if texts.is_published("write-scores"):
        section = texts.fill(f"questions-{'factual' if factual else 'counterfactual'}", {})
        values = {"input_prompt": prompt, "assessment_points": shows, "section": section}
        return accept(parse_questions(await _ask_as_published(texts, talk, "write-scores", values), shows))
    text = texts.fill("write-scores", {"prompt": prompt, "rule": rule, "shows": shows})
    return accept(parse_questions(accept(await talk.ask("writer", text, ScoresAnswer)).questions, shows))


async def _write_rule_question(
    texts: CounterfactualTemplates, talk: Conversation, prompt: str, shows: str
) -> tuple[WeightedQuestion, ...]:
    """Return the single question about an image of the rule probe, as written by the model."""
    answers: Sequence[QuestionAnswer]
    if texts.is_published("write-rule-question"):
        values = {"input_prompt": prompt, "assessment_points": shows}
        answers = await _ask_as_published(texts, talk, "write-rule-question", values)
    else:
        text = texts.fill("write-rule-question", {"prompt": prompt, "shows": shows})
        answer = accept(await talk.ask("writer", text, RuleQuestionAnswer))
        answers = [QuestionAnswer(dimension="assessment", question=answer.question, criteria=answer.criteria)]
    return accept(parse_questions(answers, shows, {"assessment": 1}))


async def _ask_as_published(
    texts: CounterfactualTemplates, talk: Conversation, name: str, values: dict[str, str]
) -> Sequence[QuestionAnswer]:
    system, user = texts.messages(name, values)
    before = (Message("system", (system,)),) if system else ()
    return accept(await talk.ask("writer", user, ListedQuestions, before=before)).questions


# What holds in the picture. A group has a law of its own; prompts that exist only have their words.
_FACTUAL = "all that is so in our own world, since the words change nothing of it"
_COUNTERFACTUAL = "what these words themselves say of it, and what follows from that; all else is as in our own world"


class QuestionAuthoring(AuthoringTask):
    """Authoring of questions; a slot holds the questions of one prompt and of any prompt that shares them."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._items: tuple[Item[CounterfactualSpec], ...] = plan.choices.prompts
        self._sets = question_sets(self._items)
        self._covered = {name for questions in self._sets for name in questions.items}
        self._is_of_rules = plan.suite == CF_WORLD_RULES
        name = "write-rule-question" if self._is_of_rules else "write-scores"
        self._texts = CounterfactualTemplates((name,), prompts)

    @property
    def likeness(self) -> Similarity:
        return Similarity(lambda spec: None, lambda spec, other: False, "duplicate", None, same_words=False)

    @property
    def shapes(self) -> Mapping[str, object]:
        prompts = [[item.id, item.level, item.prompt, item.spec.assessment] for item in self._items]
        digest = hashlib.sha256(json.dumps(prompts, ensure_ascii=False).encode()).hexdigest()[:16]
        return {"questions_for": f"{len(prompts)}, sha256 {digest}", "prompts": self._texts.versions}

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec]:
        item = self._sets[slot.id].source
        shows, is_factual = item.spec.assessment, item.level == 1
        if self._is_of_rules:
            questions = await _write_rule_question(self._texts, talk, item.prompt, shows)
        else:
            rule = _FACTUAL if is_factual else _COUNTERFACTUAL
            questions = await write_questions(self._texts, talk, item.prompt, rule, shows, factual=is_factual)
        return replace(item, spec=replace(item.spec, questions=questions), version=self._plan.version)

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        return {
            "prompts_with_questions": sum(len(self._sets[outcome.slot].items) for outcome in accepted),
            "prompts_without_assessment_point": [item.id for item in self._items if item.id not in self._covered],
        }

    def fewest_questions(self, first: str) -> int:
        return 1

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        specs: dict[str, CounterfactualSpec] = {}
        for outcome in stands.accepted:
            if not isinstance(outcome.result, Rejection):
                specs |= dict.fromkeys(self._sets[outcome.slot].items, outcome.result.spec)
        return tuple(
            replace(item, spec=replace(item.spec, questions=specs[item.id].questions), version=self._plan.version)
            if item.id in specs
            else replace(item, version=self._plan.version)
            for item in self._items
            if item.id in specs or item.id not in self._covered
        )
