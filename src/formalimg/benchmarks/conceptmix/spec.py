"""Spec of a ConceptMix item: concepts, their binding to objects, and one question for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from formalimg._util.strict_json import is_text
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.drawing.brief import SceneBrief

Category: TypeAlias = Literal["object", "color", "number", "shape", "size", "texture", "spatial", "style"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The categories of visual concepts."""

ATTRIBUTES: tuple[Category, ...] = ("color", "number", "shape", "size", "texture")
"""Categories that describe one object; an object has at most one concept of each."""

NO_CATEGORY = cast(Category, "question")
"""Stands where a published question or concept belongs to no category; none of `CATEGORIES`: nothing is drawn from it.

Judges pass the category on as the kind of a part, and do nothing else with it.
"""

OPEN = "?"
"""Placeholder in the JSON of a binding for an object that is still to be chosen."""


class Concept(NamedTuple):
    """A visual concept, such as the colour red."""

    category: Category
    value: str


@dataclass(frozen=True)
class BoundObject:
    """An object with the attributes bound to it, by category."""

    item: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SpatialRelation:
    """A spatial relation between two objects."""

    name: str  # the spatial concept
    description: str  # its statement, with `{ObjectA}` and `{ObjectB}` for the two
    first: int | None = None  # the ids of the two objects, counted from 1; None as long as it is open
    second: int | None = None


@dataclass(frozen=True)
class Binding:
    """Assignment of concepts to objects.

    The objects that were drawn come first. Reference objects may follow: added because a relation needs two objects, or
    because the size of an object that is alone in the image cannot be judged.
    """

    objects: tuple[BoundObject, ...]  # the objects; their ids are their places, counted from 1
    style: str | None = None  # the style of the image; None if any will do
    relations: tuple[SpatialRelation, ...] = ()  # the spatial concepts, in the order drawn

    @property
    def is_open(self) -> bool:
        """Whether the objects of a relation are still to be chosen."""
        return any(relation.first is None or relation.second is None for relation in self.relations)

    def to_json(self) -> dict[str, object]:
        """Return the binding as plain data in the published format."""
        found: dict[str, object] = {
            "objects": [
                {"id": number, "item": obj.item, **obj.attributes} for number, obj in enumerate(self.objects, 1)
            ]
        }
        if self.style is not None:
            found["style"] = self.style
        if self.relations:
            found["relation"] = [
                {
                    "name": relation.name,
                    "description": relation.description,
                    "ObjectA_id": OPEN if relation.first is None else relation.first,
                    "ObjectB_id": OPEN if relation.second is None else relation.second,
                }
                for relation in self.relations
            ]
        return found

    @classmethod
    def from_json(cls, data: object) -> Binding:
        """Return the binding described by plain data in the published format."""
        return parse_binding(data)


class BoundConcept(NamedTuple):
    """A concept and the ids of its objects: one for an object or an attribute, two for a relation."""

    concept: Concept
    objects: tuple[int, ...]


@dataclass(frozen=True)
class RequestedConcept:
    """One concept that an image must show, with its statement and question."""

    category: Category  # what sort of concept it is
    value: str  # the concept
    statement: str  # what it says of the image, as in "the color of the cat is red"
    question: str  # how it is asked for; yes is good
    objects: tuple[int, ...] = ()  # the ids of the objects it is about; none for a style

    @property
    def concept(self) -> Concept:
        """The concept without statement and question."""
        return Concept(self.category, self.value)


