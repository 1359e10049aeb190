"""Settings of rewards in trainers, which load functions by name: given, or of the environment and formalimg.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, cast, get_args

from formalimg.errors import FormalimgError
from formalimg.rewards.result import RewardScore
from formalimg.rewards.reward_functions import BatchScorer
from formalimg.rewards.reward_models import RewardModels, choose_models
from formalimg.rewards.server.client import RewardClient

NoReward: TypeAlias = Literal["nan", "error"]
"""What an image without a reward is worth: NaN, or an error that says why. Never 0."""

URL, TOKEN, MISSING = "FORMALIMG_URL", "FORMALIMG_TOKEN", "FORMALIMG_MISSING"


@dataclass(frozen=True)
class TrainerSettings:
    """Where images are scored, by whom, and what one without a reward is worth."""

    url: str | None = None  # the address of a reward server; None to score in this process
    token: str | None = None  # the server's token
    missing: NoReward = "error"  # what an image without a reward is worth
    # the grounder and the judge in this process; None with a server, which has its own
    models: RewardModels | None = None

    def __post_init__(self) -> None:
        if self.missing not in get_args(NoReward):
            known = " or ".join(get_args(NoReward))
            raise FormalimgError(f"unknown value {self.missing[:40]!r} for images without a reward: use {known}")

    @classmethod
    def choose(
        cls,
        default: NoReward,
        *,
        url: str | None = None,
        token: str | None = None,
        missing: str | None = None,
        grounder: str | None = None,
        grounder_options: Mapping[str, Any] | None = None,
        judge: str | None = None,
        judge_options: Mapping[str, Any] | None = None,
    ) -> TrainerSettings:
        """Return the settings: those given, or else those of the environment and of formalimg.toml."""
        is_local = any((grounder, grounder_options, judge, judge_options))
        if url and is_local:
            raise FormalimgError("a reward server has its own grounder and judge: leave out either the url or these")
        value = cast(NoReward, missing or os.environ.get(MISSING) or default)
        server = url or (None if is_local else os.environ.get(URL) or None)
        if server is not None:
            return cls(server, token or os.environ.get(TOKEN) or None, value)
        models = choose_models(grounder, judge, grounder_options=grounder_options, judge_options=judge_options)
        return cls(missing=value, models=models)

    @property
    def scorer(self) -> BatchScorer:
        """What scores images: a client of the server, or a scorer in this process; the same for the same settings."""
        if self.url is not None:
            return _client(self.url, self.token)
        return (self.models or choose_models()).scorer

    def value(self, found: RewardScore, index: int = 0) -> float:
        """Return the reward of an image as a number."""
        if found.score is not None:
            return found.score
        if self.missing == "error":
            raise FormalimgError(f"image {index} has no reward: {found.reason}")
        return float("nan")


@cache
def _client(url: str, token: str | None) -> RewardClient:
    return RewardClient(url, token=token)
