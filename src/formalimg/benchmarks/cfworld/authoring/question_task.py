"""Authoring task: questions for prompts that exist, of CF-World (appendix C.2) or of its rule probe (section 5.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from formalimg.benchmarks.authoring.acceptance import AcceptedItems, AuthoringState, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Rejection
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld.authoring.choices import RULES, QuestionSet, question_sets
from formalimg.benchmarks.cfworld.authoring.group_task import WrittenDimension, parse_questions
from formalimg.benchmarks.cfworld.authoring.question_requests import ask_for_questions, ask_for_rule_question
from formalimg.benchmarks.cfworld.authoring.templates import CounterfactualTemplates
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, WeightedQuestion
from formalimg.types import Item

_FACTUAL = "all that is so in our own world, since the words change nothing of it"
_COUNTERFACTUAL = "what these words themselves say of it, and what follows from that; all else is as in our own world"
"""What holds in the picture. A group has a law of its own; prompts that exist only have their words."""

_ONE: Mapping[WrittenDimension, int] = {"assessment": 1}


class QuestionAuthoring(AuthoringTask):
    """Authoring of questions; a slot holds the questions of one prompt, and of the implicit one of its group."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._items: tuple[Item[CounterfactualSpec], ...] = plan.choices.prompts
        self._sets = question_sets(self._items)
        self._is_of_rules = plan.suite == RULES
        self._texts = CounterfactualTemplates(
            ("write-rule-question" if self._is_of_rules else "write-scores",), prompts
        )

    @property
    def likeness(self) -> Similarity:
        """Questions belong to their prompt: prompts that exist may be the same, and so may their questions."""
        return Similarity(lambda spec: None, lambda one, other: False, "duplicate", None, same_words=False)

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the prompts with what decides, and the version of the template."""
        known = [[item.id, item.level, item.prompt, item.spec.assessment] for item in self._items]
        digest = hashlib.sha256(json.dumps(known, ensure_ascii=False).encode()).hexdigest()[:16]
        return {"questions_for": f"{len(known)}, sha256 {digest}", "prompts": self._texts.versions}

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        return AttemptOutcome(slot.id, number, await self._written(self._sets[slot.id], talk), talk.expense)

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """Return how many prompts have questions now, and those for which none can be written."""
        covered = {name for each in self._sets for name in each.items}
        left = [item.id for item in self._items if item.id not in covered]
        asked = sum(len(self._sets[outcome.slot].items) for outcome in accepted)
        return {"prompts_with_questions": asked, "prompts_without_assessment_point": left}

    def fewest_questions(self, first: str) -> int:
        """Return how many questions it takes: the answer is checked without a model."""
        return 1

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        """Return the prompts with the questions that were written for them, in their own order.

        A prompt whose questions are missing is left out; one that has no assessment point stays as it is, unscored.
        """
        covered = {name for each in self._sets for name in each.items}
        specs: dict[str, CounterfactualSpec] = {}
        for outcome in stands.accepted:
            if not isinstance(outcome.result, Rejection):
                specs |= dict.fromkeys(self._sets[outcome.slot].items, outcome.result.spec)
        return tuple(
            replace(item, spec=replace(item.spec, questions=specs[item.id].questions), version=self._plan.version)
            if item.id in specs
            else replace(item, version=self._plan.version)
            for item in self._items
            if item.id in specs or item.id not in covered
        )

    async def _written(self, wanted: QuestionSet, talk: Conversation) -> Item[CounterfactualSpec] | Rejection:
        questions = await (
            self._rule_question(wanted.asked, talk) if self._is_of_rules else self._asked(wanted.asked, talk)
        )
        if isinstance(questions, Rejection):
            return questions
        item = wanted.asked
        return replace(item, spec=replace(item.spec, questions=questions), version=self._plan.version)

    async def _asked(
        self, item: Item[CounterfactualSpec], talk: Conversation
    ) -> tuple[WeightedQuestion, ...] | Rejection:
        shows, is_factual = item.spec.assessment, item.level == 1
        rule = _FACTUAL if is_factual else _COUNTERFACTUAL
        answer = await ask_for_questions(self._texts, talk, item.prompt, rule, shows, 1 if is_factual else 2)
        return answer if isinstance(answer, Rejection) else parse_questions(answer, shows)

    async def _rule_question(
        self, item: Item[CounterfactualSpec], talk: Conversation
    ) -> tuple[WeightedQuestion, ...] | Rejection:
        answer = await ask_for_rule_question(self._texts, talk, item.prompt, item.spec.assessment)
        return answer if isinstance(answer, Rejection) else parse_questions(answer, item.spec.assessment, _ONE)
