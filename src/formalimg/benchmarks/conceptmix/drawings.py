"""Concepts in drawings: what drawn scenes show of them, and the drawings that judges are asked about before a run."""

from __future__ import annotations

from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.truth import DrawnConcept, concept_holds, concept_is_clear, size_items
from formalimg.errors import FormalimgError
from formalimg.judges.preflight import BOTTLE, BOTTLE_AND_FORK, FORK, KnownDrawing, bottle_and_fork
from formalimg.types import Item, Part, Unscored, Verdict


def preflight_drawings(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two drawings about which both questions are asked."""
    concepts = (
        RequestedConcept("object", word, f"the image contains a {word}", f"Does the image contain a {word}?")
        for word in (BOTTLE, FORK)
    )
    return bottle_and_fork(Item(suite, "preflight", 1, BOTTLE_AND_FORK, ConceptSpec(tuple(concepts))))


def judge_drawn(item: Item[object], drawn: DrawnScene) -> Verdict | Unscored:
    """Return the verdict on what a drawn scene shows, concept by concept.

    Its evidence names under `unclear` the questions on which people would not agree: sizes between usual and tiny.
    """
    spec = item.spec
    if not isinstance(spec, ConceptSpec) or not spec.concepts:
        return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
    parts, unclear = [], []
    for concept in spec.concepts:
        asked = _drawn_concept(concept, spec)
        if asked is None:
            detail = f"item {item.id} of {item.suite} does not tell which objects are meant by: {concept.question}"
            return Unscored("not understood", detail)
        try:
            holds = concept_holds(asked, drawn)
        except FormalimgError as error:  # published data may ask for anything
            return Unscored("not understood", str(error))
        parts.append(
            Part(concept.question, concept.category, float(holds), about=(concept.value,), reason=_shown(asked, drawn))
        )
        if not concept_is_clear(asked, drawn):
            unclear.append(concept.question)
    return Verdict(all(part.score == 1 for part in parts), tuple(parts), {"unclear": unclear} if unclear else {})


def _drawn_concept(concept: RequestedConcept, spec: ConceptSpec) -> DrawnConcept | None:
    """Return the concept with the classes of its objects; None if the data does not tell them."""
    if concept.category == "style":
        return DrawnConcept("style", concept.value)
    if concept.category == "object":
        return DrawnConcept("object", concept.value, (concept.value,))
    if spec.binding is None or not concept.objects:
        return None
    items = tuple(spec.binding.objects[number - 1].item for number in concept.objects)
    if concept.category == "size":
        items = size_items([(obj.item, obj.attributes.get("size")) for obj in spec.binding.objects], items[0])
    return DrawnConcept(concept.category, concept.value, items)


def _shown(concept: DrawnConcept, drawn: DrawnScene) -> str:
    """Return what the scene has of the classes of a concept, in words."""
    if concept.category == "style":
        return f"the style is {drawn.style}" if drawn.style else "it is a plain drawing"
    found = [f"{obj.describe()} at {obj.box}" for obj in drawn.scene.objects if obj.label in concept.items]
    return ", ".join(found) or f"no {' and no '.join(concept.items)}"
