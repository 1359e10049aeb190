"""What came of one attempt at an item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from formalimg.authoring.rejection import Rejection
from formalimg.models import Answered, Setting, Unanswered, Usage
from formalimg.suites import Item, decode_item, encode_item

_KEPT = ("item", "rejection", "expense")


@dataclass(frozen=True)
class Expense:
    """What was heard from the models in one attempt, and what it cost.

    Attributes:
        answers: all answers as they came.
        usage: tokens of both models.
        cost: in US dollars; None if nobody knows the price.
        served: what was really used, by `writer` and `checker`.
    """

    answers: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    served: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)

    def with_reply(self, who: str, reply: Answered[Any] | Unanswered) -> Expense:
        """The same with one more reply."""
        served = {**self.served, who: dict(reply.served)} if isinstance(reply, Answered) else self.served
        return Expense((*self.answers, reply.raw), self.usage + reply.usage, added(self.cost, reply.cost), served)


@dataclass(frozen=True)
class Outcome:
    """An item, or why there is none.

    Attributes:
        slot: the id of the place that the item is for.
        attempt: the number of the attempt, from 0.
        result: the item that passed all checks of its own (not yet compared with the others), or why it did not.
        expense: what was heard and spent.
        notes: what else is worth knowing of the attempt, in plain data; each kind of suite has its own.
    """

    slot: int
    attempt: int
    result: Item[Any] | Rejection
    expense: Expense = field(default_factory=Expense)
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        """Does the attempt count? Where no answer came, it is made again."""
        return not (isinstance(self.result, Rejection) and self.result.reason == "unanswered")


def encode_outcome(outcome: Outcome) -> str:
    """The outcome as JSON, to be kept."""
    result = outcome.result
    return json.dumps(  # in ASCII: an answer may hold half a character, which no file takes
        {
            "item": None if isinstance(result, Rejection) else encode_item(result),
            "rejection": list(result) if isinstance(result, Rejection) else None,
            "expense": asdict(outcome.expense),
            **outcome.notes,
        }
    )


def decode_outcome(slot: int, attempt: int, text: str, suite: str) -> Outcome:
    """The outcome that `encode_outcome` wrote; an item in it is checked anew."""
    kept = json.loads(text)
    result = Rejection(*kept["rejection"]) if kept["item"] is None else decode_item(kept["item"], suite)
    expense = kept["expense"]
    spent = Expense(tuple(expense["answers"]), Usage(**expense["usage"]), expense["cost"], expense["served"])
    notes = {name: value for name, value in kept.items() if name not in _KEPT}
    return Outcome(slot, attempt, result, spent, notes)


def added(cost: float | None, more: float | None) -> float | None:
    """Two costs together; not known if one of them is not."""
    return None if cost is None or more is None else cost + more
