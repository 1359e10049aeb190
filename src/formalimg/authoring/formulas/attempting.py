"""One attempt at one item: ask the writer, check by logic, ask the checker (paper, 2.3)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from formalimg._util.text import truncate
from formalimg.authoring.conversation import Conversation
from formalimg.authoring.fitting import fit_words
from formalimg.authoring.formulas.agreeing import agreement
from formalimg.authoring.formulas.answers import Draft, Review
from formalimg.authoring.formulas.assignment import draw_assignment
from formalimg.authoring.formulas.examining import Sound, examine
from formalimg.authoring.formulas.texts import Texts
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.rejection import Rejection
from formalimg.authoring.shelf import Shelf
from formalimg.suites import FormulaSpec, Item


@dataclass(frozen=True)
class Attempt:
    """An attempt under way.

    Attributes:
        plan, slot, number: which attempt at which item.
        talk: asks the models.
        texts: what they are sent.
        shelf: the items there are.
        notes: `agreement`, what our own reader says of the words; `polished`, whether the checker mended them.
    """

    plan: WritingPlan
    slot: Slot
    number: int
    talk: Conversation
    texts: Texts
    shelf: Shelf
    notes: dict[str, Any] = field(default_factory=lambda: {"agreement": None, "polished": False})

    async def made(self) -> Outcome:
        """Make the attempt."""
        result = await self._written()
        return Outcome(self.slot.id, self.number, result, self.talk.expense, self.notes)

    async def _written(self) -> Item[FormulaSpec] | Rejection:
        assignment = draw_assignment(self.plan, self.slot, self.number)
        draft = await self.talk.ask("writer", self.texts.asking_to_write(assignment), Draft)
        if isinstance(draft, Rejection):
            return draft
        words = fit_words(draft.prompt)
        if isinstance(words, Rejection):
            return words
        sound = await asyncio.to_thread(examine, draft.formula, assignment, seed=self.slot.id)
        if isinstance(sound, Rejection):
            return sound
        return await self._checked(words, sound)

    async def _checked(self, words: str, sound: Sound) -> Item[FormulaSpec] | Rejection:
        """Ask the checker; once more if it mends the words, since mended words may be wrong as well."""
        spec = FormulaSpec.of(sound.formula, sound.witness)
        for may_mend in (True, False):
            read = await asyncio.to_thread(agreement, words, sound.formula, self.plan.suite)
            self.notes["agreement"] = read
            if read == "different":
                return Rejection("words say otherwise", f"read as something else: {words}")
            known = self.shelf.objection(words, spec, self.slot.level)
            if known is not None:
                return known
            review = await self.talk.ask("checker", self.texts.asking_to_check(words, sound.formula), Review)
            if isinstance(review, Rejection):
                return review
            judged = _judged(review, words, may_mend)
            if isinstance(judged, Rejection):
                return judged
            if judged == words:
                return self._item(words, spec)
            words, self.notes["polished"] = judged, True
        raise AssertionError("mended words are judged without mending them again")

    def _item(self, words: str, spec: FormulaSpec) -> Item[FormulaSpec]:
        tags = (f"written-by:{self.talk.name_of('writer')}",)
        return Item(self.plan.suite, str(self.slot.id), self.slot.level, words, spec, tags, self.plan.version)


def _judged(review: Review, words: str, may_mend: bool) -> str | Rejection:
    """The words to go on with, or why there are none."""
    reason = truncate(" ".join(review.reason.split()), 250, 50) or "no reason given"
    if not review.plausible:
        return Rejection("check: implausible", reason)
    better = fit_words(review.better_prompt) if may_mend and review.better_prompt is not None else words
    if isinstance(better, Rejection) or better == words:
        return words if review.aligned else Rejection("check: not aligned", reason)
    return better
