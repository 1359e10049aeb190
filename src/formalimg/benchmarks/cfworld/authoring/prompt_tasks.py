"""Authoring tasks for single prompts: outcomes described without their names, and pairs of an object and a partner."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import (
    AcceptedItems,
    AttemptOutcome,
    AuthoringState,
    Rejection,
    Similarity,
    accept,
    refuse,
)
from formalimg.benchmarks.authoring.task import AuthoringPlan, AuthoringTask, Slot
from formalimg.benchmarks.cfworld.authoring.choices import NamedOutcome, builtin_outcomes
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    DescriptionAnswer,
    PairAnswer,
    RarityAnswer,
    SamenessAnswer,
    clean_fields,
    draw_hints,
    first_objection,
    stem_share,
    word_stems,
)
from formalimg.benchmarks.cfworld.group_checks import find_comparison, find_unsafe_word
from formalimg.benchmarks.cfworld.items import items_of_pair
from formalimg.benchmarks.cfworld.spec import CF_WORLD_DENOMINALISED, CounterfactualSpec
from formalimg.types import Item

# --- outcomes

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
    fault = _find_name_fault(answer, described, named) or _find_wording_fault(answer, described)
    return fault or f"{before}{described}{after}"


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
        self._named_outcomes = plan.choices.named_outcomes or builtin_outcomes()
        self._texts = CounterfactualTemplates(("write-description", "check-description"), prompts)

    @property
    def likeness(self) -> Similarity:
        return Similarity(lambda spec: spec.group, lambda spec, other: True, "duplicate", None)

    @property
    def shapes(self) -> Mapping[str, object]:
        prompts = [[named.explicit.id, named.explicit.prompt, named.implicit] for named in self._named_outcomes]
        digest = hashlib.sha256(json.dumps(prompts, ensure_ascii=False).encode()).hexdigest()[:16]
        return {"outcomes": f"{len(prompts)}, sha256 {digest}", "prompts": self._texts.versions}

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec]:
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
        return {"outcomes_marked": sum(self._named_outcomes[outcome.slot].outcome is not None for outcome in accepted)}


# --- pairs

_NEAR = 0.8
_MOST_WORDS = 4
_AROUND = 1  # So many words may go with a partner, as in on or in, besides its article
_PAIR_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


class ObjectPair(NamedTuple):
    """An object, its rare and its common partner, and a prompt for each pairing."""

    a: str
    rare: str
    common: str
    rare_prompt: str
    common_prompt: str


def parse_pair(answer: PairAnswer) -> ObjectPair | Rejection:
    """Return the pair in an answer, or a rejection if any of its texts fails a check."""
    texts = clean_fields({name: getattr(answer, name) for name in ObjectPair._fields})
    if isinstance(texts, Rejection):
        return texts
    pair = ObjectPair(**texts)
    if unsafe := next(filter(None, map(find_unsafe_word, pair)), None):
        return Rejection("unsafe", f"the pair says {unsafe!r}")
    return _find_form_fault(pair) or _find_content_fault(pair) or _find_frame_fault(pair) or pair


def _find_form_fault(pair: ObjectPair) -> Rejection | None:
    for name in ("a", "rare", "common"):
        if not 1 <= len(_split_words(getattr(pair, name))) <= _MOST_WORDS:
            text = truncate(getattr(pair, name), 80, 20)
            return Rejection("form", f"{name} must be one to {_MOST_WORDS} words: {text}")
    for prompt in (pair.rare_prompt, pair.common_prompt):
        if not prompt[0].isupper() or prompt[-1] not in ".!?":
            return Rejection("form", f"no sentence: {truncate(prompt, 200, 50)}")
    return None


def _find_content_fault(pair: ObjectPair) -> Rejection | None:
    for prompt, partner, other in ((pair.rare_prompt, "rare", "common"), (pair.common_prompt, "common", "rare")):
        for name in ("a", partner):
            if not _mentions_name(prompt, getattr(pair, name)):
                return Rejection("thing not said", f"{truncate(prompt, 200, 50)} has no {getattr(pair, name)!r}")
        if _mentions_name(prompt, getattr(pair, other)):
            return Rejection("thing not said", f"{truncate(prompt, 200, 50)} has {getattr(pair, other)!r} as well")
    return None


def _find_frame_fault(pair: ObjectPair) -> Rejection | None:
    """Reject prompts that differ in more than the partner and the words that depend on it."""
    rare, common = _split_words(pair.rare_prompt), _split_words(pair.common_prompt)
    start = _count_shared(rare, common)
    end = _count_shared(rare[start:][::-1], common[start:][::-1])
    for words, partner in ((rare, pair.rare), (common, pair.common)):
        between = words[start : len(words) - end]
        more = [word for word in between if word not in (*_split_words(partner), "a", "the")]
        if len(more) > _AROUND or (set(_split_words(pair.a)) - set(_split_words(partner))) & set(between):
            return Rejection("another frame", f"differs in {' '.join(between)!r}, not only in {partner!r}")
    return None


def _count_shared(words: Sequence[str], other_words: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, other_words, strict=False)))


def _mentions_name(prompt: str, name: str) -> bool:
    return f" {' '.join(_split_words(name))} " in f" {' '.join(_split_words(prompt))} "


def _split_words(text: str) -> list[str]:
    return ["a" if word == "an" else word for word in _PAIR_WORD.findall(text.lower())]


class PairAuthoring(AuthoringTask):
    """Authoring of rare pairs; a slot holds a pair, represented by its rare item."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = CounterfactualTemplates(("write-pair", "check-pair"), prompts)

    @property
    def likeness(self) -> Similarity:
        return Similarity(
            lambda pair: (frozenset(_split_words(pair.a)), frozenset(_split_words(pair.rare))),
            lambda pair, other: True,
            "duplicate",
            _NEAR,
            lambda item, notes: ObjectPair(*notes["pair"]),
        )

    @property
    def shapes(self) -> Mapping[str, object]:
        return {"prompts": self._texts.versions}

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec]:
        kinds = {"thing": "things", "letter": "letters", "bond": "bonds"}
        hint = draw_hints(tuple(kinds.values()), "pairs", self._plan.seed, number * self._plan.per_level + slot.id)
        text = self._texts.fill("write-pair", dict(zip(kinds, hint, strict=True)))
        pair = accept(parse_pair(accept(await talk.ask("writer", text, PairAnswer))))
        refuse(shelf.objection(pair.rare_prompt, pair, slot.level))
        check = accept(await talk.ask("checker", self._texts.fill("check-pair", pair._asdict()), RarityAnswer))
        notes["pair"] = list(pair)
        refuse(
            first_objection(
                check.why,
                (check.safe, "check: unsafe"),
                (check.rare, "check: not rare"),
                (check.common, "check: not common"),
            )
        )
        return items_of_pair(slot.id + 1, pair._asdict(), self._plan.version)[1]

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        return {"pairs": len(accepted)}

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        return tuple(
            item
            for outcome in sorted(stands.accepted, key=lambda outcome: outcome.slot)
            for item in items_of_pair(
                outcome.slot + 1, ObjectPair(*outcome.notes["pair"])._asdict(), self._plan.version
            )
        )
