"""Drawability of a request: which of its words cannot be drawn, and why."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from math import log
from statistics import fmean

from formalimg.drawing.catalog import OVERLAY_STATES, DrawnCatalog, DrawnClass, drawn_catalog
from formalimg.drawing.icon import palette
from formalimg.drawing.materials import MATERIALS
from formalimg.drawing.scene import OCCLUSION, BriefObject, SceneBrief, material_word, relation_word
from formalimg.drawing.shapes import SHAPES
from formalimg.drawing.truth import COMPARABLE, FEWEST_REFERENCES, MOST_APART, size_limit
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula, Value, Variable, atoms
from formalimg.logic.variables import rename_apart
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES

_PLACES = {"In": "inside", "Holding": "hold"}
"""Relations that a class can declare undrawable, by their predicate, and how it calls them; "on" is a state."""


_UPRIGHT_SHAPES = frozenset({"rectangle", "rectangular", "square"})
"""Shapes that leave windows and doors where they are."""


class _Requested:
    """An object of a request: its class, and the required words of each kind."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.words: list[tuple[str, str]] = []

    def words_of(self, kind: str) -> list[str]:
        return [word for word_kind, word in self.words if word_kind == kind]


def why_not_drawable(request: Formula | str | SceneBrief, catalog: DrawnCatalog | None = None) -> str | None:
    """Return the first reason why a request cannot be drawn; None if all its words can be.

    Whether the objects can be arranged together is decided by `solve_drawn`.
    """
    catalog = catalog or drawn_catalog()
    if isinstance(request, SceneBrief):
        return next(_brief_problems(with_surroundings(request, catalog), catalog), None)
    return next(_formula_problems(parse(request) if isinstance(request, str) else request, catalog), None)


def _brief_problems(brief: SceneBrief, catalog: DrawnCatalog) -> Iterator[str]:
    requested = []
    for entry in brief.objects:
        obj = _Requested(entry.item)
        words = {"color": entry.color, "shape": entry.shape, "size": entry.size}
        obj.words = [(kind, word) for kind, word in words.items() if word is not None]
        if entry.material is not None:
            obj.words.append(("material", material_word(entry.material)))
        obj.words += [("state", state) for state in entry.states]
        requested.append(obj)
    labels = [obj.label for obj in requested]
    repeated = next((label for label in labels if labels.count(label) > 1), None)
    if repeated is not None:
        yield f"{repeated}: two entries of one class cannot be told apart"
    pairs = []
    for relation in brief.relations:
        word = relation_word(relation.name)
        if word is None:
            yield f"{relation.name}: drawn scenes know no such relation"
            continue
        ends = (requested[relation.first], requested[relation.second])
        pairs.append((word.predicate, *(reversed(ends) if word.converse else ends)))
        if relation.name == "outside" and catalog.classes.get(ends[1].label, _NOTHING).inside is None:
            yield f"outside: a {ends[1].label} has no inside that a drawing could show"
    yield from _size_problems(requested, catalog)
    yield from _problems(requested, pairs, brief.style, catalog)


def _size_problems(requested: list[_Requested], catalog: DrawnCatalog) -> Iterator[str]:
    """Yield the reasons why requested sizes cannot be recognised beside the other objects."""
    sizes = {obj.label: word for obj in requested for kind, word in obj.words if kind == "size"}
    references = {obj.label: catalog.classes.get(obj.label, _NOTHING).usual_length for obj in requested}
    measures = {label: length for label, length in references.items() if length and label not in sizes}
    for label, word in sizes.items():
        entry = catalog.classes.get(label, _NOTHING)
        if entry.any_size is not None:
            yield f"size: {entry.any_size}"
        usual = entry.usual_length or 1.0
        if not any(usual <= COMPARABLE * length for length in measures.values()):
            yield f"size: there is nothing of about its usual size to compare the {label} with"
        if len(measures) < FEWEST_REFERENCES:
            yield f"size: beside the {label}, fewer than {FEWEST_REFERENCES} things of a usual size set the scale"
        for reference, length in measures.items():
            limit = size_limit(word, usual, length)
            if word == "tiny" and limit < 1 / MOST_APART:
                yield f"size: beside a {reference}, a tiny {label} would be too small to be seen"
            elif word == "huge" and limit > MOST_APART:
                yield f"size: a huge {label} leaves no room for a {reference} that is seen"


