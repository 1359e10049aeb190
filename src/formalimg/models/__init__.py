"""Models: what makes images, and what answers questions about them."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.models.base import CallError, Concurrent, Identified, Setting, Usage
from formalimg.models.image import Failed, Generated, ImageModel, ImageRequest, ImageResult, Refused

if TYPE_CHECKING:
    from formalimg.models.cache import cache_folder
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
    from formalimg.models.folder import (
        FolderModel,
        MatchReport,
        PremadeImageModel,
        RequestedImage,
        is_any_image,
        open_folder,
        scan_folder,
    )
    from formalimg.models.folder.conceptmix_layout import concept_image_name, published_index
    from formalimg.models.image_provider import ImageCompletion, ImageProvider, build_image_model
    from formalimg.models.local import (
        CHECKPOINT_OPTIONS,
        INSTALL_LOCAL,
        Checkpoint,
        is_out_of_memory,
        read_checkpoint,
        silence_libraries,
    )
    from formalimg.models.options import Options, option_texts, sampling_options
    from formalimg.models.pricing import UNKNOWN_PRICE, Price, get_price
    from formalimg.models.public_identity import is_secret_name, stored_settings, stored_text
    from formalimg.models.python_function import CallableModel, open_python_function, require_parameters
    from formalimg.models.registry import (
        Provider,
        Requirements,
        chat_model_providers,
        chat_requirements,
        image_model_providers,
        installed_providers,
        open_chat_model,
        open_image_model,
        require_modules,
        requires,
    )
    from formalimg.models.retry import RetryPolicy, chat_retry_policy, few_attempts, image_retry_policy
    from formalimg.models.secrets import get_api_key, image_without_keys, redact, redact_values, set_key_names
    from formalimg.models.spending import Meter, Spending, metered, note_usage, note_waste, unknown_cost_advice
    from formalimg.models.structured_output import ParseFailure, parse_answer, read_aside
    from formalimg.models.text_answer import TextAnswer, json_or_literal

# Lazy, so that a run loads only the kind of model it uses.
__getattr__ = lazy_exports(
    "formalimg.models",
    {
        "cache": ["cache_folder"],
        "chat": [
            "AnswerType",
            "Answered",
            "Attachment",
            "ChatModel",
            "ChatProvider",
            "Completion",
            "Message",
            "Reply",
            "Unanswered",
        ],
        "chat_provider": ["build_chat_model"],
        "command": ["CommandModel", "open_command"],
        "folder.conceptmix_layout": ["concept_image_name", "published_index"],
        "folder": [
            "FolderModel",
            "MatchReport",
            "PremadeImageModel",
            "RequestedImage",
            "is_any_image",
            "open_folder",
            "scan_folder",
        ],
        "image_provider": ["ImageCompletion", "ImageProvider", "build_image_model"],
        "local": [
            "CHECKPOINT_OPTIONS",
            "INSTALL_LOCAL",
            "Checkpoint",
            "is_out_of_memory",
            "read_checkpoint",
            "silence_libraries",
        ],
        "options": ["Options", "option_texts", "sampling_options"],
        "pricing": ["UNKNOWN_PRICE", "Price", "get_price"],
        "public_identity": ["is_secret_name", "stored_settings", "stored_text"],
        "python_function": ["CallableModel", "open_python_function", "require_parameters"],
        "registry": [
            "Provider",
            "Requirements",
            "chat_model_providers",
            "chat_requirements",
            "image_model_providers",
            "installed_providers",
            "open_chat_model",
            "open_image_model",
            "require_modules",
            "requires",
        ],
        "retry": ["RetryPolicy", "chat_retry_policy", "few_attempts", "image_retry_policy"],
        "secrets": ["get_api_key", "image_without_keys", "redact", "redact_values", "set_key_names"],
        "spending": ["Meter", "Spending", "metered", "note_usage", "note_waste", "unknown_cost_advice"],
        "structured_output": ["ParseFailure", "parse_answer", "read_aside"],
        "text_answer": ["TextAnswer", "json_or_literal"],
    },
)

__all__ = [
    "CHECKPOINT_OPTIONS",
    "INSTALL_LOCAL",
    "UNKNOWN_PRICE",
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
    "Concurrent",
    "Failed",
    "FolderModel",
    "Generated",
    "Identified",
    "ImageCompletion",
    "ImageModel",
    "ImageProvider",
    "ImageRequest",
    "ImageResult",
    "MatchReport",
    "Message",
    "Meter",
    "Options",
    "ParseFailure",
    "PremadeImageModel",
    "Price",
    "Provider",
    "Refused",
    "Reply",
    "RequestedImage",
    "Requirements",
    "RetryPolicy",
    "Setting",
    "Spending",
    "TextAnswer",
    "Unanswered",
    "Usage",
    "build_chat_model",
    "build_image_model",
    "cache_folder",
    "chat_model_providers",
    "chat_requirements",
    "chat_retry_policy",
    "concept_image_name",
    "few_attempts",
    "get_api_key",
    "get_price",
    "image_model_providers",
    "image_retry_policy",
    "image_without_keys",
    "installed_providers",
    "is_any_image",
    "is_out_of_memory",
    "is_secret_name",
    "json_or_literal",
    "metered",
    "note_usage",
    "note_waste",
    "open_chat_model",
    "open_command",
    "open_folder",
    "open_image_model",
    "open_python_function",
    "option_texts",
    "parse_answer",
    "published_index",
    "read_aside",
    "read_checkpoint",
    "redact",
    "redact_values",
    "require_modules",
    "require_parameters",
    "requires",
    "sampling_options",
    "scan_folder",
    "set_key_names",
    "silence_libraries",
    "stored_settings",
    "stored_text",
    "unknown_cost_advice",
]
