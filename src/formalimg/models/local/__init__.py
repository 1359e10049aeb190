"""Models on this machine: pipelines of diffusers, vision-language models of transformers."""

from formalimg.models.local.checkpoint import (
    CHECKPOINT_OPTIONS,
    INSTALL_LOCAL,
    Checkpoint,
    read_checkpoint,
    silence_libraries,
)
from formalimg.models.local.diffusers_model import DiffusersModel, open_diffusers
from formalimg.models.local.memory import is_out_of_memory
from formalimg.models.local.transformers_chat import TransformersChat, open_transformers_chat

__all__ = [
    "CHECKPOINT_OPTIONS",
    "INSTALL_LOCAL",
    "Checkpoint",
    "DiffusersModel",
    "TransformersChat",
    "is_out_of_memory",
    "open_diffusers",
    "open_transformers_chat",
    "read_checkpoint",
    "silence_libraries",
]
