"""Schemas of answers, and how answers are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel

from formalimg.models.structured_output import ParseFailure, answer_schema, parse_answer
from tests.support.sizes import tries


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Box(BaseModel):
    corner: list[float] = Field(min_length=4, max_length=4)


class SceneObject(BaseModel):
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


class Clause(BaseModel):
    text: str
    holds: bool


class Judgement(BaseModel):
    evidence: str
    clauses: list[Clause]
    passed: bool
    count: int = 0


class Nested(BaseModel):
    passed: bool | None = None
    inner: list[Nested] = []


WHOLE: dict[str, Any] = {
    "evidence": "a {red} cup, [left]",
    "clauses": [{"text": "(Is ?x 'cup')", "holds": True}, {"text": "b", "holds": False}],
    "passed": False,
    "count": 2,
}
TEXT = json.dumps(WHOLE)
EXPECTED = Judgement(**WHOLE)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\n\n  {json.dumps(WHOLE, indent=4)}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\nI hope this helps {{really}}.",
        f"Here is what I see, in the set {{a, b}} and at [the left] [1]:\n\n{TEXT}",
        f'<think>Is it {{"passed": true}}? No.</think>{TEXT}',
        f"<thinking>\n{TEXT.replace('false', 'true')}\n</thinking>\n\n```json\n{TEXT}\n```",
        f"It might be {TEXT.replace('false', 'true')}, but no.</think>\n{TEXT}",
        f"{TEXT}\n{TEXT}",
        f'{TEXT}\nAn example of the form: {{"text": "x", "holds": true}}',
    ],
)
def test_the_answer_is_found_among_words(text: str) -> None:
    assert parse_answer(text, Judgement) == EXPECTED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("Yes, it does.", "there is no JSON"),
        ("<html><body>502 Bad Gateway</body></html>", "there is no JSON"),
        ("<think>Let me see. {", "still thinking"),
        (f"<think>It may be {TEXT}", "still thinking"),
        (TEXT[:-1], "broken or cut off"),
        (TEXT[:-10], "broken or cut off"),
        (TEXT.replace('"passed"', "passed"), "broken or cut off"),
        (TEXT.replace("false", "False"), "broken or cut off"),
        (TEXT.replace('"count": 2', '"count": NaN'), "NaN is not a JSON number"),
        (TEXT.replace('"count"', '"passed"'), "occurs twice"),
        (f"{TEXT[:-1]},}}", "broken or cut off"),
        ("{" + '"a":{' * 100_000, "broken or cut off"),
        (f"[{TEXT}]", "the whole: Input should be an object"),
        (f"[{TEXT}, {TEXT[:20]}", "broken or cut off"),
        (f'{{"answer": {TEXT}}}', "evidence: Field required"),
        (f'{TEXT} and then {{"passed": tru', 'writes "passed" a second time'),
        (f"{TEXT}\nNo, wait:\n{TEXT.replace('false', 'true')}", "several answers that differ"),
    ],
)
def test_what_is_no_whole_answer_is_unreadable(text: str, reason: str) -> None:
    found = parse_answer(text, Judgement)
    assert isinstance(found, ParseFailure)
    assert reason in found.reason
    assert "\n" not in found.reason
    assert len(found.reason) < 500


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"passed": "false"}, "passed: Input should be a valid boolean"),
        ({"passed": 0}, "passed: Input should be a valid boolean"),
        ({"passed": None}, "passed: Input should be a valid boolean"),
        ({"count": 2.0}, "count: Input should be a valid integer"),
        ({"count": "2"}, "count: Input should be a valid integer"),
        ({"evidence": 3}, "evidence: Input should be a valid string"),
        ({"clauses": {"text": "a", "holds": True}}, "clauses: Input should be a valid"),
        ({"clauses": [{"text": "a", "holds": "true"}]}, "clauses.0.holds: Input should be a valid boolean"),
        ({"clauses": [{"text": "a"}]}, "clauses.0.holds: Field required"),
    ],
)
def test_values_of_another_type_are_not_bent(changed: dict[str, Any], reason: str) -> None:
    found = parse_answer(json.dumps({**WHOLE, **changed}), Judgement)
    assert isinstance(found, ParseFailure)
    assert reason in found.reason


@given(st.integers(1, len(TEXT) - 1))
@settings(max_examples=80, deadline=None)
def test_no_beginning_of_an_answer_is_an_answer(length: int) -> None:
    assert isinstance(parse_answer(TEXT[:length], Judgement), ParseFailure)


@given(st.recursive(st.just(Nested()), lambda inner: st.builds(Nested, passed=st.booleans(), inner=st.lists(inner))))
@settings(max_examples=60, deadline=None)
def test_an_inner_value_is_never_taken_for_the_whole(answer: Nested) -> None:
    text = f"Well: {answer.model_dump_json()}"
    assert parse_answer(text, Nested) == answer
    assert isinstance(parse_answer(text[:-1], Nested), ParseFailure)


@given(st.text(max_size=300) | st.text('{}[]"\\:, \ntruefals0-<>/hink', max_size=120))
@settings(max_examples=tries(60, 200), deadline=None)
def test_any_text_is_read_or_unreadable(text: str) -> None:
    found = parse_answer(text, Judgement)
    assert isinstance(found, ParseFailure | Judgement)


def test_lists_are_answers_too() -> None:
    class Boxes(RootModel[list[list[int]]]):
        pass

    assert parse_answer("The boxes [two]: [[1, 2], [3, 4]]", Boxes) == Boxes([[1, 2], [3, 4]])
    assert parse_answer("```json\n[]\n```", Boxes) == Boxes([])
    for wrong in ("[[1, 2], [3", '{"boxes": [[1, 2]]}', "See [1] for the boxes: [[1, 2]]"):
        assert isinstance(parse_answer(wrong, Boxes), ParseFailure)
