"""Answers of a chat model that sees the drawings of a pre-flight: a red bottle low or high, or a green fork."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence

from PIL import Image

from tests.support.loopback import Asked

LOW, HIGH = (100, 300, 300, 860), (620, 60, 780, 500)
"""The boxes of the bottle, on a canvas of 1000."""


def shown(asked: Asked) -> str:
    """What the drawing in a question shows: `low` or `high` bottle, or `fork`; empty for any other image."""
    (data,) = asked.images
    with Image.open(io.BytesIO(data)) as image:
        drawing = image.convert("RGB")
    if drawing.size != (448, 448):
        return ""
    redness = {place: _redness(drawing, *place) for place in ((640, 450), (200, 800))}
    if redness[640, 450] < -50:
        return "fork"
    return "high" if redness[640, 450] > 100 else "low" if redness[200, 800] > 100 else ""


def _redness(drawing: Image.Image, x: int, y: int) -> int:
    """How much more red than green is at a place on the canvas of 1000."""
    pixel = drawing.getpixel((x * 448 // 1000, y * 448 // 1000))
    assert isinstance(pixel, tuple)
    return int(pixel[0] - pixel[1])


def found(box: Sequence[float] | None, label: str = "bottle") -> str:
    """The answer of a grounder with one box, or none."""
    return json.dumps({"objects": [{"label": label, "color": "red", "box_2d": list(box)}] if box else []})


def seen_box(asked: Asked) -> Sequence[float] | None:
    """Where the bottle is."""
    return {"low": LOW, "high": HIGH}.get(shown(asked))


def clause_answer(asked: Asked, bottle: bool, fork: bool) -> str:
    """The answer of a clause judge."""
    clauses = re.findall(r"^\(Is \?\w+ '(?:bottle|fork)'\)$", "\n".join(asked.texts), re.MULTILINE)
    judged = [{"clause": one, "because": "seen", "holds": bottle if "bottle" in one else fork} for one in clauses]
    return json.dumps({"observations": [], "clauses": judged, "fulfilled": bottle and fork})


def word_answer(yes: bool) -> str:
    """The answer of a question judge."""
    return json.dumps({"observation": "seen", "answer": "yes" if yes else "no"})
