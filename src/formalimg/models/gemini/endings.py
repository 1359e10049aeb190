"""How an answer of Gemini ended, what it used up, and what it says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formalimg.models.calls import Usage
from formalimg.models.identity import Setting

if TYPE_CHECKING:
    from google.genai.types import GenerateContentResponse, Part

_DECLINED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "NO_IMAGE",
    }
)
"""Ways to end that are a decision against this request: asking again is of no use."""


def why_declined(response: GenerateContentResponse) -> str | None:
    """Why Gemini declined to answer; None if it did not decline."""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return _with_words(f"the prompt was blocked: {feedback.block_reason.value}", feedback.block_reason_message)
    if (ended := how_ended(response)) in _DECLINED:
        candidate = (response.candidates or [])[0]
        return _with_words(f"ended with {ended}", candidate.finish_message or words(response))
    return None


def how_ended(response: GenerateContentResponse) -> str:
    """The reason of the end as Gemini writes it; empty if there is none."""
    reason = response.candidates[0].finish_reason if response.candidates else None
    return "" if reason is None else str(reason.value)


def parts(response: GenerateContentResponse) -> list[Part]:
    """What was said and drawn, without what the model only thought: thoughts may hold words and sketches too."""
    content = response.candidates[0].content if response.candidates else None
    said = content.parts if content is not None else None
    return [part for part in said or [] if not part.thought]


def words(response: GenerateContentResponse) -> str:
    """All that was said in words."""
    return "".join(part.text or "" for part in parts(response))


def usage(response: GenerateContentResponse, *, images: int = 0) -> Usage:
    """What the call used up; thoughts are paid like what is said."""
    counted = response.usage_metadata
    if counted is None:
        return Usage(images=images)
    return Usage(
        input_tokens=(counted.prompt_token_count or 0) + (counted.tool_use_prompt_token_count or 0),
        output_tokens=(counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0),
        images=images,
    )


def served(response: GenerateContentResponse, **more: Setting) -> dict[str, Setting]:
    """What was really used, as far as Gemini says."""
    told: dict[str, Setting] = {"model": response.model_version, "response_id": response.response_id, **more}
    return {name: value for name, value in told.items() if value is not None}


def _with_words(reason: str, message: str | None) -> str:
    return f"{reason}: {message}" if message else reason
