"""The reward server: rewards over HTTP, with the numbers that `formalimg.rewards` gives in process."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily
from formalimg.serving.client import RewardClient, ServerError
from formalimg.serving.limits import Limits

if TYPE_CHECKING:
    from formalimg.serving.app import make_reward_app
    from formalimg.serving.processes import GrounderInProcesses
    from formalimg.serving.roots import Root
    from formalimg.serving.serving import serve_rewards, server_config

# Clients need none of it.
__getattr__ = lazily(
    "formalimg.serving",
    {
        "app": ["make_reward_app"],
        "processes": ["GrounderInProcesses"],
        "roots": ["Root"],
        "serving": ["serve_rewards", "server_config"],
    },
)

__all__ = [
    "GrounderInProcesses",
    "Limits",
    "RewardClient",
    "Root",
    "ServerError",
    "make_reward_app",
    "serve_rewards",
    "server_config",
]
