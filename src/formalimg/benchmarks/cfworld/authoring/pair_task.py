"""Authoring task: write prompts that pair an object with a rare and with a common partner."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.acceptance import AcceptedItems, AuthoringState, Similarity
from formalimg.benchmarks.authoring.conversation import Conversation
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Rejection, accept, refuse
from formalimg.benchmarks.authoring.task import AuthoringTask
from formalimg.benchmarks.authoring.writing_plan import AuthoringPlan, Slot
from formalimg.benchmarks.cfworld.authoring.templates import (
    CounterfactualTemplates,
    PairAnswer,
    RarityAnswer,
    clean_fields,
    draw_hints,
    first_objection,
)
from formalimg.benchmarks.cfworld.group_checks import find_unsafe_word
from formalimg.benchmarks.cfworld.items import items_of_pair
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.types import Item

_NEAR = 0.8
_MOST_WORDS = 4
_AROUND = 1  # So many words may go with a partner, as in on or in, besides its article
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


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
    """Reject prompts that differ in more than the partner and the words that go with it."""
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
    return ["a" if word == "an" else word for word in _WORD.findall(text.lower())]


_NEAR = 0.8


class PairAuthoring(AuthoringTask):
    """Authoring of rare pairs; a slot holds a pair, represented by its rare item."""

    def __init__(self, plan: AuthoringPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = CounterfactualTemplates(("write-pair", "check-pair"), prompts)

    @property
    def likeness(self) -> Similarity:
        """The rule for duplicates: pairs are the same if they combine the same object and rare partner."""
        return Similarity(
            lambda pair: (frozenset(_split_words(pair.a)), frozenset(_split_words(pair.rare))),
            lambda pair, other: True,
            "duplicate",
            _NEAR,
            lambda item, notes: ObjectPair(*notes["pair"]),
        )

    @property
    def shapes(self) -> Mapping[str, object]:
        """Return the settings that shape the items: the template versions."""
        return {"prompts": self._texts.versions}

    async def write(
        self, slot: Slot, number: int, talk: Conversation, shelf: AcceptedItems, notes: dict[str, Any]
    ) -> Item[CounterfactualSpec]:
        """Return the rare item of a pair."""
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
        """Return the number of pairs, each of which has two items."""
        return {"pairs": len(accepted)}

    def items(self, stands: AuthoringState) -> tuple[Item[Any], ...]:
        """Return the two items of each pair."""
        return tuple(
            item
            for outcome in sorted(stands.accepted, key=lambda outcome: outcome.slot)
            for item in items_of_pair(
                outcome.slot + 1, ObjectPair(*outcome.notes["pair"])._asdict(), self._plan.version
            )
        )
