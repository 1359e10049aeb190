"""From a Pydantic type to the JSON schema that servers can be held to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from formalimg._util.strict_json import reject_constant, reject_duplicate_keys
from formalimg._util.text import truncate

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


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


AnswerType = TypeVar("AnswerType", bound="BaseModel")

_THOUGHT = re.compile(r"<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"^.*</(?:think|thinking)>", re.DOTALL | re.IGNORECASE)
_BEGIN_OF_THOUGHT = re.compile(r"<(?:think|thinking)>", re.IGNORECASE)
_BEGIN_OF_OBJECT = re.compile(r'\{(?=\s*["}])|\[(?=\s*\{\s*["}])')
_BEGIN_OF_LIST = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[{"\]\d-])')
"""Where JSON may begin, if an object or a list is wanted. Braces and brackets in running words look different.

What is wanted but stands inside something else is not the answer, so the beginning of that something counts.
"""

_LONGEST_TOLD = 300


@dataclass(frozen=True)
class Unreadable:
    """An answer that cannot be read, and why, in one line."""

    reason: str


def read_answer(text: str, answer_type: type[AnswerType]) -> AnswerType | Unreadable:
    """The answer in a text.

    Thoughts (`<think>…</think>`), code fences and words around it are passed over; the first JSON value is the answer.
    It must be whole and fit the type strictly: `"false"` is no truth value, `1.0` no whole number, and nothing that is
    missing is filled in. A second value that would fit too but says something else makes it unreadable.
    """
    from pydantic import ValidationError  # heavy, and needed only here

    words = _without_thoughts(text)
    if _BEGIN_OF_THOUGHT.search(words) and not words.startswith(("{", "[")):
        return Unreadable("the model was still thinking when it stopped")
    try:
        values = list(_values(words, _BEGIN_OF_LIST if _is_list(answer_type) else _BEGIN_OF_OBJECT))
    except (ValueError, RecursionError) as error:
        return Unreadable(f"the JSON in the answer is broken or cut off: {_told(str(error))}")
    if not values:
        return Unreadable("there is no JSON in the answer" if words.strip() else "the answer is empty")
    try:
        answer = answer_type.model_validate_json(values[0], strict=True)
    except ValidationError as error:
        return Unreadable(f"the answer has not the wanted form: {_first_problem(error)}")
    for other in values[1:]:
        try:
            if answer_type.model_validate_json(other, strict=True) != answer:
                return Unreadable("the model gave several answers that differ")
        except ValidationError:
            continue
    return answer


def _without_thoughts(text: str) -> str:
    words = text.strip()
    if words.startswith(("{", "[")):  # what looks like a tag inside an answer is the answer's own
        return words
    # Some servers leave out the opening tag, because it was part of what the model was given.
    return _END_OF_THOUGHT.sub("", _THOUGHT.sub("", words)).strip()


def _values(words: str, beginning: re.Pattern[str]) -> Iterator[str]:
    """The JSON values in running words, as they are written.

    Raises:
        ValueError: if something begins like JSON and is none: cut off, with a name twice, or with a NaN.
    """
    decoder = json.JSONDecoder(object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant)
    place = 0
    found = 0
    while (match := beginning.search(words, place)) is not None:
        try:
            _, place = decoder.raw_decode(words, match.start())
        except ValueError:
            if found:  # the answer is there already, and what follows is talk
                return
            raise
        found += 1
        yield words[match.start() : place]


def _is_list(answer_type: type[BaseModel]) -> bool:

    return answer_schema(answer_type).get("type") == "array"


def _first_problem(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    where = ".".join(map(str, problems[0]["loc"])) or "the whole"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return _told(f"{where}: {problems[0]['msg']}{more}")


def _told(message: str) -> str:
    return truncate(" ".join(message.split()), _LONGEST_TOLD, 50)
