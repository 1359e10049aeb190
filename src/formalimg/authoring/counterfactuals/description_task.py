"""Whether an outcome was described and nothing else was touched."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from formalimg._util.text import truncate
from formalimg.authoring.acceptance import Likeness, Shelf
from formalimg.authoring.conversation import Conversation
from formalimg.authoring.counterfactuals.answers import DescriptionAnswer, SamenessAnswer
from formalimg.authoring.counterfactuals.choices import DENOMINALISED, Told, our_outcomes
from formalimg.authoring.counterfactuals.laws import hints
from formalimg.authoring.counterfactuals.templates import Texts, fit_fields, in_one_line, roots, shared, unsafe_word
from formalimg.authoring.outcomes import Outcome, Reason, Rejection
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.suites import CounterfactualSpec, Item

_REPEATED = 0.8
"""A description with this part of the words of what is kept says it again."""

_WORD = re.compile(r"[a-z]+")


def described_prompt(answer: DescriptionAnswer, told: Told) -> str | Rejection:
    """The explicit prompt with the description in place of the outcome; all else stays, letter by letter."""
    parts = _around(answer.outcome, told)
    if isinstance(parts, Rejection):
        return parts
    before, after = parts
    texts = fit_fields({"described": answer.described})
    if isinstance(texts, Rejection):
        return texts
    described = texts["described"]
    if not described[0].isupper() or described[-1] not in ".!?":
        return Rejection("form", f"no sentence: {truncate(described, 200, 50)}")
    unsafe = unsafe_word(described)
    if unsafe is not None:
        return Rejection("unsafe", f"the description {unsafe}")
    kept = before + after
    if roots(kept) and shared(kept, described) >= _REPEATED:
        return Rejection("more than the outcome", "the law or the scene is said again")
    return _still_named(answer.named, answer.outcome, described, told) or f"{before}{described}{after}"


def objection(answer: SamenessAnswer) -> Rejection | None:
    """Why the checker would not use a description; None if it would."""
    found: tuple[tuple[bool, Reason], ...] = (
        (answer.safe, "check: unsafe"),
        (answer.same, "check: another outcome"),
        (answer.nameless, "check: named"),
    )
    return next((Rejection(reason, in_one_line(answer.why)) for fine, reason in found if not fine), None)


def _around(quoted: str, told: Told) -> tuple[str, str] | Rejection:
    """What stands before and after the outcome in the explicit prompt."""
    prompt, shown = told.explicit.prompt, truncate(quoted, 200, 50)
    if told.outcome is not None:
        if quoted.strip() != told.outcome.strip():
            return Rejection("outcome not quoted", f"not the marked part: {shown}")
        return prompt.removesuffix(told.outcome), ""
    if not quoted.strip() or prompt.count(quoted) != 1:
        return Rejection("outcome not quoted", f"not in the prompt, or more than once: {shown}")
    before, _, after = prompt.partition(quoted)
    if not (before + after).strip() or before[-1:].isalnum() or after[:1].isalnum():
        return Rejection("outcome not quoted", f"all of the prompt, or part of a word: {shown}")
    if quoted.strip() in told.implicit or len(roots(quoted) - roots(told.implicit)) < 2:
        return Rejection("more than the outcome", f"this is of the law or the scene: {shown}")
    return before, after


def _still_named(named: Sequence[str], outcome: str, described: str, told: Told) -> Rejection | None:
    """The names must be those of the outcome, tell something new, and be gone."""
    told_before, given, left = (_stems(text) for text in (told.implicit, outcome, described))
    names = [stem for name in named for stem in sorted(_stems(name))]
    strange = [stem for stem in names if stem not in given]
    if strange or not set(names) - told_before:
        return Rejection("not described", "the names given are not those of what comes of it")
    kept = [stem for stem in names if stem in left]
    return Rejection("not described", f"says {kept[0]!r} all the same") if kept else None


def _stems(text: str) -> frozenset[str]:
    """Words without common endings."""
    return frozenset(re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in _WORD.findall(text.lower()))


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
