"""Rewards: a dense score from 0 to 1 for images, in process, for reinforcement learning."""

from formalimg.rewards.images import ImageLike, StyledScene, load_image, load_scene
from formalimg.rewards.result import PairError, RewardScore
from formalimg.rewards.reward_functions import (
    BatchScorer,
    Missing,
    RewardFunction,
    TrainerRewards,
    reward,
    reward_function,
)
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import RewardTask, TaskLike, task_in
from formalimg.rewards.weights import Weights

__all__ = [
    "BatchScorer",
    "ImageLike",
    "Missing",
    "PairError",
    "RewardFunction",
    "RewardScore",
    "RewardTask",
    "Scorer",
    "StyledScene",
    "TaskLike",
    "TrainerRewards",
    "Weights",
    "load_image",
    "load_scene",
    "reward",
    "reward_function",
    "task_in",
]