def _formula_problems(formula: Formula, catalog: DrawnCatalog) -> Iterator[str]:
    objects: dict[str, _Requested] = {}
    pairs, styles = [], []
    all_atoms = list(atoms(rename_apart(formula)))
    for atom in all_atoms:
        match atom.predicate, atom.arguments:
            case "Is", (Variable(name), Value(word)):
                objects[name] = _Requested(word)
            case name, (Value(word),) if name == STYLE_PREDICATE:
                styles.append(word)
    for atom in all_atoms:
        match atom.arguments:
            case (Variable(name), Value(word)) if atom.predicate in ATTRIBUTE_PREDICATES and name in objects:
                objects[name].words.append((ATTRIBUTE_PREDICATES[atom.predicate], word))
            case (Variable(first), Variable(second)) if first in objects and second in objects:
                pairs.append((atom.predicate, objects[first], objects[second]))
    yield from _problems(list(objects.values()), pairs, None, catalog)
    for style in styles:
        yield from _style_problems(list(objects.values()), style, catalog)


_NOTHING = DrawnClass("", "", "gray")


def _problems(
    requested: list[_Requested],
    pairs: Iterable[tuple[str, _Requested, _Requested]],
    style: str | None,
    catalog: DrawnCatalog,
) -> Iterator[str]:
    for obj in requested:
        entry = catalog.classes.get(obj.label)
        if entry is None or catalog.icon(obj.label) is None:
            yield f"{obj.label}: there is no drawing of it"
        elif "" in entry.undrawable:
            yield f"{obj.label}: {entry.undrawable['']}"
    for predicate, first, second in pairs:
        yield from _relation_problems(predicate, first, second, catalog)
    for obj in requested:
        yield from _word_problems(obj, catalog)
    if style is not None:
        yield from _style_problems(requested, style, catalog)


def _relation_problems(predicate: str, first: _Requested, second: _Requested, catalog: DrawnCatalog) -> Iterator[str]:
    prefix = _PLACES.get(predicate)
    holder = first if predicate == "Holding" else second
    entry = catalog.classes.get(holder.label, _NOTHING)
    limits = catalog.word("relation", predicate)
    reason = limits.always or limits.beside.get(holder.label)
    if reason is None and prefix is not None:
        reason = entry.undrawable.get(prefix)
    if reason is not None:
        yield f"{predicate}: {reason}"
    elif predicate == "In" and entry.inside is None:
        yield f"{predicate}: a {holder.label} has no inside that a drawing could show"
    elif predicate == "Holding" and not entry.hold:
        yield f"{predicate}: a {holder.label} has nothing to hold things with"
    elif predicate == "Holding":
        variant = entry.variant(first.words_of("state"))
        if not entry.hands(variant):
            yield f"Holding: a {holder.label} that is {variant} is drawn without a free hand or mouth"
        elif first.words_of("shape"):
            yield f"Holding: a shape bends the hand or mouth of a {holder.label} out of place"
    elif predicate == "In" and not _UPRIGHT_SHAPES.issuperset(holder.words_of("shape")):
        yield f"In: a shape hides the opening of a {holder.label}"
    elif predicate in ("In", "On", "OnTopOf"):
        variant = entry.container if predicate == "In" else entry.carrier
        variant_states = (variant, *entry.also.get(variant, ())) if variant else ()
        states = [word for word in holder.words_of("state") if word in (*entry.variants, *entry.shows)]
        wrong = next((state for state in states if variant and state not in variant_states), None)
        if wrong is not None:
            preposition = "inside" if predicate == "In" else "on"
            yield f"{wrong}: a {holder.label} with a thing {preposition} it is drawn {variant}"
    elif predicate == OCCLUSION and catalog.word("relation", predicate).beside.get(first.label):
        yield f"{predicate}: {limits.beside[first.label]}"


