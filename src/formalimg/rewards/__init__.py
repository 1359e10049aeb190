"""Dense rewards from 0 to 1 for images, computed in process for reinforcement learning."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.rewards.reward_functions import RewardFunction, reward, reward_function
    from formalimg.rewards.scorer import Scorer

__all__ = ["RewardFunction", "Scorer", "reward", "reward_function"]

__getattr__, __dir__ = lazy_exports(__name__)
