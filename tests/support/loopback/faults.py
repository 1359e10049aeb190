"""What can go wrong at a provider, and when it does."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

EVERYWHERE = ("429", "500", "503", "hang", "reset", "empty", "html", "truncated", "wrong type")
"""Faults that every dialect shows. A number is a status; the rest is done to an answer that would have been good."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        kind: one of `EVERYWHERE`, any other status, or a fault of the dialect's own, such as `refusal`.
        retry_after: goes with a status: what the header Retry-After says.
        code: goes with a status: what the provider calls the error.
        message: goes with a status: what the provider says about it.
    """

    kind: str
    retry_after: str | None = None
    code: str = ""
    message: str = ""


Faults: TypeAlias = Callable[[int], Fault | None]
"""From the number of a request (the first is 0) to what goes wrong with it."""


def never(number: int) -> None:
    """All is well."""


def scripted(script: Sequence[str | Fault | None] | Mapping[int, str | Fault]) -> Faults:
    """Faults by the number of the request; all is well where the script says nothing."""
    wanted = script if isinstance(script, Mapping) else dict(enumerate(script))

    def fault(number: int) -> Fault | None:
        found = wanted.get(number)
        return Fault(found) if isinstance(found, str) else found

    return fault


def at_random(share: float, kinds: Sequence[str | Fault], seed: int = 0) -> Faults:
    """Faults for a share of all requests; which request fails, and how, follows from its number and the seed."""

    def fault(number: int) -> Fault | None:
        chance = random.Random(f"{seed} {number}")
        if chance.random() >= share:
            return None
        kind = chance.choice(kinds)
        return Fault(kind) if isinstance(kind, str) else kind

    return fault
