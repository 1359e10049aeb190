"""The reward server: rewards over HTTP, with the same numbers as `formalimg.rewards` in process; and its client."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.rewards.server.client import RewardClient

__all__ = [
    "RewardClient",
]

__getattr__, __dir__ = lazy_exports(__name__)
