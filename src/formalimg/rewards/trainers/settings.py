"""Settings of rewards in trainers, which load a function by its name: from the environment, unless they are given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, cast, get_args

from formalimg.errors import FormalimgError
from formalimg.rewards.result import RewardScore
from formalimg.rewards.reward_functions import BatchScorer
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.client import RewardClient

NoReward: TypeAlias = Literal["nan", "error"]
"""What an image without a reward is worth: NaN, or an error that says why. Never 0."""

URL, TOKEN, MISSING = "FORMALIMG_URL", "FORMALIMG_TOKEN", "FORMALIMG_MISSING"


@dataclass(frozen=True)
class TrainerSettings:
    """Where images are scored, and what one without a reward is worth.

    Attributes:
        url: the address of a reward server; None to score in this process.
        token: the server's token.
        missing: what an image without a reward is worth.
    """

    url: str | None = None
    token: str | None = None
    missing: NoReward = "error"

    def __post_init__(self) -> None:
        if self.missing not in get_args(NoReward):
            known = " or ".join(get_args(NoReward))
            raise FormalimgError(f"unknown value {self.missing[:40]!r} for images without a reward: use {known}")

    @classmethod
    def from_environment(
        cls, default: NoReward, *, url: str | None = None, token: str | None = None, missing: str | None = None
    ) -> TrainerSettings:
        """Return the settings: those given, or else those of the environment.

        Args:
            default: what an image without a reward is worth where nothing says so: what this trainer handles best.
            url: the address of a server; else that in FORMALIMG_URL, if any.
            token: its token; else that in FORMALIMG_TOKEN.
            missing: what an image without a reward is worth; else FORMALIMG_MISSING.

        Raises:
            FormalimgError: if a value is not known.
        """
        value = missing or os.environ.get(MISSING) or default
        return cls(url or os.environ.get(URL) or None, token or os.environ.get(TOKEN) or None, cast(NoReward, value))

    @property
    def scorer(self) -> BatchScorer:
        """What scores images: a client of the server, or a scorer in this process; the same for the same address."""
        return _scorer(self.url, self.token)

    def value(self, found: RewardScore, index: int = 0) -> float:
        """Return the reward of an image as a number.

        Raises:
            FormalimgError: if it has none, and that is to be an error.
        """
        if found.score is not None:
            return found.score
        if self.missing == "error":
            raise FormalimgError(f"image {index} has no reward: {found.reason}")
        return float("nan")


@cache
def _scorer(url: str | None, token: str | None) -> BatchScorer:
    return Scorer() if url is None else RewardClient(url, token=token)
