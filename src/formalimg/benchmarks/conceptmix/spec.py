"""Spec of a ConceptMix item: concepts, their binding to objects, and one question for each; its fields in records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.odd_records import COUNTS_DIFFER, NO_CONCEPT, NO_QUESTION, UNKNOWN_CONCEPT
from formalimg.benchmarks.record import Record
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.drawing.scene import SceneBrief

Category: TypeAlias = Literal["object", "color", "number", "shape", "size", "texture", "spatial", "style"]
CATEGORIES: tuple[Category, ...] = get_args(Category)  # The categories of visual concepts
ATTRIBUTES: tuple[Category, ...] = ("color", "number", "shape", "size", "texture")
"""Categories that describe one object; an object has at most one concept of each."""

NO_CATEGORY = cast(Category, "question")
"""Stands where a published question or concept belongs to no category; none of `CATEGORIES`: nothing is drawn from it.

Judges pass the category on as the kind of a part, and do nothing else with it.
"""

OPEN = "?"  # Placeholder in the JSON of a binding for an object that is still to be chosen


class BindingError(FormalimgError, ValueError):
    """Raised if a binding is invalid or makes changes that are not allowed."""


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

    @property
    def is_open(self) -> bool:
        """Whether one of the two objects is not yet chosen."""
        return self.first is None or self.second is None


@dataclass(frozen=True)
class Binding:
    """An assignment of concepts to objects: those that were drawn, then added reference objects."""

    objects: tuple[BoundObject, ...]  # the objects; their ids are their positions, counted from 1
    style: str | None = None  # the style of the image; None if any will do
    relations: tuple[SpatialRelation, ...] = ()  # the spatial concepts, in the order drawn

    @property
    def is_open(self) -> bool:
        """Whether any relation is open."""
        return any(relation.is_open for relation in self.relations)

    def items_of(self, ids: Iterable[int]) -> list[str]:
        """Return the items of the objects with the given ids."""
        return [self.objects[number - 1].item for number in ids]

    def to_json(self) -> dict[str, object]:
        """Return the binding as plain data in the published format."""
        data: dict[str, object] = {
            "objects": [
                {"id": number, "item": obj.item, **obj.attributes} for number, obj in enumerate(self.objects, 1)
            ]
        }
        if self.style is not None:
            data["style"] = self.style
        if self.relations:
            data["relation"] = [
                {
                    "name": relation.name,
                    "description": relation.description,
                    "ObjectA_id": OPEN if relation.first is None else relation.first,
                    "ObjectB_id": OPEN if relation.second is None else relation.second,
                }
                for relation in self.relations
            ]
        return data

    @classmethod
    def from_json(cls, data: object) -> Binding:
        """Parse a binding from plain data in the published format."""
        table = _check_table(data, "a binding", ("objects", "style", "relation"), ignored="index")
        listed, related = table.get("objects", []), table.get("relation", [])
        for key, entries in (("objects", listed), ("relation", related)):
            if not isinstance(entries, list):
                raise BindingError(f"{key} of a binding must be a list")
        objects = tuple(_parse_object(entry, number) for number, entry in enumerate(listed, 1))
        if not objects:
            raise BindingError("a binding needs at least one object")
        style = table.get("style")
        if style is not None and not (is_text(style) and style):
            raise BindingError("the style of a binding must be a word")
        return cls(objects, style, tuple(_parse_relation(entry, len(objects)) for entry in related))


class BoundConcept(NamedTuple):
    """A concept and the ids of its objects: one for an object or an attribute, two for a relation."""

    concept: Concept
    objects: tuple[int, ...]


@dataclass(frozen=True)
class RequestedConcept:
    """A concept that an image must show, with its statement and question."""

    category: Category  # what sort of concept it is
    value: str  # the concept
    statement: str  # what it says of the image, as in "the color of the cat is red"
    question: str  # how it is asked for; yes is good
    objects: tuple[int, ...] = ()  # the ids of the objects it is about; none for a style

    @property
    def concept(self) -> Concept:
        """The concept alone, without its statement and question."""
        return Concept(self.category, self.value)


@dataclass(frozen=True)
class ConceptSpec:
    """The concepts that a ConceptMix item requests."""

    # k + 1 concepts in the order of their questions: the objects first, the spatial ones last, the others in the
    # order drawn; in published data, any order
    concepts: tuple[RequestedConcept, ...]
    binding: Binding | None = None  # which belongs to which; None for data that was published without it
    # concepts of published data for which there is no question; no image is judged by them
    unasked: tuple[Concept, ...] = ()
    # all concepts in the order drawn, where published questions have another one; else empty
    order: tuple[Concept, ...] = ()

    @classmethod
    def of(
        cls, bound: Sequence[BoundConcept], statements: Sequence[str], questions: Sequence[str], binding: Binding
    ) -> ConceptSpec:
        """Build a spec from bound concepts, with a statement and a question for each."""
        texts = zip(bound, statements, questions, strict=True)
        requested = (
            RequestedConcept(*concept, statement, question, ids) for (concept, ids), statement, question in texts
        )
        return cls(tuple(requested), binding)

    @property
    def drawn(self) -> tuple[Concept, ...]:
        """All concepts behind the prompt, in sampling order."""
        requested = (concept.concept for concept in self.concepts if concept.category != NO_CATEGORY or concept.value)
        return self.order or (*self.unasked, *requested)

    def values(self, category: Category) -> list[str]:
        """Return the values of all concepts in a category, in sampling order."""
        return [concept.value for concept in self.drawn if concept.category == category]

    def scene_brief(self) -> SceneBrief:
        """Return the binding as a brief for rendering a scene."""
        from formalimg.benchmarks.formal.spec import NothingToDrawError
        from formalimg.drawing.scene import BriefError, SceneBrief

        if self.binding is None or self.binding.is_open:
            raise NothingToDrawError("the data does not assign the concepts to objects")
        try:
            return SceneBrief.from_json(self.binding.to_json())
        except BriefError as error:
            raise NothingToDrawError(str(error)) from error

    @property
    def stated_classes(self) -> list[str]:
        """The object classes, which training and test items must not share."""
        return self.values("object")

    @property
    def stated_relations(self) -> list[str]:
        """The spatial concepts, each replaced by its converse if that comes first alphabetically."""
        from formalimg.benchmarks.conceptmix.words import converse_of  # which imports this module

        return [min(value, converse_of(value) or value) for value in self.values("spatial")]


def _parse_object(data: object, number: int) -> BoundObject:
    table = _check_table(data, f"object {number}", ("id", "item", *ATTRIBUTES))
    if _parse_id(table.get("id")) != number:
        raise BindingError(f"the ids of objects must count from 1, but number {number} has the id {table.get('id')!r}")
    if not all(is_text(value) and value for key, value in table.items() if key != "id"):
        raise BindingError(f"object {number} must have words only, besides its id")
    if "item" not in table:
        raise BindingError(f"object {number} has no item")
    return BoundObject(table["item"], {key: table[key] for key in table if key in ATTRIBUTES})


def _parse_relation(data: object, objects: int) -> SpatialRelation:
    table = _check_table(data, "a relation", ("name", "description", "ObjectA_id", "ObjectB_id"))
    name, description = table.get("name"), table.get("description", "")
    if not is_text(name) or not name or not is_text(description):
        raise BindingError("a relation needs a name and a description in words")
    ids: list[int | None] = []
    for key in ("ObjectA_id", "ObjectB_id"):
        value = table.get(key)
        ids.append(None if value == OPEN else _parse_id(value))
        if value != OPEN and not 1 <= (ids[-1] or 0) <= objects:
            raise BindingError(f"{key} of the relation {name!r} is {value!r}, but objects are 1 to {objects}")
    return SpatialRelation(name, description, *ids)


def _parse_id(value: object) -> int | None:
    """Parse an object id, which chat models sometimes quote, or return None."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _check_table(data: object, name: str, keys: tuple[str, ...], ignored: str = "") -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise BindingError(f"{name} must be an object of JSON")
    unknown = sorted(str(key) for key in data if key not in (*keys, ignored))
    if unknown:
        raise BindingError(f"{name} has {unknown[0]!r}, expected one of {', '.join(keys)}")
    return {key: value for key, value in data.items() if key in keys}


