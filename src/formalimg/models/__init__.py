"""Model interfaces, built-in models and providers."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.models.base import CallError, Completion, Usage
    from formalimg.models.folder.file_matching import RequestedImage
    from formalimg.models.folder.folder_model import open_folder
    from formalimg.models.options import Options
    from formalimg.models.provider_models import ImageCompletion, build_chat_model, build_image_model
    from formalimg.models.python_function import CallableModel
    from formalimg.models.registry import open_chat_model, open_image_model, requires
    from formalimg.models.retry import chat_retry_policy, image_retry_policy
    from formalimg.models.secrets import redact
    from formalimg.models.structured_output import parse_answer

__all__ = [
    "CallError",
    "CallableModel",
    "Completion",
    "ImageCompletion",
    "Options",
    "RequestedImage",
    "Usage",
    "build_chat_model",
    "build_image_model",
    "chat_retry_policy",
    "image_retry_policy",
    "open_chat_model",
    "open_folder",
    "open_image_model",
    "parse_answer",
    "redact",
    "requires",
]

__getattr__, __dir__ = lazy_exports(__name__)
