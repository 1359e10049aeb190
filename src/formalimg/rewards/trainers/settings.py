"""Settings of rewards in trainers, from arguments, the environment and formalimg.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, cast, get_args

from formalimg.errors import FormalimgError
from formalimg.rewards.result import RewardScore
from formalimg.rewards.reward_functions import BatchScorer, RewardModels, choose_models
from formalimg.rewards.server.client import RewardClient

NoReward: TypeAlias = Literal["nan", "error"]
"""What an image without a reward is worth: NaN, or an error that says why. Never 0."""

URL, TOKEN, MISSING = "FORMALIMG_URL", "FORMALIMG_TOKEN", "FORMALIMG_MISSING"


class ModelOptions(TypedDict, total=False):
    """Options that select the models in this process."""

    grounder: str | None
    grounder_options: Mapping[str, Any] | None
    judge: str | None
    judge_options: Mapping[str, Any] | None


class TrainerOptions(ModelOptions, total=False):
    """The options shared by all trainer rewards, documented in `formalimg_score`."""

    url: str | None
    token: str | None
    missing: str | None


@dataclass(frozen=True)
class TrainerSettings:
    """The scoring location, the models, and the policy for missing rewards."""

    url: str | None = None  # the address of a reward server; None to score in this process
    token: str | None = None  # the server's token
    missing: NoReward = "error"  # what an image without a reward is worth
    models: RewardModels | None = None  # the models in this process; None with a server, which has its own

    def __post_init__(self) -> None:
        if self.missing not in get_args(NoReward):
            choices = " or ".join(get_args(NoReward))
            raise FormalimgError(f"unknown value {self.missing[:40]!r} for images without a reward: use {choices}")

    @classmethod
    def choose(
        cls,
        default: NoReward,
        *,
        url: str | None = None,
        token: str | None = None,
        missing: str | None = None,
        **models: Unpack[ModelOptions],
    ) -> TrainerSettings:
        """Choose the settings from the arguments, the environment or formalimg.toml."""
        is_local = any(models.values())
        if url and is_local:
            raise FormalimgError("a reward server has its own grounder and judge: leave out either the url or these")
        value = cast(NoReward, missing or os.environ.get(MISSING) or default)
        server = url or (None if is_local else os.environ.get(URL) or None)
        if server is not None:
            return cls(server, token or os.environ.get(TOKEN) or None, value)
        return cls(missing=value, models=choose_models(**models))

    @property
    def scorer(self) -> BatchScorer:
        """A client of the reward server or a local scorer, shared between equal settings."""
        if self.url is not None:
            return _open_client(self.url, self.token)
        return (self.models or choose_models()).scorer

    def value(self, reward: RewardScore, index: int = 0) -> float:
        """Return the reward of an image as a number."""
        return cast(float, reward.number(self.missing, index))


@cache
def _open_client(url: str, token: str | None) -> RewardClient:
    return RewardClient(url, token=token)
