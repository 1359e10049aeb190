"""Truth of drawn scenes: evaluation of formulas and concepts by the axioms of the solver and the renderer.

What decides is what the image shows: an object without a colour is drawn in the tint of its class and has that colour,
and what the plain icon of a class shows (a man who stands) is true as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from formalimg.drawing.brief import SceneBrief
from formalimg.drawing.catalog import DrawnCatalog, DrawnClass, drawn_catalog
from formalimg.drawing.icon import palette
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.sizes import has_size, is_ordinary
from formalimg.drawing.space import DrawnSpace, material_word, relation_word
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Atom, Formula
from formalimg.logic.verification import Verification, verify
from formalimg.scenes.objects import NO_WORD, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.scenes.spatial_relations import ClearScene

PLAIN_STYLE = "plain drawing"  # The style of an image for which none was chosen: none of the vocabularies'


class DrawnConcept(NamedTuple):
    """A visual concept concerning objects of the given classes.

    `items` is one for an object or attribute, and two for a relation. A size names after its own class the others of
    which a size is asked: everything else that is shown is a reference.
    """

    category: str
    value: str
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class _DrawnWorld(ClearScene):
    """A completely known scene, in which an unrecorded material, shape or state is absent."""

    def objection(self, atom: Atom) -> str | None:
        """Return why this scene cannot decide an atom; None if it can."""
        if atom.predicate in ("HasMaterial", "HasShape", "HasState"):
            return None
        return super().objection(atom)


def verify_drawn(formula: Formula | str, drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> Verification:
    """Decide whether a Natural formula holds in a drawn scene.

    Raises:
        FormulaError: if the formula uses predicates that a scene cannot decide.
    """
    return verify(formula, drawn_world(drawn, catalog), style=drawn.style or PLAIN_STYLE)


def drawn_world(drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> Scene:
    """Return a drawn scene as a completely known scene for verifying formulas."""
    shown = shown_scene(drawn, catalog)
    return _DrawnWorld(shown.objects, shown.relations)


def shown_scene(drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> Scene:
    """Return the scene with everything visible in its image: natural tints, states of plain icons, relations."""
    known = catalog or drawn_catalog()
    records = drawn.scene.relations or ()
    carriers = {each.second for each in records if each.predicate == "On"}
    containers = {each.second for each in records if each.predicate == "In"}
    objects = [
        _shown(obj, known, number in carriers, number in containers) for number, obj in enumerate(drawn.scene.objects)
    ]
    return Scene(tuple(objects), DrawnSpace(drawn).shown_relations())


def _shown(obj: SceneObject, catalog: DrawnCatalog, carries: bool, contains: bool) -> SceneObject:
    entry = catalog.classes.get(obj.label)
    if entry is None:
        return obj
    states = entry.shown_states(obj.states, carries=carries, contains=contains)
    return replace(obj, color=_shown_color(obj, entry), states=states)


def _shown_color(obj: SceneObject, entry: DrawnClass) -> str | None:
    """Return the painted colour of an object, or "other" for material tones that match no colour."""
    if obj.color is not None and obj.color != NO_WORD:
        return obj.color
    if obj.material is None or obj.material == NO_WORD:
        return entry.tint
    from formalimg.drawing.materials import natural_tones

    tones = natural_tones(obj.material)
    if tones is None:
        return entry.tint
    return next((color for color, known in palette().colors.items() if known == tones), NO_WORD)


def concept_holds(concept: DrawnConcept, drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> bool:
    """Return whether a drawn scene shows a concept.

    An attribute holds if all objects of the class have it, and there are some.
    """
    if concept.category == "style":
        return drawn.style == concept.value
    groups = [[number for number, obj in enumerate(drawn.scene.objects) if obj.label == item] for item in concept.items]
    if concept.category == "spatial":
        word = relation_word(concept.value)
        if word is None:
            raise FormalimgError(f"drawn scenes know no relation {concept.value!r}: use one of concepts, such as left")
        return word.holds(groups[0], groups[1], DrawnSpace(drawn).holds)
    found = groups[0] if groups else []
    if concept.category == "number":
        return len(found) == int(concept.value)
    if concept.category == "size":
        return _decide_size(has_size, concept, drawn, catalog)
    if concept.category not in ("object", "color", "shape", "texture"):
        raise FormalimgError(f"drawn scenes know no concepts of the category {concept.category!r}")
    objects = shown_scene(drawn, catalog).objects
    kind, value = ("material", material_word(concept.value)) if concept.category == "texture" else concept[:2]
    return bool(found) and (kind == "object" or all(getattr(objects[number], kind) == value for number in found))


def concept_is_clear(concept: DrawnConcept, drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> bool:
    """Return whether people would agree on a concept, which excludes sizes between usual and tiny or huge."""
    return concept.category != "size" or any(
        _decide_size(decide, concept, drawn, catalog) for decide in (has_size, is_ordinary)
    )


def _decide_size(
    decide: Callable[[str, Sequence[tuple[str, Box]], str, Sequence[str], DrawnCatalog], bool],
    concept: DrawnConcept,
    drawn: DrawnScene,
    catalog: DrawnCatalog | None,
) -> bool:
    objects = [(obj.label, obj.box) for obj in drawn.scene.objects]
    references = sorted({label for label, _ in objects}.difference(concept.items))
    return decide(concept.value, objects, concept.items[0], references, catalog or drawn_catalog())


def size_items(objects: Iterable[tuple[str, str | None]], item: str) -> tuple[str, ...]:
    """Return the classes with a requested size, starting with `item`; these cannot serve as references."""
    return (item, *dict.fromkeys(label for label, size in objects if size is not None and label != item))


def brief_concepts(brief: SceneBrief) -> tuple[DrawnConcept, ...]:
    """Return all concepts requested by a brief: its objects, their attributes, the style and the relations."""
    concepts = [DrawnConcept("object", obj.item, (obj.item,)) for obj in brief.objects]
    sizes = [(obj.item, obj.size) for obj in brief.objects]
    for obj in brief.objects:
        words = {
            "color": obj.color,
            "number": str(obj.number) if obj.number > 1 else None,
            "shape": obj.shape,
            "texture": obj.material,
        }
        concepts += [DrawnConcept(kind, word, (obj.item,)) for kind, word in words.items() if word is not None]
        if obj.size is not None:
            concepts.append(DrawnConcept("size", obj.size, size_items(sizes, obj.item)))
    if brief.style is not None:
        concepts.append(DrawnConcept("style", brief.style))
    for name, first, second in ((each.name, each.first, each.second) for each in brief.relations):
        concepts.append(DrawnConcept("spatial", name, (brief.objects[first].item, brief.objects[second].item)))
    return tuple(concepts)