def last_style(concepts: Sequence[Concept]) -> str | None:
    """Return the last style among the concepts, which is the effective one, or None."""
    return next((concept.value for concept in reversed(concepts) if concept.category == "style"), None)


def bound_concepts(concepts: Sequence[Concept], binding: Binding) -> tuple[BoundConcept, ...]:
    """Bind each concept to the ids of its objects; an attribute that occurs twice is about two objects."""
    # Equal concepts share an iterator, so that the second goes on where the first stopped.
    candidates = {concept: _candidate_ids(concept, concepts, binding) for concept in concepts}
    bound = []
    for concept in concepts:
        ids = next(candidates[concept], None)
        if ids is None:
            count = concepts.count(concept)
            raise BindingError(
                f"the binding lacks the {concept.category} {concept.value!r}"
                + (f", which is among the concepts {count} times" if count > 1 else "")
            )
        bound.append(BoundConcept(concept, ids))
    return tuple(bound)


def _candidate_ids(concept: Concept, concepts: Sequence[Concept], binding: Binding) -> Iterator[tuple[int, ...]]:
    """Yield the possible object ids of a concept, once for each occurrence in the binding."""
    category, value = concept
    if category == "style":
        if binding.style == last_style(concepts):
            yield from repeat(())
    elif category == "spatial":
        for relation in binding.relations:
            if relation.name == value:
                first, second = relation.first, relation.second
                if first is None or second is None:
                    raise BindingError(f"the relation {value!r} has no objects: name the two that it relates")
                if first == second or not {first, second} <= set(range(1, len(binding.objects) + 1)):
                    raise BindingError(
                        f"the relation {value!r} is between {first} and {second}, which are not two of "
                        f"{len(binding.objects)} objects"
                    )
                yield first, second
    else:
        drawn = sum(listed.category == "object" for listed in concepts)  # those that were added come after them
        for number, obj in enumerate(binding.objects[:drawn], 1):
            if (obj.item if category == "object" else obj.attributes.get(category)) == value:
                yield (number,)


