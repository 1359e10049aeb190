"""Outcomes without their names: what is asked in one attempt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from formalimg.authoring.conversation import Conversation
from formalimg.authoring.counterfactuals.answers import DescriptionAnswer, SamenessAnswer
from formalimg.authoring.counterfactuals.choices import DENOMINALISED, our_outcomes
from formalimg.authoring.counterfactuals.describing import described_prompt, objection
from formalimg.authoring.counterfactuals.hints import hints
from formalimg.authoring.counterfactuals.texts import Texts
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.rejection import Rejection
from formalimg.authoring.shelf import Likeness, Shelf
from formalimg.suites import CounterfactualSpec, Item


class DescriptionCraft:
    """How outcomes of existing items are described; everything else of an item stays as it is."""

    def __init__(self, plan: WritingPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._told = plan.counterfactual.told or our_outcomes()
        self._texts = Texts(("write-description", "check-description"), prompts)

    @property
    def likeness(self) -> Likeness:
        """There is one place for each group, so that only the same words can come twice."""
        return Likeness(lambda spec: spec.group, lambda one, other: True, "duplicate", None)

    @property
    def shapes(self) -> Mapping[str, object]:
        """The prompts whose outcomes are described, and the versions of the texts."""
        known = [[told.explicit.id, told.explicit.prompt, told.implicit] for told in self._told]
        digest = hashlib.sha256(json.dumps(known, ensure_ascii=False).encode()).hexdigest()[:16]
        return {"outcomes": f"{len(known)}, sha256 {digest}", "prompts": self._texts.versions}

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: Shelf) -> Outcome:
        """Make one attempt."""
        result = await self._written(slot, number, talk, shelf)
        return Outcome(slot.id, number, result, talk.expense)

    def summary(self, tried: Sequence[Outcome], accepted: Sequence[Outcome]) -> Mapping[str, object]:
        """How many outcomes were marked from the start, and not found by the writer."""
        return {"outcomes_marked": sum(self._told[outcome.slot].outcome is not None for outcome in accepted)}

    async def _written(
        self, slot: Slot, number: int, talk: Conversation, shelf: Shelf
    ) -> Item[CounterfactualSpec] | Rejection:
        told = self._told[slot.id]
        (way,) = hints(("ways",), told.explicit.id, self._plan.seed, number)
        answer = await talk.ask("writer", self._texts.asking_to_describe(told, way), DescriptionAnswer)
        if isinstance(answer, Rejection):
            return answer
        prompt = described_prompt(answer, told)
        if isinstance(prompt, Rejection):
            return prompt
        known = shelf.objection(prompt, told.explicit.spec, slot.level)
        if known is not None:
            return known
        described = " ".join(answer.described.split())
        text = self._texts.asking_to_check_description(answer.outcome, described, prompt)
        check = await talk.ask("checker", text, SamenessAnswer)
        if isinstance(check, Rejection):
            return check
        version = self._plan.version
        return objection(check) or replace(told.explicit, suite=DENOMINALISED, prompt=prompt, version=version)
