"""Acceptance of items: the state of an authoring run computed from its outcomes, with duplicate detection.

All open items are attempted once, and only then compared with each other, in the order of their ids; what is rejected
is attempted again in the next round. So it does not matter which answer comes first, or whether somebody pulled the
plug in between: the same answers give the same items.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Reason, Rejection
from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.types import Item

_WORD = re.compile(r"\w+")


@dataclass
class AuthoringState:
    """The state of an authoring run."""

    shelf: AcceptedItems  # the items accepted so far
    round: int = 0  # the number of the current attempt
    to_ask: tuple[Slot, ...] = ()  # slots without an answer in this round
    to_retry: tuple[Slot, ...] = ()  # slots whose answer of this round was rejected, with an attempt left
    missing: tuple[Slot, ...] = ()  # slots without an item after the last attempt
    rejections: Counter[Reason] = field(default_factory=Counter)
    unsettled: int = 0  # answers that passed all checks, and wait to be compared with those of their round
    accepted: list[AttemptOutcome] = field(default_factory=list)  # the outcomes that the items of the shelf came from


def current_state(plan: AuthoringPlan, outcomes: Iterable[AttemptOutcome], likeness: Similarity) -> AuthoringState:
    """Return the state of a plan after the given outcomes."""
    stands = AuthoringState(AcceptedItems(likeness))
    final: dict[tuple[int, int], AttemptOutcome] = {}
    for outcome in outcomes:
        if outcome.is_final:
            final.setdefault((outcome.slot, outcome.attempt), outcome)
        elif isinstance(outcome.result, Rejection) and outcome.attempt < plan.attempts:
            stands.rejections[outcome.result.reason] += 1
    open_slots = plan.slots
    for attempt in range(plan.attempts):
        answered = [final[slot.id, attempt] for slot in open_slots if (slot.id, attempt) in final]
        if len(answered) < len(open_slots):
            stands.round = attempt
            stands.to_ask = tuple(slot for slot in open_slots if (slot.id, attempt) not in final)
            rejected = {outcome.slot: outcome.result for outcome in answered if isinstance(outcome.result, Rejection)}
            if attempt + 1 < plan.attempts:
                stands.to_retry = tuple(slot for slot in open_slots if slot.id in rejected)
            stands.rejections.update(rejection.reason for rejection in rejected.values())
            stands.unsettled = len(answered) - len(rejected)
            return stands
        for outcome in answered:
            item = outcome.result
            if isinstance(item, Rejection):
                stands.rejections[item.reason] += 1
                continue
            compared = likeness.compared(item, outcome.notes)
            if twin := stands.shelf.objection(item.prompt, compared, item.level):
                stands.rejections[twin.reason] += 1
                continue
            stands.shelf.add(outcome.slot, item, compared)
            stands.accepted.append(outcome)
        open_slots = tuple(slot for slot in open_slots if slot.id not in stands.shelf.items)
    stands.round = plan.attempts
    stands.missing = open_slots
    return stands


class Similarity(NamedTuple):
    """The rule that decides when two items of a suite are duplicates."""

    signature: Callable[[Any], Hashable]  # what specs that ask for the same have in common, cheap to compute
    same: Callable[[Any, Any], bool]  # whether two specs of one signature ask for the same
    reason: Reason  # what that is called
    near: float | None  # share of common pairs of neighbouring words that makes a near duplicate; None for no limit
    compared: Callable[[Item[Any], Mapping[str, Any]], Any] = lambda item, _: item.spec  # item and notes to spec
    same_words: bool = True  # whether items with the same prompt are duplicates; not where the prompts existed before


class AcceptedItems:
    """The shelf of accepted items, which detects duplicates."""

    def __init__(self, likeness: Similarity) -> None:
        self.items: dict[int, Item[Any]] = {}
        self._likeness = likeness
        self._specs: dict[Hashable, list[tuple[int, Any]]] = defaultdict(list)
        self._words: dict[str, int] = {}
        self._pairs: dict[int, list[tuple[int, frozenset[tuple[str, str]]]]] = defaultdict(list)

    def add(self, number: int, item: Item[Any], compared: Any) -> None:
        """Add an item under its slot number, with the object that represents it in comparisons."""
        self.items[number] = item
        self._specs[self._likeness.signature(compared)].append((number, compared))
        words = _WORD.findall(item.prompt.lower())
        self._words[" ".join(words)] = number
        self._pairs[item.level].append((number, frozenset(pairwise(words))))

    def twin(self, spec: object) -> Rejection | None:
        """Return a rejection if a shelf item has an equivalent spec, whatever its wording; None if there is none."""
        for number, accepted_spec in self._specs.get(self._likeness.signature(spec), ()):
            if self._likeness.same(spec, accepted_spec):
                return Rejection(self._likeness.reason, f"says the same as item {number}")
        return None

    def objection(self, prompt: str, spec: object, level: int) -> Rejection | None:
        """Return a rejection if a shelf item has an equivalent spec or nearly the same words; None if there is none."""
        if twin := self.twin(spec):
            return twin
        words = _WORD.findall(prompt.lower())
        if self._likeness.same_words and (first := self._words.get(" ".join(words))) is not None:
            return Rejection("duplicate words", f"the words of item {first}")
        if self._likeness.near is None:
            return None
        pairs = frozenset(pairwise(words))
        for number, accepted_pairs in self._pairs.get(level, ()):
            shared = len(pairs & accepted_pairs) / (len(pairs | accepted_pairs) or 1)
            if shared >= self._likeness.near:
                return Rejection("near duplicate", f"{shared:.0%} of its pairs of words are those of item {number}")
        return None
