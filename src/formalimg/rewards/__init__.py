"""Rewards: a dense score from 0 to 1 for images, in process, for whoever trains on it."""

from formalimg.rewards.calling import Missing, Picked, RewardFunction, Scoring, reward, reward_function
from formalimg.rewards.images import ImageLike, StyledScene, image_in, scene_in
from formalimg.rewards.pair_error import PairError
from formalimg.rewards.scored import Scored
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import Task, TaskLike
from formalimg.rewards.weights import Weights

__all__ = [
    "ImageLike",
    "Missing",
    "PairError",
    "Picked",
    "RewardFunction",
    "Scored",
    "Scorer",
    "Scoring",
    "StyledScene",
    "Task",
    "TaskLike",
    "Weights",
    "image_in",
    "reward",
    "reward_function",
    "scene_in",
]
