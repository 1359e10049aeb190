"""Rewards as RL trainers call for them: flow_grpo, verl-omni and TRL, in process or by a reward server."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.rewards.trainers.flow_grpo import formalimg_score, geneval_score
    from formalimg.rewards.trainers.pickle_gateway import PickleGateway, PickleRefusedError
    from formalimg.rewards.trainers.settings import TrainerSettings
    from formalimg.rewards.trainers.trl import completion_reward, completion_reward_function
    from formalimg.rewards.trainers.verl_omni import compute_score

# A trainer needs one of them.
__getattr__ = lazy_exports(
    "formalimg.rewards.trainers",
    {
        "flow_grpo": ["formalimg_score", "geneval_score"],
        "pickle_gateway": ["PickleGateway", "PickleRefusedError"],
        "settings": ["TrainerSettings"],
        "trl": ["completion_reward", "completion_reward_function"],
        "verl_omni": ["compute_score"],
    },
)

__all__ = [
    "PickleGateway",
    "PickleRefusedError",
    "TrainerSettings",
    "completion_reward",
    "completion_reward_function",
    "compute_score",
    "formalimg_score",
    "geneval_score",
]
