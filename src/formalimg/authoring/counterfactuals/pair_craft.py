"""Rare pairs: what is asked in one attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formalimg.authoring.conversation import Conversation
from formalimg.authoring.counterfactuals.answers import PairAnswer, RarityAnswer
from formalimg.authoring.counterfactuals.choices import PAIRS
from formalimg.authoring.counterfactuals.hints import hints
from formalimg.authoring.counterfactuals.pairing import Pair, objection, pair_of, signature
from formalimg.authoring.counterfactuals.texts import Texts
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.rejection import Rejection
from formalimg.authoring.shelf import Likeness, Shelf
from formalimg.suites import CounterfactualSpec, Item, pair_spec

_NEAR = 0.8


class PairCraft:
    """How pairs are written: each place is for a pair, and its rare item stands for it."""

    def __init__(self, plan: WritingPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = Texts(("write-pair", "check-pair"), prompts)

    @property
    def likeness(self) -> Likeness:
        """Pairs are the same if they put the same objects together."""
        return Likeness(
            signature, lambda one, other: True, "duplicate", _NEAR, lambda item, notes: Pair(*notes["pair"])
        )

    @property
    def shapes(self) -> Mapping[str, object]:
        """The versions of the texts."""
        return {"prompts": self._texts.versions}

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: Shelf) -> Outcome:
        """Make one attempt."""
        notes: dict[str, Any] = {}
        result = await self._written(slot, number, talk, shelf, notes)
        return Outcome(slot.id, number, result, talk.expense, notes)

    def summary(self, tried: Sequence[Outcome], accepted: Sequence[Outcome]) -> Mapping[str, object]:
        """How many pairs there are; each gives two items."""
        return {"pairs": len(accepted)}

    async def _written(
        self, slot: Slot, number: int, talk: Conversation, shelf: Shelf, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec] | Rejection:
        hint = hints(("things", "letters", "bonds"), "pairs", self._plan.seed, number * self._plan.per_level + slot.id)
        answer = await talk.ask("writer", self._texts.asking_for_pair(*hint), PairAnswer)
        if isinstance(answer, Rejection):
            return answer
        pair = pair_of(answer)
        if isinstance(pair, Rejection):
            return pair
        known = shelf.objection(pair.rare_prompt, pair, slot.level)
        if known is not None:
            return known
        text = self._texts.asking_to_check_pair(pair.a, pair.rare, pair.common, (pair.rare_prompt, pair.common_prompt))
        check = await talk.ask("checker", text, RarityAnswer)
        if isinstance(check, Rejection):
            return check
        notes["pair"] = list(pair)
        return objection(check) or pair_items(pair, slot.id, self._plan.version)[1]


def pair_items(pair: Pair, number: int, version: str) -> list[Item[CounterfactualSpec]]:
    """The two items of a pair: with the common partner (level 1), and with the rare one (level 2)."""
    name = f"pair-{number + 1:03}"
    return [
        Item(PAIRS, f"{name}-{kind}", level, prompt, pair_spec(name, pair.a, partner, prompt), (), version)
        for level, kind, partner, prompt in (
            (1, "common", pair.common, pair.common_prompt),
            (2, "rare", pair.rare, pair.rare_prompt),
        )
    ]
