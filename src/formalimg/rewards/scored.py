"""What comes back for an image: a score from 0 to 1 with its parts, or why there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from formalimg.errors import FormalimgError
from formalimg.judges import Part, Unscored, UnscoredReason


@dataclass(frozen=True, slots=True)
class Scored:
    """The reward of an image.

    Attributes:
        score: 0 to 1, the weighted share of the parts; None if nobody can tell, which is never the same as 0.
        passed: does the image show all that was asked for? None if nobody can tell.
        parts: the clauses or questions, each with its score, kind, weight and reason.
        reason: the first part that falls short, in words, or why there is no score; empty if nothing falls short.
        unscored: the sort of reason why there is no score; None if there is one.
        cost: what judging cost, in US dollars; None if nobody knows the price.
    """

    score: float | None
    passed: bool | None
    parts: tuple[Part, ...] = ()
    reason: str = ""
    unscored: UnscoredReason | None = None
    cost: float | None = 0.0

    @classmethod
    def of_parts(
        cls,
        passed: bool,
        parts: tuple[Part, ...],
        cost: float | None = 0.0,
        reason: str = "",
        score: float | None = None,
    ) -> Scored:
        """The reward that parts add up to.

        Args:
            passed: what the judge decided.
            parts: the clauses or questions; without any, an image that failed has 0.
            cost: what judging cost.
            reason: why it failed, where no part tells.
            score: what the parts add up to, where that is known exactly.
        """
        if score is None:
            weight = sum([part.weight for part in parts])
            score = sum([part.score * part.weight for part in parts]) / weight if weight else float(passed)
        short = next((part for part in parts if part.score < 1), None)
        if short is not None:
            reason = f"{short.name}: {short.reason}" if short.reason else short.name
        return cls(score, passed, parts, reason, None, cost)

    @classmethod
    def missing(cls, why: Unscored) -> Scored:
        """No reward, and why."""
        detail = f"{why.reason}: {why.detail}" if why.detail else why.reason
        return cls(None, None, (), detail, why.reason, why.cost)

    def without_parts(self) -> Scored:
        """The same reward without its parts and without a reason, unless that says why there is no score."""
        return self if self.score is None else replace(self, parts=(), reason="")

    def to_json(self) -> dict[str, object]:
        """The reward as plain data."""
        return {
            "score": self.score,
            "passed": self.passed,
            "reason": self.reason,
            "unscored": self.unscored,
            "cost": self.cost,
            "parts": [part.to_json() for part in self.parts],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Scored:
        """The reward that `to_json` wrote.

        Raises:
            FormalimgError: if it is none.
        """
        match data:
            case {
                "score": int() | float() | None as score,
                "passed": bool() | None as passed,
                "reason": str(reason),
                "unscored": str() | None as unscored,
                "cost": int() | float() | None as cost,
                "parts": list(parts),
            } if (score is None) == (passed is None) == (unscored is not None) and unscored in (None, *_REASONS):
                if score is None or 0 <= score <= 1:  # which not a number is not
                    with contextlib.suppress(KeyError, TypeError):  # parts that are none
                        found = tuple(Part.from_json(part) for part in parts)
                        return cls(score, passed, found, reason, unscored, cost)  # type: ignore[arg-type]
        raise FormalimgError(f"this is no reward: {str(data)[:200]}")


_REASONS = get_args(UnscoredReason)
