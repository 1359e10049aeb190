"""What an item of ConceptMix asks for: concepts, how they are bound to objects, and one question for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.strict_json import is_text
from formalimg.errors import FormalimgError

Category: TypeAlias = Literal["object", "color", "number", "shape", "size", "texture", "spatial", "style"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The categories of visual concepts."""

ATTRIBUTES: tuple[Category, ...] = ("color", "number", "shape", "size", "texture")
"""The categories that say how one object is; an object has at most one concept of each."""

OPEN = "?"
"""Stands in the JSON of a binding for what is still to be filled in."""


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
class Relation:
    """How one object stands to another.

    Attributes:
        name: the spatial concept.
        description: its statement, with `{ObjectA}` and `{ObjectB}` for the two.
        first, second: the ids of the two objects, counted from 1; None as long as it is open.
    """

    name: str
    description: str
    first: int | None = None
    second: int | None = None


@dataclass(frozen=True)
class Binding:
    """Which concept belongs to which object.

    The objects that were drawn come first. Others may follow: those that somebody added because a relation needs two
    objects, or because nobody can tell whether a thing is tiny that is alone in the image.

    Attributes:
        objects: the objects; their ids are their places, counted from 1.
        style: the style of the image; None if any will do.
        relations: the spatial concepts, in the order drawn.
    """

    objects: tuple[BoundObject, ...]
    style: str | None = None
    relations: tuple[Relation, ...] = ()

    @property
    def is_open(self) -> bool:
        """Is there a relation whose objects are not known yet?"""
        return any(relation.first is None or relation.second is None for relation in self.relations)

    def to_json(self) -> dict[str, object]:
        """The binding as plain data, in the published form."""
        found: dict[str, object] = {
            "objects": [
                {"id": number, "item": thing.item, **thing.attributes} for number, thing in enumerate(self.objects, 1)
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
        """The binding that plain data in the published form describes.

        Raises:
            FormalimgError: if it is none; ids must count from 1 and be used where they exist.
        """
        return binding_of(data)


class BoundConcept(NamedTuple):
    """A concept, and the ids of the objects it is about: one for an object or an attribute, two for a relation."""

    concept: Concept
    objects: tuple[int, ...]


@dataclass(frozen=True)
class AskedConcept:
    """One concept that an image must show.

    Attributes:
        category: what sort of concept it is.
        value: the concept.
        statement: what it says of the image, as in "the color of the cat is red".
        question: how it is asked for; yes is good.
        objects: the ids of the objects it is about; none for a style.
    """

    category: Category
    value: str
    statement: str
    question: str
    objects: tuple[int, ...] = ()

    @property
    def concept(self) -> Concept:
        """The concept itself."""
        return Concept(self.category, self.value)


@dataclass(frozen=True)
class ConceptSpec:
    """What an item of ConceptMix asks for.

    Attributes:
        concepts: k + 1 concepts: the objects first, the spatial ones last, the others in the order drawn.
        binding: which belongs to which; None for data that was published without it.
    """

    concepts: tuple[AskedConcept, ...]
    binding: Binding | None = None


class BindingError(FormalimgError, ValueError):
    """A binding that makes no sense, or that changes what was given."""


def binding_of(data: object) -> Binding:
    """The binding in plain data of the published form.

    Raises:
        BindingError: if it is none.
    """
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
    if _id(table.get("id")) != number:
        raise BindingError(f"the ids of objects must count from 1, but number {number} has the id {table.get('id')!r}")
    if not all(is_text(value) and value for key, value in table.items() if key != "id"):
        raise BindingError(f"object {number} must have words only, besides its id")
    if "item" not in table:
        raise BindingError(f"object {number} has no item")
    return BoundObject(table["item"], {key: table[key] for key in table if key in ATTRIBUTES})


def _relation(data: object, objects: int) -> Relation:
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
        number = _id(given)
        if number is None or not 1 <= number <= objects:
            raise BindingError(f"{key} of the relation {name!r} is {given!r}, but objects are 1 to {objects}")
        ends.append(number)
    return Relation(name, description, *ends)


def _id(given: object) -> int | None:
    """An id; chat models write some of them in quotes."""
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
