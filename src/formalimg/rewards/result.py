"""The reward of an image: a score from 0 to 1 with its parts, or the reason for a missing score."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason, part_from_json, part_to_json
from formalimg.logic.errors import FormulaError, Problem
from formalimg.types import Part, Unscored

_REASONS = get_args(UnscoredReason)

Missing: TypeAlias = Literal["none", "nan", "zero", "error"]
"""The value for an image that cannot be scored: None, NaN, 0, or an error."""

_MISSING_VALUES: Mapping[str, float | None] = {"none": None, "nan": float("nan"), "zero": 0.0}


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
        """Compute the reward from its parts."""
        if score is None:
            weight = sum([part.weight for part in parts])
            score = sum([part.score * part.weight for part in parts]) / weight if weight else float(passed)
        failed_part = next((part for part in parts if part.score < 1), None)
        if failed_part is not None:
            reason = f"{failed_part.name}: {failed_part.reason}" if failed_part.reason else failed_part.name
        return cls(score, passed, parts, reason, None, cost)

    @classmethod
    def missing(cls, unscored: Unscored) -> RewardScore:
        """Build a reward without a score that records the reason."""
        detail = f"{unscored.reason}: {unscored.detail}" if unscored.detail else unscored.reason
        return cls(None, None, (), detail, unscored.reason, unscored.cost)

    def number(self, missing: Missing, index: int = 0) -> float | None:
        """Return the score. If it is missing, return the value selected by `missing` or raise an error."""
        if self.score is not None:
            return self.score
        if missing == "error":
            raise FormalimgError(f"image {index} has no reward: {self.reason}")
        return _MISSING_VALUES[missing]

    def without_parts(self) -> RewardScore:
        """Return the reward without its parts, and without its reason if it has a score."""
        return self if self.score is None else replace(self, parts=(), reason="")

    def to_json(self) -> dict[str, object]:
        """Convert the reward to plain data."""
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
        """Build a reward from the output of `to_json`."""
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
                        read_parts = tuple(part_from_json(part) for part in parts)
                        return cls(score, passed, read_parts, reason, unscored, cost)  # type: ignore[arg-type]
        raise FormalimgError(f"this is not a reward: {str(data)[:200]}")


class PairError(FormalimgError):
    """Raised when the task of the pair at `index` prevents it from being scored."""

    def __init__(self, index: int, cause: FormalimgError) -> None:
        self._cause = cause
        # what is wrong with its formula, if that is the reason
        self.problems: tuple[Problem, ...] = tuple(cause.problems) if isinstance(cause, FormulaError) else ()
        self.index, self.reason = index, str(self.problems[0] if self.problems else cause)
        super().__init__(f"pair {index}: {self.reason}")

    def __reduce__(self) -> tuple[type[PairError], tuple[int, FormalimgError]]:
        return type(self), (self.index, self._cause)  # can be pickled between processes
