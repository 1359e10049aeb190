"""Attempts at FormalImg items: ask the writer, check by logic, ask the checker (paper, 2.3)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.acceptance import AcceptedItems, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Rejection
from formalimg.benchmarks.authoring.task import AuthoringTask, clean_prompt
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.formal.authoring.answers import Draft, PublishedDraft, PublishedReview, Review
from formalimg.benchmarks.formal.authoring.checks import CheckedFormula, agreement, check_formula
from formalimg.benchmarks.formal.authoring.templates import Assignment, FormulaTemplates, draw_assignment
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.lexicon import WordingError
from formalimg.logic.syntax import Value, atoms
from formalimg.types import Item


@dataclass(frozen=True)
class FormulaAttempt:
    """One attempt at an item."""

    plan: AuthoringPlan  # which attempt at which item
    slot: Slot
    number: int
    talk: Conversation  # asks the models
    texts: FormulaTemplates  # what they are sent
    shelf: AcceptedItems  # the items there are
    # `agreement`, what our own reader says of the words; `polished`, whether the checker mended them
    notes: dict[str, Any] = field(default_factory=lambda: {"agreement": None, "polished": False})

    async def made(self) -> AttemptOutcome:
        """Run the attempt."""
        result = await self._written()
        return AttemptOutcome(self.slot.id, self.number, result, self.talk.expense, self.notes)

    async def _written(self) -> Item[FormulaSpec] | Rejection:
        assignment = draw_assignment(self.plan, self.slot, self.number)
        draft = await self._ask_writer(assignment)
        if isinstance(draft, Rejection):
            return draft
        words = clean_prompt(draft.prompt)
        if isinstance(words, Rejection):
            return words
        allowed = self.texts.allowed(assignment)
        sound = await asyncio.to_thread(check_formula, draft.formula, allowed, seed=self.slot.id)
        if isinstance(sound, Rejection):
            return sound
        return await self._checked(words, sound)

    async def _checked(self, words: str, sound: CheckedFormula) -> Item[FormulaSpec] | Rejection:
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
            review = await self._ask_checker(words, sound)
            if isinstance(review, Rejection):
                return review
            judged = _judged(review, words, may_mend)
            if isinstance(judged, Rejection):
                return judged
            if judged == words:
                return self._item(words, spec)
            words, self.notes["polished"] = judged, True
        raise AssertionError("mended words are judged without mending them again")

    async def _ask_writer(self, assignment: Assignment) -> Draft | Rejection:
        text = self.texts.asking_to_write(assignment)
        if not self.texts.writes_as_published:
            return await self.talk.ask("writer", text, Draft)
        draft = await self.talk.ask("writer", text, PublishedDraft)
        return draft if isinstance(draft, Rejection) else draft.as_ours

    async def _ask_checker(self, words: str, sound: CheckedFormula) -> Review | Rejection:
        text = self.texts.asking_to_check(words, sound.formula)
        if not self.texts.checks_as_published:
            return await self.talk.ask("checker", text, Review)
        review = await self.talk.ask("checker", text, PublishedReview)
        return review if isinstance(review, Rejection) else review.as_ours

    def _item(self, words: str, spec: FormulaSpec) -> Item[FormulaSpec]:
        tags = (f"written-by:{self.talk.name_of('writer')}",)
        return Item(self.plan.suite, str(self.slot.id), self.slot.level, words, spec, tags, self.plan.version)


def _judged(review: Review, words: str, may_mend: bool) -> str | Rejection:
    """The words to go on with, or why there are none."""
    reason = truncate(" ".join(review.reason.split()), 250, 50) or "no reason given"
    if not review.plausible:
        return Rejection("check: implausible", reason)
    better = clean_prompt(review.better_prompt) if may_mend and review.better_prompt is not None else words
    if isinstance(better, Rejection) or better == words:
        return words if review.aligned else Rejection("check: not aligned", reason)
    return better


_NEAR = 0.8


class FormulaAuthoring(AuthoringTask):
    """Authoring of FormalImg items."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = FormulaTemplates(plan.suite, prompts)

    @property
    def likeness(self) -> Similarity:
        """Items are the same if their formulas say the same up to names and order."""
        return Similarity(_signature, _same, "duplicate formula", _NEAR)

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the versions of the templates."""
        return {"prompts": self._texts.versions}

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        return await FormulaAttempt(self._plan, slot, number, talk, self._texts, shelf).made()

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """How many prompts the checker mended, and what our own reader said of the words."""
        read = Counter(outcome.notes.get("agreement") or "not understood" for outcome in accepted)
        return {
            "polished": sum(bool(outcome.notes.get("polished")) for outcome in accepted),
            "words_read_by_us": dict(sorted(read.items())),
        }


def _signature(spec: FormulaSpec) -> Hashable:
    return tuple(
        sorted(
            (atom.predicate, *(word.text for word in atom.arguments if isinstance(word, Value)))
            for atom in atoms(spec.formula)
        )
    )


def _same(one: FormulaSpec, other: FormulaSpec) -> bool:
    try:
        return is_equivalent_as_written(one.formula, other.formula)
    except WordingError:
        return True  # too many variables look alike to tell: what may be a duplicate is not taken
