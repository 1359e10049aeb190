"""Truth of drawn scenes: evaluation of formulas and concepts by the axioms of the solver and the renderer.

Truth depends on what the image shows: an object without a colour is drawn in the tint of its class and has that colour,
and states shown by the plain icon of a class (a standing man) hold as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, geometric_mean
from typing import NamedTuple

from formalimg.drawing.catalog import DrawnCatalog, DrawnClass, drawn_catalog
from formalimg.drawing.icon import palette
from formalimg.drawing.scene import DrawnScene, DrawnSpace, SceneBrief, material_word, relation_word
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Atom, Formula
from formalimg.logic.verification import Verification, verify
from formalimg.scenes.objects import NO_WORD, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.scenes.spatial_relations import ClearScene

PLAIN_STYLE = "plain drawing"  # The style of an image for which none was chosen: none of the vocabularies'


class DrawnConcept(NamedTuple):
    """A visual concept concerning objects of the given classes.

    `items` has one class for an object or attribute, and two for a relation. For a size, it has the class itself
    followed by the other classes with a requested size; objects of all other classes serve as references.
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
    return verify(formula, complete_scene(drawn, catalog), style=drawn.style or PLAIN_STYLE)


def complete_scene(drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> Scene:
    """Return a drawn scene as a completely known scene for verifying formulas."""
    scene = visible_scene(drawn, catalog)
    return _DrawnWorld(scene.objects, scene.relations)


def visible_scene(drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> Scene:
    """Return the scene with everything visible in its image: natural tints, states of plain icons, relations."""
    entries = catalog or drawn_catalog()
    records = drawn.scene.relations or ()
    carriers = {record.second for record in records if record.predicate == "On"}
    containers = {record.second for record in records if record.predicate == "In"}
    objects = [
        _visible_object(obj, entries, number in carriers, number in containers)
        for number, obj in enumerate(drawn.scene.objects)
    ]
    return Scene(tuple(objects), DrawnSpace(drawn).shown_relations())


def _visible_object(obj: SceneObject, catalog: DrawnCatalog, carries: bool, contains: bool) -> SceneObject:
    entry = catalog.classes.get(obj.label)
    if entry is None:
        return obj
    states = entry.shown_states(obj.states, carries=carries, contains=contains)
    return replace(obj, color=_visible_color(obj, entry), states=states)


def _visible_color(obj: SceneObject, entry: DrawnClass) -> str | None:
    """Return the painted colour of an object, or "other" for material tones that match no colour."""
    if obj.color is not None and obj.color != NO_WORD:
        return obj.color
    if obj.material is None or obj.material == NO_WORD:
        return entry.tint
    from formalimg.drawing.materials import natural_tones

    tones = natural_tones(obj.material)
    if tones is None:
        return entry.tint
    return next((color for color, tones_of in palette().colors.items() if tones_of == tones), NO_WORD)


def concept_holds(concept: DrawnConcept, drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> bool:
    """Return whether a drawn scene shows a concept.

    An attribute holds if all objects of the class have it, and there is at least one.
    """
    if concept.category == "style":
        return drawn.style == concept.value
    groups = [[number for number, obj in enumerate(drawn.scene.objects) if obj.label == item] for item in concept.items]
    if concept.category == "spatial":
        word = relation_word(concept.value)
        if word is None:
            raise FormalimgError(f"drawn scenes know no relation {concept.value!r}: use one of concepts, such as left")
        return word.holds(groups[0], groups[1], DrawnSpace(drawn).holds)
    members = groups[0] if groups else []
    if concept.category == "number":
        return len(members) == int(concept.value)
    if concept.category == "size":
        return _decide_size(has_size, concept, drawn, catalog)
    if concept.category not in ("object", "color", "shape", "texture"):
        raise FormalimgError(f"drawn scenes know no concepts of the category {concept.category!r}")
    objects = visible_scene(drawn, catalog).objects
    kind, value = ("material", material_word(concept.value)) if concept.category == "texture" else concept[:2]
    return bool(members) and (kind == "object" or all(getattr(objects[number], kind) == value for number in members))


def is_clear_concept(concept: DrawnConcept, drawn: DrawnScene, catalog: DrawnCatalog | None = None) -> bool:
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
    for name, first, second in ((relation.name, relation.first, relation.second) for relation in brief.relations):
        concepts.append(DrawnConcept("spatial", name, (brief.objects[first].item, brief.objects[second].item)))
    return tuple(concepts)


SIZES = ("tiny", "huge")

SIZE_FACTOR = 3.0  # How many times shorter or longer than usual an object is at least that is tiny or huge
FEWEST_REFERENCES = 2  # So many other classes of a usual size set the scale at least
SCALES_APART = 1.5  # The scales at which references are drawn differ by this factor at most: otherwise there is none
COMPARABLE = 4.0
"""A size is compared with something that is at most so many times shorter: beside a bee, a hen is not tiny."""

MOST_APART = 12.0  # How many times longer than another an object of one drawing is at most: both have to be seen
ORDINARY_FACTOR = 1.4  # How many times shorter or longer than usual an object is at most that nobody calls tiny or huge
_FARTHEST = 1.8
"""Where usual lengths differ by more than this factor, so much is asked for: people look at which of two is larger."""


def size_limit(word: str, length: float, reference: float, factor: float = SIZE_FACTOR) -> float:
    """Return the side length, relative to a reference, at which an object becomes tiny or huge.

    A tiny object must be smaller than its references, and a huge one larger, whatever their usual lengths: a house
    twice as long as a cat is not tiny, and a ring a tenth as long as a man is not huge.
    """
    ratio = length / reference
    return min(ratio, _FARTHEST) / factor if word == "tiny" else max(ratio, 1 / _FARTHEST) * factor


class _SizeMeasures(NamedTuple):
    """The measured sides and usual length of a class, and the usual length and measured side of each reference.

    There are no references if they are too few or do not agree on a single scale.
    """

    sides: list[float]
    length: float
    references: list[tuple[float, float]]


def has_size(
    word: str, objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> bool:
    """Return whether all objects of a class are tiny or huge relative to every reference."""
    sides, length, measures = _measure(objects, item, references, catalog)
    limits = [size_limit(word, length, reference) * side for reference, side in measures]
    if not sides or not limits:
        return False
    return max(sides) <= min(limits) if word == "tiny" else min(sides) >= max(limits)


def is_ordinary(
    word: str, objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> bool:
    """Return whether a class is clearly not tiny or huge; cases between this and `has_size` are ambiguous.

    Cases without references that set the scale are ambiguous too.
    """
    sides, length, measures = _measure(objects, item, references, catalog)
    if not sides:
        return True
    if not measures:
        return False
    usual = length * geometric_mean(side / reference for reference, side in measures)
    return min(sides) >= usual / ORDINARY_FACTOR if word == "tiny" else max(sides) <= usual * ORDINARY_FACTOR


def _measure(
    objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> _SizeMeasures:
    sides: dict[str, list[float]] = {}
    for label, box in objects:
        sides.setdefault(label, []).append(longest_side(box))
    length = _usual_length(item, catalog)
    measures = []
    for label in dict.fromkeys(references):
        reference = _usual_length(label, catalog)
        if reference and label in sides and label != item:
            measures.append((reference, fmean(sides[label])))
    scales = [side / reference for reference, side in measures]
    if length is None or len(scales) < FEWEST_REFERENCES or max(scales) > SCALES_APART * min(scales):
        measures = []
    return _SizeMeasures(sides.get(item, []), length or 0.0, measures)


def _usual_length(label: str, catalog: DrawnCatalog) -> float | None:
    entry = catalog.classes.get(label)
    return None if entry is None else entry.usual_length


def longest_side(box: Box) -> float:
    """Return the longer side of a box."""
    return max(box.xmax - box.xmin, box.ymax - box.ymin)
