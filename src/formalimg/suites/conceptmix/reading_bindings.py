"""Bindings from plain data, which a chat model or somebody else wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.suites.conceptmix.spec import ATTRIBUTES, OPEN, Binding, BindingError, BoundObject, Relation


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
