"""The schema that servers are held to says exactly what the reader accepts."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from formalimg.models.structured_output import answer_schema


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Box(BaseModel):
    corner: list[float] = Field(min_length=4, max_length=4)


class SceneObject(BaseModel):
    """Something in an image."""

    title: str
    default: int = 3
    color: Color | None = Field(None, description="its colour")
    box: Box = Field(description="where it is")


class Seen(BaseModel):
    kind: Literal["seen"]
    objects: list[SceneObject]


class Nothing(BaseModel):
    kind: Literal["nothing"]


class Report(BaseModel):
    found: Annotated[Seen | Nothing, Field(discriminator="kind")]


def _objects(part: object) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for one in part:
            yield from _objects(one)
    elif isinstance(part, dict):
        if part.get("type") == "object":
            yield part
        for one in part.values():
            yield from _objects(one)


@pytest.mark.parametrize("answer_type", [SceneObject, Seen, Nothing, Report])
def test_every_field_is_required_and_there_are_no_others(answer_type: type[BaseModel]) -> None:
    found = list(_objects(answer_schema(answer_type)))
    assert found
    for part in found:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


def test_fields_keep_their_order_and_their_names() -> None:
    properties = answer_schema(SceneObject)["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["title", "default", "color", "box"]
    assert properties["title"] == {"type": "string"}
    assert properties["default"] == {"type": "integer"}
    assert properties["box"] == {"$ref": "#/$defs/Box"}
    assert properties["color"] == {"anyOf": [{"$ref": "#/$defs/Color"}, {"type": "null"}], "description": "its colour"}


def test_what_bounds_a_value_is_kept() -> None:
    properties = answer_schema(Box)["properties"]
    assert properties == {"corner": {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}}


def test_alternatives_are_said_in_the_one_word_that_servers_know() -> None:
    found = answer_schema(Report)["properties"]
    assert found == {"found": {"anyOf": [{"$ref": "#/$defs/Seen"}, {"$ref": "#/$defs/Nothing"}]}}


def test_free_names_are_refused() -> None:
    class Free(BaseModel):
        colors: dict[str, str]

    with pytest.raises(TypeError, match=r"Free\.colors has fields of free names"):
        answer_schema(Free)
