"""Attempts at ConceptMix items, step by step (paper, 2.3 and appendix C)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from formalimg.benchmarks.authoring.acceptance import AcceptedItems, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Rejection
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.conceptmix.authoring.checks import (
    caption_after_check,
    check_caption,
    complete_binding_from,
    is_incomplete,
    open_relations,
    ordered_questions,
)
from formalimg.benchmarks.conceptmix.authoring.templates import (
    BindingAnswer,
    CaptionAnswer,
    ConceptMixture,
    ConceptTemplates,
    DrawnConcepts,
    PublishedTalk,
    QuestionsAnswer,
    RepeatedAnswer,
    ValidityAnswer,
    draw_mixture,
    make_mixture,
)
from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.conflicts import find_conflicts
from formalimg.benchmarks.conceptmix.generation import content_key
from formalimg.benchmarks.conceptmix.pools import Pools, load_pools
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.sampling import require_enough
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Binding, ConceptSpec
from formalimg.types import Item


@dataclass(frozen=True)
class ConceptAttempt:
    """One attempt at an item."""

    plan: AuthoringPlan  # which attempt at which item
    slot: Slot
    number: int
    pools: Pools  # what concepts are drawn from
    talk: Conversation  # asks the models
    texts: ConceptTemplates  # what they are sent
    shelf: AcceptedItems  # the items there are
    # `drawn`, the categories of the concepts; `bound_by`, who closed the binding; `added`, how many objects were
    # added to it
    notes: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _published(self) -> PublishedTalk | None:
        return PublishedTalk(self.talk, self.texts) if self.texts.is_published else None

    async def made(self) -> AttemptOutcome:
        """Run the attempt."""
        drawn = draw_mixture(self.plan, self.pools, self.slot, self.number)
        self.notes["drawn"] = [concept.category for concept in drawn.concepts]
        result = await self._written(drawn)
        return AttemptOutcome(self.slot.id, self.number, result, self.talk.expense, self.notes)

    async def _written(self, drawn: DrawnConcepts) -> Item[ConceptSpec] | Rejection:
        mix = await self._mixed(drawn)
        if isinstance(mix, Rejection):
            return mix
        caption = await self._caption(mix)
        if isinstance(caption, Rejection):
            return caption
        caption = await self._checked(mix, caption)
        if isinstance(caption, Rejection):
            return caption
        questions = await self._questions(mix, caption)
        if isinstance(questions, Rejection):
            return questions
        level, spec = self.slot.level, mix.spec(questions)
        return Item(self.plan.suite, str(self.slot.id), level, caption, spec, (), self.plan.version)

    async def _mixed(self, drawn: DrawnConcepts) -> ConceptMixture | Rejection:
        """Step 2: bind the concepts, and check them before any model is asked."""
        clash = _clash(drawn.binding)
        if clash is not None:
            return clash
        binding = await self._bound(drawn)
        if isinstance(binding, Rejection):
            return binding
        self.notes["added"] = len(binding.objects) - len(drawn.binding.objects)
        clash = _clash(binding)
        if clash is not None:
            return clash
        mix = make_mixture(drawn.concepts, binding, self.pools)
        return self.shelf.twin(mix.spec(template_questions(mix.concepts, mix.binding))) or mix

    async def _bound(self, drawn: DrawnConcepts) -> Binding | Rejection:
        if not is_incomplete(drawn.binding):
            self.notes["bound_by"] = "nobody"
            return drawn.binding
        self.notes["bound_by"] = self.plan.choices.binder
        if self.plan.choices.binder == "offline":
            binding = complete_binding(drawn.binding, drawn.chance)
            return open_relations() if is_incomplete(binding) else binding
        answer = await (
            self._published.bind(drawn.binding)
            if self._published
            else self.talk.ask("writer", self.texts.asking_to_bind(drawn.binding), BindingAnswer)
        )
        return answer if isinstance(answer, Rejection) else complete_binding_from(drawn.binding, answer, self.pools)

    async def _caption(self, mix: ConceptMixture) -> str | Rejection:
        """Step 3."""
        answer = await (
            self._published.write(mix)
            if self._published
            else self.talk.ask("writer", self.texts.asking_for_caption(mix), CaptionAnswer)
        )
        return answer if isinstance(answer, Rejection) else self._new(check_caption(answer, mix, self.pools), mix)

    async def _checked(self, mix: ConceptMixture, caption: str) -> str | Rejection:
        """Step 4. The published code takes what the checker repeats for the caption; the paper does not."""
        repeat = self.plan.choices.profile == "official-code"
        form: type[ValidityAnswer | RepeatedAnswer] = RepeatedAnswer if repeat else ValidityAnswer
        answer = await (
            self._published.check(repeat=repeat)
            if self._published
            else self.talk.ask("checker", self.texts.asking_to_check(mix, caption, repeat=repeat), form)
        )
        return (
            answer
            if isinstance(answer, Rejection)
            else self._new(caption_after_check(answer, caption, mix, self.pools), mix)
        )

    def _new(self, caption: str | Rejection, mix: ConceptMixture) -> str | Rejection:
        """The caption, unless another item has it, so that no question is asked for nothing."""
        if isinstance(caption, Rejection):
            return caption
        spec = mix.spec(template_questions(mix.concepts, mix.binding))
        return self.shelf.objection(caption, spec, self.slot.level) or caption

    async def _questions(self, mix: ConceptMixture, caption: str) -> Sequence[str] | Rejection:
        """One for each statement; section 2.4 and C.3."""
        if self.plan.choices.questions == "template":
            return template_questions(mix.concepts, mix.binding)
        answer = await (
            self._published.ask_questions(mix)
            if self._published
            else self.talk.ask("writer", self.texts.asking_for_questions(mix, caption), QuestionsAnswer)
        )
        return answer if isinstance(answer, Rejection) else ordered_questions(answer.questions, mix, self.pools)


def _clash(binding: Binding) -> Rejection | None:
    clash = next(iter(find_conflicts(binding)), None)
    return None if clash is None else Rejection("conflict", clash.detail)


class ConceptAuthoring(AuthoringTask):
    """Authoring of ConceptMix items."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = ConceptTemplates(prompts)
        choices = plan.choices
        self._pools = load_pools(choices.concepts, profile=choices.profile, difficulty=choices.difficulty)
        for level in plan.levels:  # fail before any request is sent
            draw_mixture(plan, self._pools, Slot(0, level), 0)
            require_enough(level, plan.per_level, self._pools, choices.profile, choices.only)

    @property
    def likeness(self) -> Similarity:
        """Items are the same if they ask for the same concepts of the same objects; similar words are fine."""
        return Similarity(content_key, lambda one, other: True, "duplicate concepts", None)

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the concept pools, all choices, and the versions of the prompts."""
        choices = self._plan.choices
        return {
            "concepts": _digest(self._pools),
            "profile": choices.profile,
            "only": choices.only,
            "difficulty": choices.difficulty,
            "binder": choices.binder,
            "questions": choices.questions,
            "prompts": self._texts.versions,
        }

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        return await ConceptAttempt(self._plan, slot, number, self._pools, talk, self._texts, shelf).made()

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """How many concepts were drawn and accepted of each category and level: rejections are not evenly spread."""
        answered = [outcome for outcome in tried if outcome.is_final]
        drawn, kept = _categories(answered), _categories(accepted)
        levels, full = self._levels(answered), self._levels(accepted)
        return {
            "bound_by": dict(sorted(Counter(outcome.notes["bound_by"] for outcome in accepted).items())),
            "objects_added": sum(outcome.notes["added"] for outcome in accepted),
            "by_category": {name: {"drawn": drawn[name], "accepted": kept[name]} for name in CATEGORIES},
            "by_level": {level: {"tried": levels[level], "accepted": full[level]} for level in self._plan.levels},
        }

    def fewest_questions(self, first: str) -> int:
        """Return how many questions an item takes at least: also the binding and its questions, if models are asked."""
        return 2 + (first == BindingAnswer.__name__) + int(self._plan.choices.questions == "model")

    def _levels(self, outcomes: Sequence[AttemptOutcome]) -> Counter[int]:
        level_of = {slot.id: slot.level for slot in self._plan.slots}
        return Counter(level_of[outcome.slot] for outcome in outcomes)


def _categories(outcomes: Sequence[AttemptOutcome]) -> Counter[str]:
    return Counter(category for outcome in outcomes for category in outcome.notes["drawn"])


def _digest(pools: Pools) -> str:
    known = {name: [pool.values, pool.statement, sorted(pool.sentences.items())] for name, pool in pools.items()}
    return "sha256 " + hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
