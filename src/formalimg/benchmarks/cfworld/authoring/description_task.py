"""Authoring task: describe an outcome without naming it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.acceptance import AcceptedItems, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Reason, Rejection
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld.authoring.answers import DescriptionAnswer, SamenessAnswer
from formalimg.benchmarks.cfworld.authoring.choices import DENOMINALISED, NamedOutcome, shipped_outcomes
from formalimg.benchmarks.cfworld.authoring.laws import hints
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    clean_fields,
    one_line,
    shared_stems,
    unsafe_word,
    word_stems,
)
from formalimg.benchmarks.cfworld.group_checks import find_comparison
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.types import Item

_REPEATED = 0.8
"""A description with this part of the words of what is kept says it again."""

_KEPT = 0.5
"""At least this part of the outcome's words, without its names, stands in the description: only nouns are replaced."""

_WORD = re.compile(r"[a-z]+")


def apply_description(answer: DescriptionAnswer, named: NamedOutcome) -> str | Rejection:
    """The explicit prompt with the description in place of the outcome; all else stays, letter by letter."""
    parts = _around(answer.outcome, named)
    if isinstance(parts, Rejection):
        return parts
    before, after = parts
    texts = clean_fields({"described": answer.described})
    if isinstance(texts, Rejection):
        return texts
    described = texts["described"]
    if not described[0].isupper() or described[-1] not in ".!?":
        return Rejection("form", f"no sentence: {truncate(described, 200, 50)}")
    unsafe = unsafe_word(described)
    if unsafe is not None:
        return Rejection("unsafe", f"the description {unsafe}")
    kept = before + after
    if word_stems(kept) and shared_stems(kept, described) >= _REPEATED:
        return Rejection("more than the outcome", "the law or the scene is said again")
    objection = _still_named(answer.named, answer.outcome, described, named) or _not_only_nouns(answer, described)
    return objection or f"{before}{described}{after}"


def description_objection(answer: SamenessAnswer) -> Rejection | None:
    """Return why the checker rejects a description; None if it accepts it."""
    found: tuple[tuple[bool, Reason], ...] = (
        (answer.safe, "check: unsafe"),
        (answer.same, "check: another outcome"),
        (answer.nameless, "check: named"),
    )
    return next((Rejection(reason, one_line(answer.why)) for fine, reason in found if not fine), None)


def _around(quoted: str, named: NamedOutcome) -> tuple[str, str] | Rejection:
    """What stands before and after the outcome in the explicit prompt."""
    prompt, shown = named.explicit.prompt, truncate(quoted, 200, 50)
    if named.outcome is not None:
        if quoted.strip() != named.outcome.strip():
            return Rejection("outcome not quoted", f"not the marked part: {shown}")
        return prompt.removesuffix(named.outcome), ""
    if not quoted.strip() or prompt.count(quoted) != 1:
        return Rejection("outcome not quoted", f"not in the prompt, or more than once: {shown}")
    before, _, after = prompt.partition(quoted)
    if not (before + after).strip() or before[-1:].isalnum() or after[:1].isalnum():
        return Rejection("outcome not quoted", f"all of the prompt, or part of a word: {shown}")
    if quoted.strip() in named.implicit or len(word_stems(quoted) - word_stems(named.implicit)) < 2:
        return Rejection("more than the outcome", f"this is of the law or the scene: {shown}")
    return before, after


def _still_named(named: Sequence[str], outcome: str, described: str, source: NamedOutcome) -> Rejection | None:
    """The names must be those of the outcome, tell something new, and be gone."""
    named_before, given, left = (_stems(text) for text in (source.implicit, outcome, described))
    names = [stem for name in named for stem in sorted(_stems(name))]
    strange = [stem for stem in names if stem not in given]
    if strange or not set(names) - named_before:
        return Rejection("not described", "the names given are not those of what comes of it")
    kept = [stem for stem in names if stem in left]
    return Rejection("not described", f"says {kept[0]!r} all the same") if kept else None


def _not_only_nouns(answer: DescriptionAnswer, described: str) -> Rejection | None:
    """The sentence must be the same but for its nouns, and describe them without a comparison that it did not have."""
    comparison = find_comparison(described)
    if comparison is not None and comparison not in answer.outcome:
        return Rejection("comparison", f"says {comparison!r}")
    others = word_stems(answer.outcome) - word_stems(" ".join(answer.named))
    lost = sorted(others - word_stems(described))
    if len(lost) > (1 - _KEPT) * len(others):
        return Rejection("more than the nouns", f"{len(lost)} of {len(others)} other words are gone, as {lost[0]!r}…")
    return None


def _stems(text: str) -> frozenset[str]:
    """Words without common endings."""
    return frozenset(re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in _WORD.findall(text.lower()))


class DescriptionAuthoring(AuthoringTask):
    """Authoring of descriptions for the outcomes of existing items."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._named_outcomes = plan.choices.named_outcomes or shipped_outcomes()
        self._texts = CounterfactualTemplates(("write-description", "check-description"), prompts)

    @property
    def likeness(self) -> Similarity:
        """There is one place for each group, so that only the same words can come twice."""
        return Similarity(lambda spec: spec.group, lambda one, other: True, "duplicate", None)

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the described prompts and the versions of the templates."""
        known = [[named.explicit.id, named.explicit.prompt, named.implicit] for named in self._named_outcomes]
        digest = hashlib.sha256(json.dumps(known, ensure_ascii=False).encode()).hexdigest()[:16]
        return {"outcomes": f"{len(known)}, sha256 {digest}", "prompts": self._texts.versions}

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        result = await self._written(slot, number, talk, shelf)
        return AttemptOutcome(slot.id, number, result, talk.expense)

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """Return how many outcomes were marked beforehand."""
        return {"outcomes_marked": sum(self._named_outcomes[outcome.slot].outcome is not None for outcome in accepted)}

    async def _written(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems
    ) -> Item[CounterfactualSpec] | Rejection:
        named = self._named_outcomes[slot.id]
        (way,) = hints(("ways",), named.explicit.id, self._plan.seed, number)
        answer = await talk.ask("writer", self._texts.asking_to_describe(named, way), DescriptionAnswer)
        if isinstance(answer, Rejection):
            return answer
        prompt = apply_description(answer, named)
        if isinstance(prompt, Rejection):
            return prompt
        known = shelf.objection(prompt, named.explicit.spec, slot.level)
        if known is not None:
            return known
        described = " ".join(answer.described.split())
        text = self._texts.asking_to_check_description(answer.outcome, described, prompt)
        check = await talk.ask("checker", text, SamenessAnswer)
        if isinstance(check, Rejection):
            return check
        version = self._plan.version
        return description_objection(check) or replace(
            named.explicit, suite=DENOMINALISED, prompt=prompt, version=version
        )
