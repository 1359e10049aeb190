"""Rewards: a dense score from 0 to 1 for pictures, in process, for whoever trains on it."""

from formalimg.rewards.calling import Missing, Picked, RewardFunction, reward, reward_function
from formalimg.rewards.pictures import PictureLike, StyledScene
from formalimg.rewards.scored import Scored
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import Task, TaskLike
from formalimg.rewards.weights import Weights

__all__ = [
    "Missing",
    "Picked",
    "PictureLike",
    "RewardFunction",
    "Scored",
    "Scorer",
    "StyledScene",
    "Task",
    "TaskLike",
    "Weights",
    "reward",
    "reward_function",
]
