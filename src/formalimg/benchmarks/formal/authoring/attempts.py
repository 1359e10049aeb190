"""Attempts at FormalImg items: ask the writer, check by logic, ask the checker (section 2.3 of the paper)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AcceptedItems, AttemptOutcome, Rejection, Similarity, accept, refuse
from formalimg.benchmarks.authoring.task import AuthoringPlan, AuthoringTask, Slot, clean_prompt
from formalimg.benchmarks.formal.authoring.checks import CheckedFormula, check_formula, find_agreement
from formalimg.benchmarks.formal.authoring.templates import (
    Assignment,
    Draft,
    FormulaTemplates,
    PublishedDraft,
    PublishedReview,
    Review,
    draw_assignment,
)
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.lexicon import WordingError
from formalimg.logic.syntax import Value, atoms
from formalimg.types import Item


class FormulaAuthoring(AuthoringTask):
    """Authoring of FormalImg items."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = FormulaTemplates(plan.suite, prompts)

    @property
    def likeness(self) -> Similarity:
        return Similarity(_formula_signature, _are_equivalent, "duplicate formula", 0.8)

    @property
    def shapes(self) -> Mapping[str, object]:
        return {"prompts": self._texts.versions}

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[FormulaSpec]:
        notes |= {"agreement": None, "polished": False}
        assignment = draw_assignment(self._plan, slot, number)
        draft = await self._ask_writer(assignment, talk)
        words = accept(clean_prompt(draft.prompt))
        allowed = self._texts.allowed(assignment)
        sound = accept(await asyncio.to_thread(check_formula, draft.formula, allowed, seed=slot.id))
        spec = FormulaSpec.of(sound.formula, sound.witness)
        for may_mend in (True, False):  # once more if the checker mends the words, since these may be wrong as well
            notes["agreement"] = await asyncio.to_thread(find_agreement, words, sound.formula, self._plan.suite)
            if notes["agreement"] == "different":
                refuse(Rejection("words say otherwise", f"read as something else: {words}"))
            refuse(shelf.objection(words, spec, slot.level))
            mended = accept(_mend_words(await self._ask_checker(words, sound, talk), words, may_mend))
            if mended == words:
                tags = (f"written-by:{talk.name_of('writer')}",)
                return Item(self._plan.suite, str(slot.id), slot.level, words, spec, tags, self._plan.version)
            words, notes["polished"] = mended, True
        raise AssertionError("repaired words are judged without another repair")

    async def _ask_writer(self, assignment: Assignment, talk: Conversation) -> Draft:
        text = self._texts.asking_to_write(assignment)
        if self._texts.writes_as_published:
            return accept(await talk.ask("writer", text, PublishedDraft)).as_ours
        return accept(await talk.ask("writer", text, Draft))

    async def _ask_checker(self, words: str, sound: CheckedFormula, talk: Conversation) -> Review:
        text = self._texts.asking_to_check(words, sound.formula)
        if self._texts.checks_as_published:
            return accept(await talk.ask("checker", text, PublishedReview)).as_ours
        return accept(await talk.ask("checker", text, Review))

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        readings = Counter(outcome.notes.get("agreement") or "not understood" for outcome in accepted)
        return {
            "polished": sum(bool(outcome.notes.get("polished")) for outcome in accepted),
            "words_read_by_us": dict(sorted(readings.items())),
        }


def _mend_words(review: Review, words: str, may_mend: bool) -> str | Rejection:
    """Return the prompt to continue with, possibly edited by the checker, or a rejection."""
    reason = truncate(" ".join(review.reason.split()), 250, 50) or "no reason given"
    if not review.plausible:
        return Rejection("check: implausible", reason)
    better = clean_prompt(review.better_prompt) if may_mend and review.better_prompt is not None else words
    if isinstance(better, Rejection) or better == words:
        return words if review.aligned else Rejection("check: not aligned", reason)
    return better


def _formula_signature(spec: FormulaSpec) -> Hashable:
    return tuple(
        sorted(
            (atom.predicate, *(word.text for word in atom.arguments if isinstance(word, Value)))
            for atom in atoms(spec.formula)
        )
    )


def _are_equivalent(first: FormulaSpec, second: FormulaSpec) -> bool:
    try:
        return is_equivalent_as_written(first.formula, second.formula)
    except WordingError:
        return True  # too many variables look alike to tell: what may be a duplicate is not taken
