"""Models: what makes images, and what answers questions about them."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.models.base import CallError, Engaged, Named, Setting, Usage
from formalimg.models.chat import (
    Answered,
    AnswerType,
    Attachment,
    ChatModel,
    ChatProvider,
    Completion,
    Message,
    Reply,
    Unanswered,
)
from formalimg.models.chat_provider import build_chat_model
from formalimg.models.command import CommandModel, open_command
from formalimg.models.folder import FolderModel, Matches, Matching, Wanted, open_folder
from formalimg.models.image import Answer, Failed, Generated, ImageModel, ImageRequest, Refused
from formalimg.models.image_provider import ImageCompletion, ImageProvider, build_image_model
from formalimg.models.options import Options
from formalimg.models.pricing import UNKNOWN, Price, price
from formalimg.models.python_function import CallableModel, open_python_function
from formalimg.models.registry import (
    Provider,
    chat_model_providers,
    image_model_providers,
    installed_providers,
    needs,
    open_chat_model,
    open_image_model,
)
from formalimg.models.retry import RetryPolicy, chat_retry_policy, image_retry_policy
from formalimg.models.secrets import get_api_key, redacted
from formalimg.models.structured_output import ParseFailure, parse_answer

if TYPE_CHECKING:
    from formalimg.models.cache import cache_folder
    from formalimg.models.local import INSTALL_LOCAL, Checkpoint, hush, is_out_of_memory, read_checkpoint
    from formalimg.models.registry import require_modules

# Only what computes on this machine needs these.
__getattr__ = lazy_exports(
    "formalimg.models",
    {
        "local": ["INSTALL_LOCAL", "Checkpoint", "hush", "is_out_of_memory", "read_checkpoint"],
        "registry": ["require_modules"],
        "cache": ["cache_folder"],
    },
)

__all__ = [
    "INSTALL_LOCAL",
    "UNKNOWN",
    "Answer",
    "AnswerType",
    "Answered",
    "Attachment",
    "CallError",
    "CallableModel",
    "ChatModel",
    "ChatProvider",
    "Checkpoint",
    "CommandModel",
    "Completion",
    "Engaged",
    "Failed",
    "FolderModel",
    "Generated",
    "ImageCompletion",
    "ImageModel",
    "ImageProvider",
    "ImageRequest",
    "Matches",
    "Matching",
    "Message",
    "Named",
    "Options",
    "ParseFailure",
    "Price",
    "Provider",
    "Refused",
    "Reply",
    "RetryPolicy",
    "Setting",
    "Unanswered",
    "Usage",
    "Wanted",
    "build_chat_model",
    "build_image_model",
    "cache_folder",
    "chat_model_providers",
    "chat_retry_policy",
    "get_api_key",
    "hush",
    "image_model_providers",
    "image_retry_policy",
    "installed_providers",
    "is_out_of_memory",
    "needs",
    "open_chat_model",
    "open_command",
    "open_folder",
    "open_image_model",
    "open_python_function",
    "parse_answer",
    "price",
    "read_checkpoint",
    "redacted",
    "require_modules",
]
