"""Truth of drawn scenes: whether formulas and concepts hold, by the axioms that the solver and the renderer use."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.logic import Formula, Verification
from formalimg.scenes.drawn.brief import SceneBrief
from formalimg.scenes.drawn.scene import DrawnScene


class DrawnConcept(NamedTuple):
    """A ConceptMix concept about the objects of these classes: one for an object or attribute, two for a relation."""

    category: str
    value: str
    items: tuple[str, ...] = ()


def verify_drawn(formula: Formula | str, drawn: DrawnScene) -> Verification:
    """Decide whether a Natural formula holds in a drawn scene."""
    raise NotImplementedError


def concept_holds(concept: DrawnConcept, drawn: DrawnScene) -> bool:
    """Decide whether a drawn scene shows a concept."""
    raise NotImplementedError


def brief_concepts(brief: SceneBrief) -> tuple[DrawnConcept, ...]:
    """Return all concepts that a brief asks for."""
    raise NotImplementedError
