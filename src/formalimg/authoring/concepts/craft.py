"""What is particular to ConceptMix: pools to draw from, and what became of what was drawn."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from formalimg.authoring.concepts.attempting import Attempt
from formalimg.authoring.concepts.mix import draw
from formalimg.authoring.concepts.texts import Texts
from formalimg.authoring.conversation import Conversation
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.shelf import Likeness, Shelf
from formalimg.errors import FormalimgError
from formalimg.suites import CATEGORIES, Pools, content_of, load_pools, most_items


class ConceptCraft:
    """How items of ConceptMix are written."""

    def __init__(self, plan: WritingPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = Texts(prompts)
        choices = plan.choices
        self._pools = load_pools(choices.concepts, profile=choices.profile, difficulty=choices.difficulty)
        for level in plan.levels:  # what cannot be had is told before anyone is asked
            draw(plan, self._pools, Slot(0, level), 0)
            _require_enough(plan, self._pools, level)

    @property
    def likeness(self) -> Likeness:
        """Items are the same if they ask for the same concepts of the same objects; similar words are fine."""
        return Likeness(content_of, lambda one, other: True, "duplicate concepts", None)

    @property
    def shapes(self) -> Mapping[str, object]:
        """The concepts that can be drawn, all choices, and the versions of the texts."""
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

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: Shelf) -> Outcome:
        """Make one attempt."""
        return await Attempt(self._plan, slot, number, self._pools, talk, self._texts, shelf).made()

    def summary(self, tried: Sequence[Outcome], accepted: Sequence[Outcome]) -> Mapping[str, object]:
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

    def _levels(self, outcomes: Sequence[Outcome]) -> Counter[int]:
        level_of = {slot.id: slot.level for slot in self._plan.slots}
        return Counter(level_of[outcome.slot] for outcome in outcomes)


def _require_enough(plan: WritingPlan, pools: Pools, level: int) -> None:
    """Refuse to ask for more different items than there are."""
    most = most_items(level, pools, profile=plan.choices.profile, only=plan.choices.only)
    if most < plan.per_level:
        raise FormalimgError(
            f"there are at most {most:,} different items with k={level}, fewer than {plan.per_level:,}: "
            "ask for fewer with --per-level, or give more concepts"
        )


def _categories(outcomes: Sequence[Outcome]) -> Counter[str]:
    return Counter(category for outcome in outcomes for category in outcome.notes["drawn"])


def _digest(pools: Pools) -> str:
    known = {name: [pool.values, pool.statement, sorted(pool.sentences.items())] for name, pool in pools.items()}
    return "sha256 " + hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
