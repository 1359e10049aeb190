"""Image jobs: read an uploaded image and score it against a prompt, as `formalimg score` does."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from formalimg.errors import FormalimgError
from formalimg.runs.defaults.settings import ICONS, JUDGE_VARIABLE, ConfiguredJudge, load_defaults
from formalimg.web.playground.worker_pool import InputTooLargeError

if TYPE_CHECKING:
    from formalimg.judges.base import LoadedImage

_MAX_PIXELS = 25_000_000
"""Images with more pixels are not read here: the playground may be open to others, and shares its memory."""

_FREE_PROMPTS = "free-prompts"

NEEDS_CHAT_MODEL = (
    f"For other images and prompts, name a chat model that can see before `formalimg view`: set {JUDGE_VARIABLE}, or "
    "judge in formalimg.toml."
)
"""What to do where the built-in grounder cannot score."""


def scoring_judge() -> ConfiguredJudge:
    """Return the judge configured for free prompts, or the built-in grounder by default."""
    return load_defaults().judge(_FREE_PROMPTS) or ConfiguredJudge(ICONS)


def sees_drawings_only(judge: ConfiguredJudge) -> bool:
    """Return whether a judge works only on drawings by formalimg and makes no requests."""
    return judge.name == ICONS


def read_image(sent: str) -> LoadedImage:
    """Decode an image that a page sent as base64."""
    from formalimg.runs.inspection import inspect
    from formalimg.types import Unscored

    image = inspect(_decode(sent), _MAX_PIXELS)
    if isinstance(image, Unscored):
        refused = InputTooLargeError if image.reason == "too large" else FormalimgError
        raise refused(f"{image.reason}: {image.detail}")
    return image


def is_large_image(sent: str) -> bool:
    """Return whether decoding an image sent as base64 takes much memory."""
    from formalimg.runs.inspection import LARGE_IMAGE_BYTES, count_decoded_bytes

    try:
        return count_decoded_bytes(_decode(sent)) > LARGE_IMAGE_BYTES
    except FormalimgError:
        return False


def _decode(sent: str) -> bytes:
    try:
        return base64.b64decode(sent, validate=True)
    except (binascii.Error, ValueError) as error:
        raise FormalimgError("the image is not valid base64") from error


def score_image(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Score an image against a prompt and return the score with its parts, without storing anything."""
    from formalimg.scoring.scoring import open_scoring

    read_image(arguments["image"])  # refused here in plain words
    judge = scoring_judge()
    limited = sees_drawings_only(judge)
    data, prompt = _decode(arguments["image"]), arguments["prompt"]
    try:
        scoring = open_scoring([(data, prompt)], judge.name, judge_options=judge.options)
        with TemporaryDirectory(prefix="formalimg-playground-") as folder:
            scores = scoring.execute(Path(folder) / "run", load_defaults().budget.value, lambda progress: None)
    except FormalimgError as error:
        if limited:
            raise FormalimgError(f"{error}. {NEEDS_CHAT_MODEL}") from error
        raise
    (found,) = scores
    return {
        "passed": found.passed,
        "score": found.score,
        "reason": found.reason,
        "form": found.form,
        "judge": judge.name,
        "parts": [
            {"text": part.name, "kind": part.kind, "holds": part.score >= 1, "reason": part.reason}
            for part in found.parts
        ],
        "warnings": list(scores.warnings),
        "advice": NEEDS_CHAT_MODEL if limited and found.passed is None else "",
    }
