"""Outcomes of attempts (items, rejections with their reasons, and cost), and the items accepted from them.

In each round, every open item is attempted once; only then are they compared with each other, in the order of their
ids. Rejected items are attempted again in the next round. The result therefore depends neither on the order in which
answers arrive nor on interruptions: the same answers give the same items.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from formalimg._util.strict_json import stored_integer, stored_json, stored_number, stored_text, wrong_value
from formalimg.benchmarks.items_file import decode_item, encode_item
from formalimg.models.base import Answered, Unanswered, Usage
from formalimg.types import Item, Setting

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot


Reason: TypeAlias = Literal[
    "unanswered",  # no answer came from the writer or the checker: asked again, costs no attempt
    "refused",  # the writer declined
    "unreadable",  # the writer's answer has not the wanted form
    "unfit words",  # empty, endless, or with characters that no prompt has
    # formulas
    "no formula",  # the formula cannot be parsed
    "unbound variable",
    "unused variable",
    "unknown predicate",
    "wrong number of arguments",
    "wrong kind of argument",
    "unknown word",
    "too large",
    "wrong level",  # another K than asked for
    "several components",
    "not on offer",  # a class, word, predicate, style or connective that the assignment does not have
    "class not said",  # a variable of which nobody says what it is
    "nothing demanded",  # holds in an image of something else, as a tautology does
    "contradiction",  # the solver proved that no scene satisfies it
    "too tight",  # only scenes on a knife's edge satisfy it
    "undecided",  # the solver came to no end
    "implausible",  # the ontology knows that no image would show it
    "words say otherwise",  # our own reader understands the words, and they mean something else
    # concepts
    "binding unfit",  # no binding: wrong ids, strange fields, no words
    "binding left open",  # a relation of which it is still not said what it is between
    "binding changed",  # what was given is not there any more as it was, or something needless was added
    "conflict",  # the concepts, as bound, cannot be in one image
    "called impossible",  # the writer says that it cannot be done
    "concept not said",
    "something added",  # the words speak of a concept that nobody asked for
    # groups: what their checker finds, and then what is found of outcomes without names and of pairs
    "form",
    "unsafe",
    "law not changed",  # the changed law is the law
    "not ordinary",
    "another scene",
    "law not told",
    "gives it away",
    "outcome not told",
    "not visual",
    "not about the outcome",
    "same in both worlds",
    "not described",
    "more than the nouns",  # the description is another sentence, not the same with other words for its nouns
    "comparison",  # the description says what it looks like, and so names something else
    "outcome not quoted",  # what was to be described is not in the prompt as the writer has it
    "more than the outcome",  # the law or the scene was said again, or described as well
    "thing not said",  # a prompt of a pair without one of its two objects, or with the other's partner
    "another frame",  # the two prompts of a pair differ in more than the partner
    # the check, of all
    "check refused",
    "check unreadable",
    "check: implausible",
    "check: not aligned",
    "check: invalid",  # a caption that the checker would not use; an outcome that does not follow from its law
    "check: unsafe",
    "check: ambiguous",  # one could not tell from an image
    "check: not deductive",  # the outcome is stated, or nothing has to be deduced
    "check: another outcome",  # described without names, it is something else
    "check: named",  # it is named all the same
    "check: not rare",
    "check: not common",
    # questions
    "wrong number of questions",
    "no question",  # what is not asked, or cannot be printed
    "question out of order",  # a question that does not ask for the concept in its place
    "no criteria",  # which do not say what 1 and 0 are for
    "question beside the point",  # the question that decides is not about what decides
    # said before
    "duplicate",
    "duplicate formula",
    "duplicate concepts",
    "duplicate words",
    "near duplicate",
]

REASONS: tuple[Reason, ...] = get_args(Reason)
"""All reasons, for each suite in the order in which they are looked for, but for unfit words."""


class Rejection(NamedTuple):
    """The reason for rejecting an answer: a reason code and one line of detail."""

    reason: Reason
    detail: str


class RejectedError(Exception):
    """Raised to end an attempt whose answer was rejected."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(*rejection)
        self.rejection = rejection


