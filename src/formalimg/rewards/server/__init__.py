"""The reward server, which serves the rewards of `formalimg.rewards` over HTTP, and its client."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.rewards.server.client import RewardClient

__all__ = ["RewardClient"]

__getattr__, __dir__ = lazy_exports(__name__)
