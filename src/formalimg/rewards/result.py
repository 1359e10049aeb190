"""The reward of an image: a score from 0 to 1 with its parts, or why there is none; and errors that name a pair."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason, part_from_json, part_to_json
from formalimg.logic.errors import FormulaError, Problem
from formalimg.types import Part, Unscored

_REASONS = get_args(UnscoredReason)


@dataclass(frozen=True, slots=True)
class RewardScore:
    """The reward of an image."""

    # 0 to 1, the weighted share of the parts; None if it cannot be scored, which is never the same as 0
    score: float | None
    passed: bool | None  # whether the image shows everything in the prompt; None if it cannot be scored
    parts: tuple[Part, ...] = ()  # the clauses or questions, each with its score, kind, weight and reason
    reason: str = ""  # the first part that falls short, or why there is no score; empty if nothing falls short
    unscored: UnscoredReason | None = None  # the kind of reason why there is no score; None if there is one
    cost: float | None = 0.0  # the cost of judging in US dollars; None if the price is unknown

    @classmethod
    def of_parts(
        cls,
        passed: bool,
        parts: tuple[Part, ...],
        cost: float | None = 0.0,
        reason: str = "",
        score: float | None = None,
    ) -> RewardScore:
        """Return the reward that parts add up to."""
        if score is None:
            weight = sum([part.weight for part in parts])
            score = sum([part.score * part.weight for part in parts]) / weight if weight else float(passed)
        short = next((part for part in parts if part.score < 1), None)
        if short is not None:
            reason = f"{short.name}: {short.reason}" if short.reason else short.name
        return cls(score, passed, parts, reason, None, cost)

    @classmethod
    def missing(cls, why: Unscored) -> RewardScore:
        """Return a reward without a score, with the reason."""
        detail = f"{why.reason}: {why.detail}" if why.detail else why.reason
        return cls(None, None, (), detail, why.reason, why.cost)

    def without_parts(self) -> RewardScore:
        """Return the same reward without its parts, and without a reason unless that says why there is no score."""
        return self if self.score is None else replace(self, parts=(), reason="")

    def to_json(self) -> dict[str, object]:
        """Return the reward as plain data."""
        return {
            "score": self.score,
            "passed": self.passed,
            "reason": self.reason,
            "unscored": self.unscored,
            "cost": self.cost,
            "parts": [part_to_json(part) for part in self.parts],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> RewardScore:
        """Return the reward that `to_json` wrote."""
        match data:
            case {
                "score": int() | float() | None as score,
                "passed": bool() | None as passed,
                "reason": str(reason),
                "unscored": str() | None as unscored,
                "cost": int() | float() | None as cost,
                "parts": list(parts),
            } if (score is None) == (passed is None) == (unscored is not None) and unscored in (None, *_REASONS):
                if score is None or 0 <= score <= 1:  # which NaN is not
                    with contextlib.suppress(KeyError, TypeError):  # invalid parts
                        found = tuple(part_from_json(part) for part in parts)
                        return cls(score, passed, found, reason, unscored, cost)  # type: ignore[arg-type]
        raise FormalimgError(f"this is not a reward: {str(data)[:200]}")


class PairError(FormalimgError):
    """An image and its task that cannot be scored, because of the task.

    Attributes:
        place: the index of the pair among all pairs, from 0.
        reason: what is wrong, without the index.
        problems: what is wrong with its formula, if that is the reason.
    """

    def __init__(self, place: int, why: FormalimgError) -> None:
        """Create the error from the index of a pair and its cause."""
        self._why = why
        self.problems: tuple[Problem, ...] = tuple(why.problems) if isinstance(why, FormulaError) else ()
        self.place, self.reason = place, str(self.problems[0] if self.problems else why)
        super().__init__(f"pair {place}: {self.reason}")

    def __reduce__(self) -> tuple[type[PairError], tuple[int, FormalimgError]]:
        return type(self), (self.place, self._why)  # can be pickled between processes
