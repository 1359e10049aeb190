"""Groups from laws: what is asked in one attempt, and what is said of all of them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from formalimg.authoring.conversation import Conversation
from formalimg.authoring.counterfactuals.answers import CriteriaAnswer, GroupAnswer, ScoresAnswer
from formalimg.authoring.counterfactuals.choices import our_laws
from formalimg.authoring.counterfactuals.grouping import group_of, nearly_the_same, objection
from formalimg.authoring.counterfactuals.hints import hints
from formalimg.authoring.counterfactuals.questioning import questions_of
from formalimg.authoring.counterfactuals.texts import Texts
from formalimg.authoring.counterfactuals.written_group import Questions, WrittenGroup, encode_questions
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.rejection import Rejection
from formalimg.authoring.shelf import Likeness, Shelf
from formalimg.suites import CounterfactualSpec, Group, Item

_NEAR = 0.8


class GroupCraft:
    """How groups of CF-World are written: each place is for a group, and its explicit item stands for it."""

    def __init__(self, plan: WritingPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._choices = plan.counterfactual
        self._laws = self._choices.laws or our_laws()
        questions = ("write-scores",) if self._choices.questions == "model" else ()
        self._texts = Texts(("write-group", "check-group", *questions), prompts)

    @property
    def likeness(self) -> Likeness:
        """Groups are the same if `check_groups` says so."""
        return Likeness(lambda group: None, nearly_the_same, "duplicate", _NEAR, _group_in)

    @property
    def shapes(self) -> Mapping[str, object]:
        """The laws, where questions come from, and the versions of the texts."""
        laws = hashlib.sha256(json.dumps(self._laws, ensure_ascii=False).encode()).hexdigest()[:16]
        return {
            "laws": f"{len(self._laws)}, sha256 {laws}",
            "per_law": self._choices.per_law,
            "questions": self._choices.questions,
            "prompts": self._texts.versions,
        }

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: Shelf) -> Outcome:
        """Make one attempt."""
        notes: dict[str, Any] = {}
        result = await self._written(slot, number, talk, shelf, notes)
        return Outcome(slot.id, number, result, talk.expense, notes)

    def summary(self, tried: Sequence[Outcome], accepted: Sequence[Outcome]) -> Mapping[str, object]:
        """How many groups each field got, and which laws got fewer than they should."""
        groups = [Group.from_fields(outcome.notes["group"]) for outcome in accepted]
        fields = Counter(group.branch or group.discipline for group in groups)
        had = Counter(outcome.slot // self._choices.per_law for outcome in accepted)
        short = [law.law for number, law in enumerate(self._laws) if had[number] < self._choices.per_law]
        return {"groups": len(groups), "by_field": dict(sorted(fields.items())), "laws_short_of_groups": short}

    async def _written(
        self, slot: Slot, number: int, talk: Conversation, shelf: Shelf, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec] | Rejection:
        place, index = divmod(slot.id, self._choices.per_law)
        law = self._laws[place]
        hint = hints(("places", "changes"), law.law, self._plan.seed, number * self._choices.per_law + index)
        answer = await talk.ask("writer", self._texts.asking_for_group(law, *hint), GroupAnswer)
        if isinstance(answer, Rejection):
            return answer
        group = group_of(answer, law, f"law-{place + 1:03}-{index + 1}")
        if isinstance(group, Rejection):
            return group
        known = shelf.objection(group.explicit, group, slot.level)
        if known is not None:
            return known
        criteria = await talk.ask("checker", self._texts.asking_to_check_group(group), CriteriaAnswer)
        if isinstance(criteria, Rejection):
            return criteria
        refused = objection(criteria)
        if refused is not None:
            return refused
        questions = await self._questions(group, talk)
        if isinstance(questions, Rejection):
            return questions
        notes.update(group=asdict(group), questions=encode_questions(questions))
        return WrittenGroup(group, questions).items(self._plan.version)[1]

    async def _questions(self, group: Group, talk: Conversation) -> Questions | Rejection:
        """Those of the factual image, and those of the explicit one, which are the implicit one's as well."""
        if self._choices.questions == "template":
            return {}
        found = {}
        for level, prompt, rule in ((1, group.factual, group.law), (2, group.explicit, group.changed)):
            shows = group.shows_factual if level == 1 else group.shows
            text = self._texts.asking_for_questions(prompt, rule, shows)
            answer = await talk.ask("writer", text, ScoresAnswer)
            if isinstance(answer, Rejection):
                return answer
            questions = questions_of(answer.questions, shows)
            if isinstance(questions, Rejection):
                return questions
            found[level] = questions
        return found


def _group_in(item: Item[Any], notes: Mapping[str, Any]) -> Group:
    return Group.from_fields(notes["group"])
