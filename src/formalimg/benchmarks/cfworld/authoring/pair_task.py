"""Authoring task: prompts with a rare and a common partner of the same object."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.acceptance import AcceptedItems, AuthoringState, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Reason, Rejection
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld.authoring.answers import PairAnswer, RarityAnswer
from formalimg.benchmarks.cfworld.authoring.choices import PAIRS
from formalimg.benchmarks.cfworld.authoring.laws import hints
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    clean_fields,
    one_line,
    unsafe_word,
)
from formalimg.benchmarks.cfworld.questions import pair_spec
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.types import Item

_TEXTS = ("a", "rare", "common", "rare_prompt", "common_prompt")
_MOST_WORDS = 4
_AROUND = 1
"""So many words may go with a partner, as in on or in, besides its article."""

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


class ObjectPair(NamedTuple):
    """An object, its two partners, and a prompt with each."""

    a: str
    rare: str
    common: str
    rare_prompt: str
    common_prompt: str


def parse_pair(answer: PairAnswer) -> ObjectPair | Rejection:
    """Return the pair of an answer, if its texts pass all checks."""
    texts = clean_fields({name: getattr(answer, name) for name in _TEXTS})
    if isinstance(texts, Rejection):
        return texts
    pair = ObjectPair(**texts)
    for text in pair:
        unsafe = unsafe_word(text)
        if unsafe is not None:
            return Rejection("unsafe", f"the pair {unsafe}")
    return _form(pair) or _saying(pair) or _frame(pair) or pair


def signature(pair: ObjectPair) -> tuple[frozenset[str], frozenset[str]]:
    """What pairs have in common that put the same objects together: the object and its rare partner."""
    return frozenset(_words(pair.a)), frozenset(_words(pair.rare))


def pair_objection(answer: RarityAnswer) -> Rejection | None:
    """Return why the checker rejects a pair; None if it accepts it."""
    found: tuple[tuple[bool, Reason], ...] = (
        (answer.safe, "check: unsafe"),
        (answer.rare, "check: not rare"),
        (answer.common, "check: not common"),
    )
    return next((Rejection(reason, one_line(answer.why)) for fine, reason in found if not fine), None)


def _form(pair: ObjectPair) -> Rejection | None:
    for name in ("a", "rare", "common"):
        if not 1 <= len(_words(getattr(pair, name))) <= _MOST_WORDS:
            given = truncate(getattr(pair, name), 80, 20)
            return Rejection("form", f"{name} must be one to {_MOST_WORDS} words: {given}")
    for prompt in (pair.rare_prompt, pair.common_prompt):
        if not prompt[0].isupper() or prompt[-1] not in ".!?":
            return Rejection("form", f"no sentence: {truncate(prompt, 200, 50)}")
    return None


def _saying(pair: ObjectPair) -> Rejection | None:
    for prompt, own, other in ((pair.rare_prompt, "rare", "common"), (pair.common_prompt, "common", "rare")):
        for name in ("a", own):
            if not _has(prompt, getattr(pair, name)):
                return Rejection("thing not said", f"{truncate(prompt, 200, 50)} has no {getattr(pair, name)!r}")
        if _has(prompt, getattr(pair, other)):
            return Rejection("thing not said", f"{truncate(prompt, 200, 50)} has {getattr(pair, other)!r} as well")
    return None


def _frame(pair: ObjectPair) -> Rejection | None:
    """The prompts must be the same but for the partner and what has to go with it."""
    rare, common = _words(pair.rare_prompt), _words(pair.common_prompt)
    start = _alike(rare, common)
    end = _alike(rare[start:][::-1], common[start:][::-1])
    for words, partner in ((rare, pair.rare), (common, pair.common)):
        between = words[start : len(words) - end]
        more = [word for word in between if word not in (*_words(partner), "a", "the")]
        if len(more) > _AROUND or (set(_words(pair.a)) - set(_words(partner))) & set(between):
            return Rejection("another frame", f"differs in {' '.join(between)!r}, not only in {partner!r}")
    return None


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _has(prompt: str, name: str) -> bool:
    return f" {' '.join(_words(name))} " in f" {' '.join(_words(prompt))} "


def _words(text: str) -> list[str]:
    """The words of a text; articles count as the same, since they go with what follows."""
    return ["a" if word == "an" else word for word in _WORD.findall(text.lower())]


_NEAR = 0.8


class PairAuthoring(AuthoringTask):
    """Authoring of rare pairs; a slot holds a pair, represented by its rare item."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = CounterfactualTemplates(("write-pair", "check-pair"), prompts)

    @property
    def likeness(self) -> Similarity:
        """Pairs are the same if they put the same objects together."""
        return Similarity(
            signature, lambda one, other: True, "duplicate", _NEAR, lambda item, notes: ObjectPair(*notes["pair"])
        )

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the versions of the templates."""
        return {"prompts": self._texts.versions}

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems) -> AttemptOutcome:
        """Run one attempt."""
        notes: dict[str, Any] = {}
        result = await self._written(slot, number, talk, shelf, notes)
        return AttemptOutcome(slot.id, number, result, talk.expense, notes)

    def summary(self, tried: Sequence[AttemptOutcome], accepted: Sequence[AttemptOutcome]) -> Mapping[str, object]:
        """Return how many pairs there are; each gives two items."""
        return {"pairs": len(accepted)}

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        """Return the two items of each pair."""
        return tuple(
            item
            for outcome in sorted(stands.accepted, key=lambda outcome: outcome.slot)
            for item in pair_items(ObjectPair(*outcome.notes["pair"]), outcome.slot, self._plan.version)
        )

    async def _written(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec] | Rejection:
        hint = hints(("things", "letters", "bonds"), "pairs", self._plan.seed, number * self._plan.per_level + slot.id)
        answer = await talk.ask("writer", self._texts.asking_for_pair(*hint), PairAnswer)
        if isinstance(answer, Rejection):
            return answer
        pair = parse_pair(answer)
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
        return pair_objection(check) or pair_items(pair, slot.id, self._plan.version)[1]


def pair_items(pair: ObjectPair, number: int, version: str) -> list[Item[CounterfactualSpec]]:
    """Return the two items of a pair: common partner (level 1) and rare partner (level 2)."""
    name = f"pair-{number + 1:03}"
    return [
        Item(PAIRS, f"{name}-{kind}", level, prompt, pair_spec(name, pair.a, partner, prompt), (), version)
        for level, kind, partner, prompt in (
            (1, "common", pair.common, pair.common_prompt),
            (2, "rare", pair.rare, pair.rare_prompt),
        )
    ]
