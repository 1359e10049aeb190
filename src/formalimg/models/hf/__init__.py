"""Hugging Face: images and answers from its inference providers and endpoints, through huggingface_hub."""

from formalimg.models.hf.chat import open_hf_chat
from formalimg.models.hf.images import open_hf_images

__all__ = ["open_hf_chat", "open_hf_images"]
