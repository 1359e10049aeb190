"""Where a writing stands: worked out from its outcomes alone, whatever order they came in.

All open items are attempted once, and only then compared with each other, in the order of their ids; what is rejected
is attempted again in the next round. So it does not matter which answer comes first, or whether somebody pulled the
plug in between: the same answers give the same items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.rejection import Reason, Rejection
from formalimg.authoring.shelf import Likeness, Shelf


@dataclass
class Standing:
    """Where a writing stands.

    Attributes:
        shelf: the items accepted so far.
        round: the number of the attempt that is under way.
        to_ask: whose answers are still missing in this round; nobody's if all is done.
        to_retry: whose answers of this round were rejected already, and who have an attempt left.
        missing: the places that have no item after the last attempt.
        rejections: how often answers were rejected, by reason.
        unsettled: answers that passed all checks, and wait to be compared with those of their round.
        accepted: the outcomes that the items of the shelf came from.
    """

    shelf: Shelf
    round: int = 0
    to_ask: tuple[Slot, ...] = ()
    to_retry: tuple[Slot, ...] = ()
    missing: tuple[Slot, ...] = ()
    rejections: Counter[Reason] = field(default_factory=Counter)
    unsettled: int = 0
    accepted: list[Outcome] = field(default_factory=list)


def standing(plan: WritingPlan, outcomes: Iterable[Outcome], likeness: Likeness) -> Standing:
    """Where the writing of a plan stands after these outcomes."""
    stands = Standing(Shelf(likeness))
    final: dict[tuple[int, int], Outcome] = {}
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
            rejected = {each.slot: each.result for each in answered if isinstance(each.result, Rejection)}
            if attempt + 1 < plan.attempts:
                stands.to_retry = tuple(slot for slot in open_slots if slot.id in rejected)
            stands.rejections.update(rejection.reason for rejection in rejected.values())
            stands.unsettled = len(answered) - len(rejected)
            return stands
        for outcome in answered:
            _settle(outcome, stands, likeness)
        open_slots = tuple(slot for slot in open_slots if slot.id not in stands.shelf.items)
    stands.round = plan.attempts
    stands.missing = open_slots
    return stands


def _settle(outcome: Outcome, stands: Standing, likeness: Likeness) -> None:
    """Put an item on the shelf, unless one that came before says the same."""
    item = outcome.result
    if isinstance(item, Rejection):
        stands.rejections[item.reason] += 1
        return
    compared = likeness.compared(item, outcome.notes)
    known = stands.shelf.objection(item.prompt, compared, item.level)
    if known is not None:
        stands.rejections[known.reason] += 1
        return
    stands.shelf.add(outcome.slot, item, compared)
    stands.accepted.append(outcome)