# --- fields in records
#
# `concepts` has the fields of `RequestedConcept`, `binding` the published JSON. `unasked`, only in items with that tag,
# lists concepts without a question; `order`, only where questions have another order than their concepts, lists all.

NEEDED: tuple[str, ...] = ("concepts",)
OPTIONAL: tuple[str, ...] = ("binding", "unasked", "order")
PROOF: tuple[str, ...] = ()
SPEC: type = ConceptSpec

_TEXTS = ("category", "value", "statement", "question")
_NOT_EMPTY = ("category", "value", "question")  # published data have no statements


def fields_of(spec: ConceptSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the fields of a spec."""
    fields: dict[str, Any] = {
        "concepts": [{**asdict(requested), "objects": list(requested.objects)} for requested in spec.concepts]
    }
    if spec.binding is not None:
        fields["binding"] = spec.binding.to_json()
    for name, concepts in (("unasked", spec.unasked), ("order", spec.order)):
        if concepts:
            fields[name] = [concept._asdict() for concept in concepts]
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> ConceptSpec | None:
    """Parse the spec of a record; on failure, report findings and return None."""
    try:
        return _parse_spec(record.fields, level, frozenset(tags))
    except ValueError as error:
        record.wrong(str(error))
        return None


def _parse_spec(fields: dict[str, Any], level: int, tags: frozenset[str]) -> ConceptSpec:
    entries, unasked, order = fields["concepts"], fields.get("unasked", []), fields.get("order", [])
    with_others = bool({NO_CONCEPT, UNKNOWN_CONCEPT} & tags)
    if not isinstance(entries, list) or not all(_is_requested(entry, with_others) for entry in entries):
        raise ValueError(f"concepts must be a list of objects with {', '.join(_TEXTS)} (texts) and objects (ids)")
    if "unasked" in fields and not (NO_QUESTION in tags and unasked and _are_concepts(unasked, with_others)):
        raise ValueError(
            f"unasked must be a list of objects with category and value, in an item with the tag {NO_QUESTION}"
        )
    if "order" in fields and not _are_concepts(order, with_others):
        raise ValueError("order must be a list of objects with category and value")
    spec = build_spec({"concepts": entries, "unasked": unasked, "order": order})
    unordered = replace(spec, order=()).drawn
    if "order" in fields and (sorted(spec.order) != sorted(unordered) or spec.order == unordered):
        raise ValueError(
            "order must have all concepts, each as often as concepts and unasked, in another order than there"
        )
    if len(spec.concepts) != level + 1 and not {COUNTS_DIFFER, NO_QUESTION, NO_CONCEPT} & tags:
        raise ValueError(f"the level is {level}, but there are {len(spec.concepts)} concepts: k + 1 are needed")
    if "binding" not in fields:
        return spec
    try:
        binding = Binding.from_json(fields["binding"])
        bound = bound_concepts(spec.drawn, binding)
    except BindingError as error:
        raise ValueError(f"binding: {error}") from error
    # The questions about equal concepts, such as two red things, stand in any order.
    requested = (
        BoundConcept(concept.concept, concept.objects) for concept in spec.concepts if concept.category != NO_CATEGORY
    )
    if not Counter(requested) <= Counter(bound):
        raise ValueError("the objects of the concepts are not those of the binding: fix one of them")
    return replace(spec, binding=binding)


def build_spec(fields: dict[str, Any]) -> ConceptSpec:
    """Build the spec from fields already known to be valid."""
    requested = (RequestedConcept(**{**entry, "objects": tuple(entry["objects"])}) for entry in fields["concepts"])
    binding = Binding.from_json(fields["binding"]) if "binding" in fields else None
    unasked, order = (tuple(Concept(**entry) for entry in fields.get(name, ())) for name in ("unasked", "order"))
    return ConceptSpec(tuple(requested), binding, unasked, order)


def canonical_text(spec: ConceptSpec) -> str:
    """Return the fields of a spec as JSON text."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)


def _is_requested(entry: object, with_others: bool) -> bool:
    if not isinstance(entry, dict) or set(entry) != {*_TEXTS, "objects"}:
        return False
    is_other = with_others and entry["category"] == NO_CATEGORY
    return (
        all(is_text(entry[name]) for name in _TEXTS)
        and all(entry[name].strip() for name in _NOT_EMPTY if not (is_other and name == "value"))
        and (is_other or entry["category"] in CATEGORIES)
        and isinstance(entry["objects"], list)
        and all(isinstance(number, int) and not isinstance(number, bool) and number > 0 for number in entry["objects"])
    )


def _are_concepts(entries: object, with_others: bool) -> bool:
    categories = (*CATEGORIES, NO_CATEGORY) if with_others else CATEGORIES
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and set(entry) == {"category", "value"}
        and all(is_text(text) and text.strip() for text in entry.values())
        and entry["category"] in categories
        for entry in entries
    )