def _word_problems(obj: _Requested, catalog: DrawnCatalog) -> Iterator[str]:
    entry = catalog.classes.get(obj.label, _NOTHING)
    words = [word for _, word in obj.words]
    for kind, word in obj.words:
        limits = catalog.word(kind, word)
        beside = next((limits.beside[second] for second in (obj.label, *words) if second in limits.beside), None)
        reason = limits.always or entry.undrawable.get(word) or beside
        if reason is not None:
            yield f"{word}: {reason}"
        elif word not in _drawable_words(kind, word):
            yield f"{word}: there is no drawing of this {kind}"
        elif kind == "state" and word not in (*entry.variants, *entry.shows, *OVERLAY_STATES):
            yield f"{word}: there is no drawing of a {obj.label} in this state"
    shape = next(iter(obj.words_of("shape")), None)
    if shape is not None and "black" in (
        words if any(kind in ("color", "material") for kind, _ in obj.words) else [entry.tint]
    ):
        yield f"{shape}: the lines of what is bent into a shape are not seen on black"
    poses = [word for word in obj.words_of("state") if word not in OVERLAY_STATES]
    for first, second in pairwise(poses):
        if second not in entry.also.get(first, ()) and first not in entry.also.get(second, ()) and first != second:
            yield f"{second}: there is no drawing of a {obj.label} that is {first} as well"


def _drawable_words(kind: str, word: str) -> Container[str]:
    """Return the drawable words of a kind, or just the word itself for kinds that depend on the class."""
    if kind == "color":
        return {*palette().colors, *palette().others}
    by_kind: dict[str, Container[str]] = {"material": MATERIALS, "shape": SHAPES}
    return by_kind.get(kind, (word,))


def _style_problems(requested: list[_Requested], style: str, catalog: DrawnCatalog) -> Iterator[str]:
    limits = catalog.word("style", style)
    if limits.always is not None:
        yield f"{style}: {limits.always}"
    for obj in requested:
        for kind, word in obj.words:
            if kind in limits.removes:
                yield f"{word}: an image in the style {style} does not show it"
            elif word in limits.beside:
                yield f"{word}: {limits.beside[word]}"


_ALIKE = {
    "key": ("ring",),
    "cup": ("bowl",),
    "spoon": ("fork", "knife", "screwdriver"),
    "bottle": ("snow globe",),
    "backpack": ("suitcase", "basket"),
    "chair": ("bench", "sofa", "table", "desk"),
    "bicycle": (),
    "car": ("truck", "bus", "toy car"),
    "house": ("barn", "garage", "greenhouse", "warehouse", "skyscraper", "mailbox"),
}
"""The surroundings: classes of well-known sizes; each with those that it could be taken for, or whose parts it has."""


def with_surroundings(brief: SceneBrief, catalog: DrawnCatalog) -> SceneBrief:
    """Return the brief with enough additional objects to set a scale; unchanged if it requests no sizes.

    The added objects are those nearest in length to the present ones, so that all objects are large enough to see.
    """
    if not any(obj.size for obj in brief.objects):
        return brief
    labels = {obj.item for obj in brief.objects}
    lengths = {label: _log_length(label, catalog) for label in labels}
    references = {obj.item for obj in brief.objects if obj.size is None and lengths[obj.item] is not None}
    missing = FEWEST_REFERENCES - len(references)
    sizes = [length for length in lengths.values() if length is not None]
    if missing <= 0 or not sizes:
        return brief
    middle = fmean(sizes)
    candidates = [label for label, alike in _ALIKE.items() if labels.isdisjoint((label, *alike))]
    nearest = sorted(candidates, key=lambda label: abs((_log_length(label, catalog) or 0.0) - middle))
    return replace(brief, objects=(*brief.objects, *map(BriefObject, nearest[:missing])))


def _log_length(label: str, catalog: DrawnCatalog) -> float | None:
    entry = catalog.classes.get(label)
    return log(entry.usual_length) if entry is not None and entry.usual_length else None
