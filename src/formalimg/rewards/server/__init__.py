"""The reward server: rewards over HTTP, with the numbers that `formalimg.rewards` gives in process."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.rewards.server.client import RewardClient, ServerError
from formalimg.rewards.server.limits import Limits

if TYPE_CHECKING:
    from formalimg.rewards.server.app import make_reward_app
    from formalimg.rewards.server.processes import GrounderInProcesses
    from formalimg.rewards.server.roots import Root
    from formalimg.rewards.server.serving import serve_rewards, server_config

# Clients need none of it.
__getattr__ = lazy_exports(
    "formalimg.rewards.server",
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
