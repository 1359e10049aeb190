"""OpenAI, and every other server that speaks as it does: vLLM, SGLang, Ollama, gateways."""

from formalimg.models.openai.chat import OpenAIChat, open_openai_chat
from formalimg.models.openai.images import OpenAIImages, open_openai_images

__all__ = ["OpenAIChat", "OpenAIImages", "open_openai_chat", "open_openai_images"]
