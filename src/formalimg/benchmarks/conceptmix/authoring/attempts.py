"""Authoring of ConceptMix items, step by step (paper, section 2.3 and appendix C)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AcceptedItems, AttemptOutcome, Rejection, Similarity, accept, refuse
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
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.sampling import require_enough
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Binding, ConceptSpec
from formalimg.types import Item


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
        data = {
            name: [pool.values, pool.statement, sorted(pool.sentences.items())] for name, pool in self._pools.items()
        }
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
        options = ("profile", "only", "difficulty", "binder", "questions")
        return {
            "concepts": f"sha256 {digest}",
            **{name: getattr(self._plan.choices, name) for name in options},
            "prompts": self._texts.versions,
        }

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[ConceptSpec]:
        """Return an item, after steps 2 to 4 of section 2.3 and the questions of section C.3.

        The notes are `drawn` (the categories of the concepts), `bound_by` (who completed the binding) and `added` (the
        number of objects added to it).
        """
        plan, pools = self._plan, self._pools
        item_talk = (PublishedTalk if self._texts.is_published else ItemTalk)(talk, self._texts)
        drawn = draw_mixture(plan, pools, slot, number)
        notes["drawn"] = [concept.category for concept in drawn.concepts]
        _refuse_conflicts(drawn.binding)
        binding = await self._complete(drawn, item_talk, notes)
        notes["added"] = len(binding.objects) - len(drawn.binding.objects)
        _refuse_conflicts(binding)
        mix = make_mixture(drawn.concepts, binding, pools)
        questions = template_questions(mix.concepts, mix.binding)
        refuse(shelf.twin(mix.spec(questions)))
        caption = accept(check_caption(accept(await item_talk.write(mix)), mix, pools))
        refuse(shelf.objection(caption, mix.spec(questions), slot.level))
        # In the published code the checker's repetition replaces the caption.
        answer = await item_talk.check(mix, caption, repeat=plan.choices.profile == "official-code")
        caption = accept(answer if isinstance(answer, Rejection) else caption_after_check(answer, caption, mix, pools))
        refuse(shelf.objection(caption, mix.spec(questions), slot.level))
        if plan.choices.questions == "model":
            written = accept(await item_talk.ask_questions(mix, caption))
            questions = accept(check_questions(written.questions, mix, pools))
        return Item(plan.suite, str(slot.id), slot.level, caption, mix.spec(questions), (), plan.version)

    async def _complete(self, drawn: DrawnConcepts, item_talk: ItemTalk, notes: dict[str, Any]) -> Binding:
        is_complete = not is_incomplete(drawn.binding)
        notes["bound_by"] = "nobody" if is_complete else self._plan.choices.binder
        if is_complete:
            return drawn.binding
        if self._plan.choices.binder == "offline":
            binding = complete_binding(drawn.binding, drawn.rng)
            return accept(open_relations() if is_incomplete(binding) else binding)
        answer = accept(await item_talk.bind(drawn.binding))
        return accept(complete_binding_from(drawn.binding, answer, self._pools))

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


def _refuse_conflicts(binding: Binding) -> None:
    for conflict in find_conflicts(binding):
        refuse(Rejection("conflict", conflict.detail))
