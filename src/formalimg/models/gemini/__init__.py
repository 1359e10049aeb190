"""Gemini: images and answers from Google's API, through the google-genai library."""

from formalimg.models.gemini.chat import open_gemini_chat
from formalimg.models.gemini.images import open_gemini_images

__all__ = ["open_gemini_chat", "open_gemini_images"]
