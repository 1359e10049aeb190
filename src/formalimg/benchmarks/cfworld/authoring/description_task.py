"""Authoring task: describe an outcome without naming it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.acceptance import AcceptedItems, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Rejection, accept, refuse
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld.authoring.choices import NamedOutcome, shipped_outcomes
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    DescriptionAnswer,
    SamenessAnswer,
    clean_fields,
    draw_hints,
    first_objection,
    stem_share,
    word_stems,
)
from formalimg.benchmarks.cfworld.group_checks import find_comparison, find_unsafe_word
from formalimg.benchmarks.cfworld.spec import CF_WORLD_DENOMINALISED, CounterfactualSpec
from formalimg.types import Item

_REPEATED = 0.8  # A description with this part of the words of what is kept says it again
_KEPT = 0.5
"""At least this part of the outcome's words, without its names, stands in the description: only nouns are replaced."""

_WORD = re.compile(r"[a-z]+")


def apply_description(answer: DescriptionAnswer, named: NamedOutcome) -> str | Rejection:
    """Return the explicit prompt with its outcome replaced by the description, otherwise unchanged."""
    context = _find_context(answer.outcome, named)
    if isinstance(context, Rejection):
        return context
    before, after = context
    texts = clean_fields({"described": answer.described})
    if isinstance(texts, Rejection):
        return texts
    described = texts["described"]
    if not described[0].isupper() or described[-1] not in ".!?":
        return Rejection("form", f"no sentence: {truncate(described, 200, 50)}")
    if unsafe := find_unsafe_word(described):
        return Rejection("unsafe", f"the description says {unsafe!r}")
    if word_stems(before + after) and stem_share(before + after, described) >= _REPEATED:
        return Rejection("more than the outcome", "the law or the scene is said again")
    return (
        _find_name_fault(answer, described, named)
        or _find_wording_fault(answer, described)
        or (f"{before}{described}{after}")
    )


def _find_context(quoted: str, named: NamedOutcome) -> tuple[str, str] | Rejection:
    """Return the text before and after the outcome in the explicit prompt."""
    prompt, shortened = named.explicit.prompt, truncate(quoted, 200, 50)
    if named.outcome is not None:
        if quoted.strip() != named.outcome.strip():
            return Rejection("outcome not quoted", f"not the marked part: {shortened}")
        return prompt.removesuffix(named.outcome), ""
    if not quoted.strip() or prompt.count(quoted) != 1:
        return Rejection("outcome not quoted", f"not in the prompt, or more than once: {shortened}")
    before, _, after = prompt.partition(quoted)
    if not (before + after).strip() or before[-1:].isalnum() or after[:1].isalnum():
        return Rejection("outcome not quoted", f"all of the prompt, or part of a word: {shortened}")
    if quoted.strip() in named.implicit or len(word_stems(quoted) - word_stems(named.implicit)) < 2:
        return Rejection("more than the outcome", f"this is of the law or the scene: {shortened}")
    return before, after


def _find_name_fault(answer: DescriptionAnswer, described: str, source: NamedOutcome) -> Rejection | None:
    implicit, outcome, description = (_ending_stems(text) for text in (source.implicit, answer.outcome, described))
    names = [stem for name in answer.named for stem in sorted(_ending_stems(name))]
    if any(stem not in outcome for stem in names) or not set(names) - implicit:
        return Rejection("not described", "the names given are not those of what comes of it")
    remaining = [stem for stem in names if stem in description]
    return Rejection("not described", f"says {remaining[0]!r} all the same") if remaining else None


def _find_wording_fault(answer: DescriptionAnswer, described: str) -> Rejection | None:
    """Reject a description that changes more than the nouns or adds a comparison."""
    comparison = find_comparison(described)
    if comparison is not None and comparison not in answer.outcome:
        return Rejection("comparison", f"says {comparison!r}")
    other_stems = word_stems(answer.outcome) - word_stems(" ".join(answer.named))
    lost = sorted(other_stems - word_stems(described))
    if len(lost) > (1 - _KEPT) * len(other_stems):
        return Rejection(
            "more than the nouns", f"{len(lost)} of {len(other_stems)} other words are gone, as {lost[0]!r}…"
        )
    return None


def _ending_stems(text: str) -> frozenset[str]:
    return frozenset(re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in _WORD.findall(text.lower()))


class DescriptionAuthoring(AuthoringTask):
    """Authoring of descriptions for the outcomes of existing items."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._named_outcomes = plan.choices.named_outcomes or shipped_outcomes()
        self._texts = CounterfactualTemplates(("write-description", "check-description"), prompts)

    @property
    def likeness(self) -> Similarity:
        """The rule for duplicates: there is one slot per group, so only identical prompts can repeat."""
        return Similarity(lambda spec: spec.group, lambda spec, other: True, "duplicate", None)

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the settings that shape the items: the prompts to describe and the template versions."""
        prompts = [[named.explicit.id, named.explicit.prompt, named.implicit] for named in self._named_outcomes]
        digest = hashlib.sha256(json.dumps(prompts, ensure_ascii=False).encode()).hexdigest()[:16]
        return {"outcomes": f"{len(prompts)}, sha256 {digest}", "prompts": self._texts.versions}

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec]:
        """Return the explicit item with its outcome described instead of named."""
        named = self._named_outcomes[slot.id]
        (way,) = draw_hints(("ways",), named.explicit.id, self._plan.seed, number)
        values = {
            "explicit": named.explicit.prompt,
            "implicit": named.implicit,
            "outcome": named.outcome or "(not marked: find it yourself; it is what the second prompt does not have)",
            "way": way,
        }
        answer = accept(await talk.ask("writer", self._texts.fill("write-description", values), DescriptionAnswer))
        prompt = accept(apply_description(answer, named))
        refuse(shelf.objection(prompt, named.explicit.spec, slot.level))
        values = {"outcome": answer.outcome, "described": " ".join(answer.described.split()), "prompt": prompt}
        check = accept(await talk.ask("checker", self._texts.fill("check-description", values), SamenessAnswer))
        refuse(
            first_objection(
                check.why,
                (check.safe, "check: unsafe"),
                (check.same, "check: another outcome"),
                (check.nameless, "check: named"),
            )
        )
        return replace(named.explicit, suite=CF_WORLD_DENOMINALISED, prompt=prompt, version=self._plan.version)

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """Return the number of accepted outcomes that were marked in advance."""
        return {"outcomes_marked": sum(self._named_outcomes[outcome.slot].outcome is not None for outcome in accepted)}
