"""Drawn scenes for ConceptMix: verdicts, preflight drawings, and the world of built-in models."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.benchmarks.conceptmix.plausibility import pool_objects, reference_objects
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.benchmarks.conceptmix.words import noun_forms, plural_of
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.truth import DrawnConcept, concept_holds, concept_is_clear, size_items
from formalimg.errors import FormalimgError
from formalimg.judges.preflight import BOTTLE, BOTTLE_AND_FORK, FORK, KnownDrawing, bottle_and_fork
from formalimg.models.builtin.drawn_world import DrawnWorld, Meaning, MisreadRates, WorldNoun
from formalimg.types import Item, Part, Unscored, Verdict


def preflight_drawings(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return the two preflight drawings with their yes/no questions."""
    concepts = (
        RequestedConcept("object", word, f"the image contains a {word}", f"Does the image contain a {word}?")
        for word in (BOTTLE, FORK)
    )
    return bottle_and_fork(Item(suite, "preflight", 1, BOTTLE_AND_FORK, ConceptSpec(tuple(concepts))))


def judge_drawn(item: Item[object], drawn: DrawnScene) -> Verdict | Unscored:
    """Return the verdict on a drawn scene, concept by concept.

    Its evidence names under `unclear` the questions on which people would not agree: sizes between usual and tiny.
    """
    spec = item.spec
    if not isinstance(spec, ConceptSpec) or not spec.concepts:
        return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
    parts, unclear = [], []
    for concept in spec.concepts:
        requested = _to_drawn_concept(concept, spec)
        if requested is None:
            detail = f"item {item.id} of {item.suite} does not tell which objects are meant by: {concept.question}"
            return Unscored("not understood", detail)
        try:
            holds = concept_holds(requested, drawn)
        except FormalimgError as error:  # published data may ask for anything
            return Unscored("not understood", str(error))
        parts.append(
            Part(
                concept.question,
                concept.category,
                float(holds),
                about=(concept.value,),
                reason=_describe_objects(requested, drawn),
            )
        )
        if not concept_is_clear(requested, drawn):
            unclear.append(concept.question)
    return Verdict(all(part.score == 1 for part in parts), tuple(parts), {"unclear": unclear} if unclear else {})


def _to_drawn_concept(concept: RequestedConcept, spec: ConceptSpec) -> DrawnConcept | None:
    """Return the concept with its object classes, or None if the item does not specify them."""
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


def _describe_objects(concept: DrawnConcept, drawn: DrawnScene) -> str:
    """Describe the scene's objects that belong to the classes of a concept."""
    if concept.category == "style":
        return f"the style is {drawn.style}" if drawn.style else "it is a plain drawing"
    objects = [f"{obj.describe()} at {obj.box}" for obj in drawn.scene.objects if obj.label in concept.items]
    return ", ".join(objects) or f"no {' and no '.join(concept.items)}"


def _world_nouns() -> Iterator[WorldNoun]:
    for thing in (*pool_objects(), *reference_objects()):
        singular, plural, also = noun_forms(thing.name)
        yield WorldNoun(thing.name, singular, plural, (*also, *thing.names, *map(plural_of, thing.names)))


def _world_phrases() -> Iterator[tuple[str, Meaning]]:
    pools = load_pools(profile="official-code")
    for item in drawn_catalog().classes:
        forms = noun_forms(item)
        yield from ((text.replace("-", " "), ("class", item)) for text in (*forms.one, *forms.many))
    for category in ("color", "shape", "texture", "style"):
        kind = "material" if category == "texture" else category
        yield from ((value, (kind, value)) for value in pools[category].values)


# Pass rates fall with k as those of published models do; prompts have few facts.
WORLD = DrawnWorld(MisreadRates(0.2, 0.35, 0.15, 0.6, 0.6, 0.3), _world_nouns, _world_phrases)
