"""Rewards in the interfaces of the RL trainers flow_grpo, verl-omni and TRL, local or through a reward server."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.rewards.trainers.flow_grpo import formalimg_score
    from formalimg.rewards.trainers.pickle_gateway import PickleGateway
    from formalimg.rewards.trainers.trl import completion_reward
    from formalimg.rewards.trainers.verl_omni import compute_score

__all__ = ["PickleGateway", "completion_reward", "compute_score", "formalimg_score"]

__getattr__, __dir__ = lazy_exports(__name__)
