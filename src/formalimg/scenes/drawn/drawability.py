"""Whether a request can be drawn: which of its words no drawing shows, and why."""

from __future__ import annotations

from formalimg.logic import Formula
from formalimg.scenes.drawn.brief import SceneBrief
from formalimg.scenes.drawn.catalog import DrawnCatalog


def why_not_drawable(request: Formula | str | SceneBrief, catalog: DrawnCatalog | None = None) -> str | None:
    """Return which word of a request cannot be drawn, and why; None if all can be."""
    raise NotImplementedError
