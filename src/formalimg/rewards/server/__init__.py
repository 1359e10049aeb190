"""The reward server: rewards over HTTP, with the same numbers as `formalimg.rewards` in process; and its client."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.rewards.server.admission import Limits
from formalimg.rewards.server.client import RewardClient, ServerError

if TYPE_CHECKING:
    from formalimg.rewards.server.app import create_reward_app
    from formalimg.rewards.server.http_server import serve_rewards, server_config
    from formalimg.rewards.server.image_root import ImageRoot
    from formalimg.rewards.server.processes import ProcessGrounder

# Clients need none of it.
__getattr__ = lazy_exports(
    "formalimg.rewards.server",
    {
        "app": ["create_reward_app"],
        "http_server": ["serve_rewards", "server_config"],
        "processes": ["ProcessGrounder"],
        "image_root": ["ImageRoot"],
    },
)

__all__ = [
    "ImageRoot",
    "Limits",
    "ProcessGrounder",
    "RewardClient",
    "ServerError",
    "create_reward_app",
    "serve_rewards",
    "server_config",
]
