"""From a Pydantic type to the JSON schema that servers can be held to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


@cache
def answer_schema(answer_type: type[BaseModel]) -> Mapping[str, object]:
    """The schema of an answer, as strict as servers want it: every field required, and no others.

    Raises:
        TypeError: if the type has fields of free names (a dict), which no server can be held to.
    """
    schema = _strict(answer_type.model_json_schema(), answer_type.__name__)
    assert isinstance(schema, dict)
    return schema


def _strict(part: object, where: str) -> object:
    if isinstance(part, list):
        return [_strict(one, where) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:  # strict servers want nothing beside a reference
        return {"$ref": part["$ref"]}
    found: dict[str, object] = {}
    for name, value in part.items():
        match name:
            case "title" | "default" | "discriminator":
                continue
            case "oneOf":  # the same for what Pydantic makes, and the only one that strict servers know
                found["anyOf"] = _strict(value, where)
            case "properties" | "$defs":  # here names are the type's own words, not those of the schema language
                found[name] = {inside: _strict(one, f"{where}.{inside}") for inside, one in value.items()}
            case "enum" | "const" | "required":
                found[name] = value
            case _:
                found[name] = _strict(value, where)
    if part.get("type") == "object":
        if part.get("additionalProperties") not in (None, False):
            raise TypeError(f"{where} has fields of free names: use a list of name and value")
        found["additionalProperties"] = False
        found["required"] = list(part.get("properties", {}))
        found.setdefault("properties", {})
    return found
