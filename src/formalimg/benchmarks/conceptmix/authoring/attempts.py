"""Attempts to author a ConceptMix item, step by step (paper, section 2.3 and appendix C)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from formalimg.benchmarks.authoring.acceptance import AcceptedItems, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Rejection
from formalimg.benchmarks.authoring.task import AuthoringPlan, AuthoringTask, Slot
from formalimg.benchmarks.conceptmix.authoring.checks import (
    caption_after_check,
    check_caption,
    check_questions,
    complete_binding_from,
    is_incomplete,
    open_relations,
)
from formalimg.benchmarks.conceptmix.authoring.templates import (
    BindingAnswer,
    ConceptMixture,
    ConceptTemplates,
    DrawnConcepts,
    ItemTalk,
    PublishedTalk,
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

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class ConceptAttempt:
    """A single attempt to author an item."""

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
    def _item_talk(self) -> ItemTalk:
        return (PublishedTalk if self.texts.is_published else ItemTalk)(self.talk, self.texts)

    async def run(self) -> AttemptOutcome:
        """Run the attempt."""
        drawn = draw_mixture(self.plan, self.pools, self.slot, self.number)
        self.notes["drawn"] = [concept.category for concept in drawn.concepts]
        try:
            result: Item[ConceptSpec] | Rejection = await self._write(drawn)
        except _RejectedError as error:
            result = error.rejection
        return AttemptOutcome(self.slot.id, self.number, result, self.talk.expense, self.notes)

    async def _write(self, drawn: DrawnConcepts) -> Item[ConceptSpec]:
        mix = await self._mix(drawn)
        caption = await self._write_caption(mix)
        caption = await self._check_caption(mix, caption)
        spec = mix.spec(await self._write_questions(mix, caption))
        return Item(self.plan.suite, str(self.slot.id), self.slot.level, caption, spec, (), self.plan.version)

    async def _mix(self, drawn: DrawnConcepts) -> ConceptMixture:
        """Complete the binding and reject conflicts and duplicates (step 2)."""
        _reject_conflicts(drawn.binding)
        binding = await self._complete(drawn)
        self.notes["added"] = len(binding.objects) - len(drawn.binding.objects)
        _reject_conflicts(binding)
        mix = make_mixture(drawn.concepts, binding, self.pools)
        twin = self.shelf.twin(mix.spec(template_questions(mix.concepts, mix.binding)))
        if twin is not None:
            raise _RejectedError(twin)
        return mix

    async def _complete(self, drawn: DrawnConcepts) -> Binding:
        if not is_incomplete(drawn.binding):
            self.notes["bound_by"] = "nobody"
            return drawn.binding
        self.notes["bound_by"] = self.plan.choices.binder
        if self.plan.choices.binder == "offline":
            binding = complete_binding(drawn.binding, drawn.rng)
            return _accept(open_relations() if is_incomplete(binding) else binding)
        answer = _accept(await self._item_talk.bind(drawn.binding))
        return _accept(complete_binding_from(drawn.binding, answer, self.pools))

    async def _write_caption(self, mix: ConceptMixture) -> str:
        """Request the caption from the writer and check it (step 3)."""
        answer = _accept(await self._item_talk.write(mix))
        return self._accept_new(check_caption(answer, mix, self.pools), mix)

    async def _check_caption(self, mix: ConceptMixture, caption: str) -> str:
        """Request validation from the checker (step 4); in the published code its repetition replaces the caption."""
        repeat = self.plan.choices.profile == "official-code"
        answer = await self._item_talk.check(mix, caption, repeat=repeat)
        if isinstance(answer, Rejection):
            raise _RejectedError(answer)
        return self._accept_new(caption_after_check(answer, caption, mix, self.pools), mix)

    def _accept_new(self, result: str | Rejection, mix: ConceptMixture) -> str:
        """Return the caption, or raise `_RejectedError` if it duplicates an existing item."""
        caption = _accept(result)
        spec = mix.spec(template_questions(mix.concepts, mix.binding))
        return _accept(self.shelf.objection(caption, spec, self.slot.level) or caption)

    async def _write_questions(self, mix: ConceptMixture, caption: str) -> Sequence[str]:
        """Return one question for each statement (sections 2.4 and C.3)."""
        if self.plan.choices.questions == "template":
            return template_questions(mix.concepts, mix.binding)
        answer = _accept(await self._item_talk.ask_questions(mix, caption))
        return _accept(check_questions(answer.questions, mix, self.pools))


class _RejectedError(Exception):
    """Raised internally to end an attempt with a rejection."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection)
        self.rejection = rejection


def _accept(result: _Result | Rejection) -> _Result:
    """Return `result`, or raise `_RejectedError` if it is a rejection."""
    if isinstance(result, Rejection):
        raise _RejectedError(result)
    return result


def _reject_conflicts(binding: Binding) -> None:
    for conflict in find_conflicts(binding):
        raise _RejectedError(Rejection("conflict", conflict.detail))


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
        """The duplicate rule: items are the same if they request the same concepts for the same objects."""
        return Similarity(content_key, lambda first, second: True, "duplicate concepts", None)

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the concept pools, all choices, and the prompt versions."""
        choices = self._plan.choices
        return {
            "concepts": _digest_pools(self._pools),
            "profile": choices.profile,
            "only": choices.only,
            "difficulty": choices.difficulty,
            "binder": choices.binder,
            "questions": choices.questions,
            "prompts": self._texts.versions,
        }

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        return await ConceptAttempt(self._plan, slot, number, self._pools, talk, self._texts, shelf).run()

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """Count drawn and accepted concepts by category and attempts by level, because rejections are uneven."""
        answered = [outcome for outcome in tried if outcome.is_final]
        drawn, accepted_categories = _count_categories(answered), _count_categories(accepted)
        levels, full = self._levels(answered), self._levels(accepted)
        return {
            "bound_by": dict(sorted(Counter(outcome.notes["bound_by"] for outcome in accepted).items())),
            "objects_added": sum(outcome.notes["added"] for outcome in accepted),
            "by_category": {name: {"drawn": drawn[name], "accepted": accepted_categories[name]} for name in CATEGORIES},
            "by_level": {level: {"tried": levels[level], "accepted": full[level]} for level in self._plan.levels},
        }

    def fewest_questions(self, first: str) -> int:
        """Return the minimum number of requests per item, with those for binding and questions if needed."""
        return 2 + (first == BindingAnswer.__name__) + int(self._plan.choices.questions == "model")

    def _levels(self, outcomes: Sequence[AttemptOutcome]) -> Counter[int]:
        level_of = {slot.id: slot.level for slot in self._plan.slots}
        return Counter(level_of[outcome.slot] for outcome in outcomes)


def _count_categories(outcomes: Sequence[AttemptOutcome]) -> Counter[str]:
    return Counter(category for outcome in outcomes for category in outcome.notes["drawn"])


def _digest_pools(pools: Pools) -> str:
    data = {name: [pool.values, pool.statement, sorted(pool.sentences.items())] for name, pool in pools.items()}
    return "sha256 " + hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
