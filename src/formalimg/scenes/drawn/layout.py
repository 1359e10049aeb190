"""Layouts of drawn scenes: boxes of drawable sizes that keep the spatial axioms, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from formalimg.logic import Formula
from formalimg.scenes.drawn.brief import SceneBrief
from formalimg.scenes.drawn.catalog import DrawnCatalog
from formalimg.scenes.drawn.scene import DrawnScene


@dataclass(frozen=True)
class NoDrawing:
    """Why nothing can be drawn: a word that no drawing shows, or parts that contradict each other. False in conditions."""

    reason: str
    conflict: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return False


def solve_drawn(
    request: Formula | str | SceneBrief, *, seed: int = 0, catalog: DrawnCatalog | None = None
) -> DrawnScene | NoDrawing:
    """Find a scene that can be drawn and shows what is asked for."""
    raise NotImplementedError