ResultType = TypeVar("ResultType")


def accept(result: ResultType | Rejection) -> ResultType:
    """Return a result, or raise `RejectedError` if it is a rejection."""
    if isinstance(result, Rejection):
        raise RejectedError(result)
    return result


def refuse(objection: Rejection | None) -> None:
    """Raise `RejectedError` if there is an objection."""
    if objection is not None:
        raise RejectedError(objection)


_KEPT = ("item", "rejection", "expense")

MAX_ANSWER = 16_000_000  # Characters of an answer


@dataclass(frozen=True)
class AttemptCost:
    """The replies and cost of one attempt."""

    answers: tuple[str, ...] = ()  # all answers as they came
    usage: Usage = field(default_factory=Usage)  # tokens of both models
    cost: float | None = 0.0  # in US dollars; None if the price is unknown
    served: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)  # the models used, by part

    def with_reply(self, part: str, reply: Answered[Any] | Unanswered) -> AttemptCost:
        """Return the cost with one more reply."""
        served = {**self.served, part: dict(reply.served)} if isinstance(reply, Answered) else self.served
        return AttemptCost(
            (*self.answers, reply.raw), self.usage + reply.usage, add_costs(self.cost, reply.cost), served
        )


@dataclass(frozen=True)
class AttemptOutcome:
    """The outcome of an attempt: an item, or a rejection."""

    slot: int
    attempt: int  # from 0
    result: Item[Any] | Rejection  # the item passed all checks of its own, but is not yet compared with the others
    expense: AttemptCost = field(default_factory=AttemptCost)
    notes: Mapping[str, Any] = field(default_factory=dict)  # details as plain data, for each kind of suite its own

    @property
    def is_final(self) -> bool:
        """Whether the attempt is final; attempts without an answer are repeated."""
        return not (isinstance(self.result, Rejection) and self.result.reason == "unanswered")


def encode_outcome(outcome: AttemptOutcome) -> str:
    """Encode an outcome as JSON."""
    result = outcome.result
    return json.dumps(  # in ASCII: an answer may hold half a character, which no file takes
        {
            "item": None if isinstance(result, Rejection) else encode_item(result),
            "rejection": list(result) if isinstance(result, Rejection) else None,
            "expense": asdict(outcome.expense),
            **outcome.notes,
        }
    )


def decode_outcome(slot: int, attempt: int, text: str, suite: str) -> AttemptOutcome:
    """Decode an outcome written by `encode_outcome`, and check the item in it again."""
    fields = stored_json(text, "outcome", dict)
    result: Item[Any] | Rejection
    match fields["item"], fields["rejection"]:
        case None, [str(reason), str(detail)]:
            result = Rejection(reason, detail)  # type: ignore[arg-type]  # another version may have had others
        case None, rejection:
            raise wrong_value("rejection", rejection)
        case item, _:
            result = decode_item(item, suite)
    expense = fields["expense"]
    validate_expense(expense)
    for answer in expense["answers"]:
        stored_text(answer, "answers", MAX_ANSWER)
    stored_integer(slot, "slot")
    stored_integer(attempt, "attempt")
    spent = AttemptCost(tuple(expense["answers"]), Usage(**expense["usage"]), expense["cost"], expense["served"])
    notes = {name: value for name, value in fields.items() if name not in _KEPT}
    return AttemptOutcome(slot, attempt, result, spent, notes)


def validate_expense(fields: Mapping[str, Any]) -> None:
    """Check the fields `usage`, `cost` and `served` of a stored record."""
    usage, cost, served = (fields.get(name) for name in ("usage", "cost", "served"))
    if not isinstance(usage, dict) or not usage.keys() <= asdict(Usage()).keys():
        raise wrong_value("usage", usage)
    for name, count in usage.items():
        stored_integer(count, name)
    if cost is not None:
        stored_number(cost, "cost")
    if not isinstance(served, dict):
        raise wrong_value("served", served)


def add_costs(cost: float | None, more: float | None) -> float | None:
    """Add two costs; None if one is unknown."""
    return None if cost is None or more is None else cost + more


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
    """The accepted items (the shelf), with detection of duplicates."""

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