@dataclass(frozen=True)
class ConceptSpec:
    """What an item of ConceptMix asks for."""

    # k + 1 concepts in the order of their questions: the objects first, the spatial ones last, the others in the
    # order drawn; in published data, any order
    concepts: tuple[RequestedConcept, ...]
    binding: Binding | None = None  # which belongs to which; None for data that was published without it
    # concepts of published data for which there is no question; no image is judged by them
    unasked: tuple[Concept, ...] = ()
    # all concepts in the order drawn, where published questions have another one; else empty
    order: tuple[Concept, ...] = ()

    @property
    def drawn(self) -> tuple[Concept, ...]:
        """All concepts that the prompt was written for, in the order drawn.

        Of several styles the last is that of the binding, and it is the one that is asked for.
        """
        asked = (each.concept for each in self.concepts if each.category != NO_CATEGORY or each.value)
        return self.order or (*self.unasked, *asked)

    def scene_brief(self) -> SceneBrief:
        """Return what the binding asks to be drawn."""
        from formalimg.benchmarks.drawn_requests import NothingToDrawError
        from formalimg.drawing.brief import BriefError, SceneBrief

        if self.binding is None or self.binding.is_open:
            raise NothingToDrawError("the data does not tell which concept belongs to which object")
        try:
            return SceneBrief.from_json(self.binding.to_json())
        except BriefError as error:
            raise NothingToDrawError(str(error)) from error

    @property
    def stated_classes(self) -> list[str]:
        """The objects that train and test items may not have in common."""
        return [each.value for each in self.drawn if each.category == "object"]

    @property
    def stated_relations(self) -> list[str]:
        """The spatial concepts, each as the first in the alphabet of itself and its converse."""
        from formalimg.benchmarks.conceptmix.words import converse_of  # which imports this module

        named = [each.value for each in self.drawn if each.category == "spatial"]
        return [min(value, converse_of(value) or value) for value in named]


class BindingError(FormalimgError, ValueError):
    """An invalid binding, or one that changes what it had to keep."""


def parse_binding(data: object) -> Binding:
    """Parse a binding from plain data in the published format."""
    table = _table(data, "a binding", ("objects", "style", "relation"), ignored=("index",))
    objects = tuple(_object(entry, number) for number, entry in enumerate(_list(table, "objects"), 1))
    if not objects:
        raise BindingError("a binding needs at least one object")
    style = table.get("style")
    if style is not None and not (is_text(style) and style):
        raise BindingError("the style of a binding must be a word")
    return Binding(objects, style, tuple(_relation(entry, len(objects)) for entry in _list(table, "relation")))


def _object(data: object, number: int) -> BoundObject:
    table = _table(data, f"object {number}", ("id", "item", *ATTRIBUTES))
    if _parse_id(table.get("id")) != number:
        raise BindingError(f"the ids of objects must count from 1, but number {number} has the id {table.get('id')!r}")
    if not all(is_text(value) and value for key, value in table.items() if key != "id"):
        raise BindingError(f"object {number} must have words only, besides its id")
    if "item" not in table:
        raise BindingError(f"object {number} has no item")
    return BoundObject(table["item"], {key: table[key] for key in table if key in ATTRIBUTES})


def _relation(data: object, objects: int) -> SpatialRelation:
    table = _table(data, "a relation", ("name", "description", "ObjectA_id", "ObjectB_id"))
    name, description = table.get("name"), table.get("description", "")
    if not is_text(name) or not name or not is_text(description):
        raise BindingError("a relation needs a name and a description in words")
    ends: list[int | None] = []
    for key in ("ObjectA_id", "ObjectB_id"):
        given = table.get(key)
        if given == OPEN:
            ends.append(None)
            continue
        number = _parse_id(given)
        if number is None or not 1 <= number <= objects:
            raise BindingError(f"{key} of the relation {name!r} is {given!r}, but objects are 1 to {objects}")
        ends.append(number)
    return SpatialRelation(name, description, *ends)


def _parse_id(given: object) -> int | None:
    """Return an id; chat models write some of them in quotes."""
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 9:
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _table(data: object, what: str, known: tuple[str, ...], ignored: tuple[str, ...] = ()) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise BindingError(f"{what} must be an object of JSON")
    unknown = sorted(str(key) for key in data if key not in known and key not in ignored)
    if unknown:
        raise BindingError(f"{what} has {unknown[0]!r}, which is none of {', '.join(known)}")
    return {key: value for key, value in data.items() if key in known}


def _list(table: Mapping[str, Any], key: str) -> list[Any]:
    found = table.get(key, [])
    if not isinstance(found, list):
        raise BindingError(f"{key} of a binding must be a list")
    return found
