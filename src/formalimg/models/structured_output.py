"""Structured output of chat models: JSON schema of an answer type, and strict parsing of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from formalimg._util.strict_json import reject_constant, reject_duplicate_keys
from formalimg._util.text import truncate
from formalimg.models.chat import Message

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

AnswerType = TypeVar("AnswerType", bound="BaseModel")

_THOUGHT = re.compile(r"<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"^.*</(?:think|thinking)>", re.DOTALL | re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking)>", re.IGNORECASE)
_OBJECT_START = re.compile(r'\{(?=\s*["}])|\[(?=\s*\{\s*["}])')
_LIST_START = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[{"\]\d-])')
"""Where JSON may begin, if an object or a list is expected. Braces and brackets in prose look different.

A value nested inside another one is not the answer, so the start of the outer one counts.
"""

_MAX_MESSAGE = 300


@dataclass(frozen=True)
class ParseFailure:
    """An answer that cannot be parsed, and the reason on one line."""

    reason: str


class FormatInstruction(NamedTuple):
    """Text that asks for the form of an answer, and its version."""

    version: int
    text: str


@cache
def answer_schema(answer_type: type[BaseModel]) -> Mapping[str, object]:
    """Return the JSON schema of an answer, as strict as servers require: all fields required, no others.

    Raises:
        TypeError: if the type has fields of free names (a dict), which strict servers do not support.
    """
    schema = _strict(answer_type.model_json_schema(), answer_type.__name__)
    assert isinstance(schema, dict)
    return schema


def with_format(messages: Sequence[Message], schema: Mapping[str, object]) -> tuple[Message, ...]:
    """Append the schema, as text, to the last user message."""
    text = format_instruction().text.replace("{schema}", json.dumps(schema, ensure_ascii=False))
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=None)
    if last is None:
        return (*messages, Message("user", (text,)))
    return (*messages[:last], Message("user", (*messages[last].parts, text)), *messages[last + 1 :])


@cache
def format_instruction() -> FormatInstruction:
    """Load the text that `with_format` appends."""
    text = (files("formalimg.models") / "prompts" / "answer_format.txt").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    return FormatInstruction(int(first.removeprefix("version:")), rest.strip())


def parse_answer(text: str, answer_type: type[AnswerType]) -> AnswerType | ParseFailure:
    """Parse the answer in a text.

    Thoughts (`<think>…</think>`), code fences and prose around it are skipped; the first JSON value is the answer.
    It must be complete and match the type strictly: `"false"` is not a boolean, `1.0` not an integer, and missing
    fields are not filled in. A second value that matches too but differs is a failure.
    """
    from pydantic import ValidationError  # heavy, and needed only here

    text = _without_thoughts(text)
    if _THOUGHT_START.search(text) and not text.startswith(("{", "[")):
        return ParseFailure("the model was still thinking when it stopped")
    is_list = answer_schema(answer_type).get("type") == "array"
    try:
        values = list(_json_values(text, _LIST_START if is_list else _OBJECT_START))
    except (ValueError, RecursionError) as error:
        return ParseFailure(f"the JSON in the answer is broken or cut off: {_shorten(str(error))}")
    if not values:
        return ParseFailure("there is no JSON in the answer" if text.strip() else "the answer is empty")
    try:
        answer = answer_type.model_validate_json(values[0], strict=True)
    except ValidationError as error:
        return ParseFailure(f"the answer has not the wanted form: {_first_problem(error)}")
    for other in values[1:]:
        try:
            if answer_type.model_validate_json(other, strict=True) != answer:
                return ParseFailure("the model gave several answers that differ")
        except ValidationError:
            continue
    return answer


def _strict(part: object, path: str) -> object:
    if isinstance(part, list):
        return [_strict(element, path) for element in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:  # strict servers want nothing beside a reference
        return {"$ref": part["$ref"]}
    strict: dict[str, object] = {}
    for name, value in part.items():
        match name:
            case "title" | "default" | "discriminator":
                continue
            case "oneOf":  # the same for what Pydantic makes, and the only one that strict servers know
                strict["anyOf"] = _strict(value, path)
            case "properties" | "$defs":  # here names are the type's own, not those of the schema language
                strict[name] = {inner: _strict(element, f"{path}.{inner}") for inner, element in value.items()}
            case "enum" | "const" | "required":
                strict[name] = value
            case _:
                strict[name] = _strict(value, path)
    if part.get("type") == "object":
        if part.get("additionalProperties") not in (None, False):
            raise TypeError(f"{path} has fields of free names: use a list of name and value")
        strict["additionalProperties"] = False
        strict["required"] = list(part.get("properties", {}))
        strict.setdefault("properties", {})
    return strict


def _without_thoughts(text: str) -> str:
    text = text.strip()
    if text.startswith(("{", "[")):  # what looks like a tag inside an answer is the answer's own
        return text
    # Some servers leave out the opening tag, because it was part of the chat template.
    return _THOUGHT_END.sub("", _THOUGHT.sub("", text)).strip()


def _json_values(text: str, start: re.Pattern[str]) -> Iterator[str]:
    """Yield the JSON values in prose, as they are written.

    Raises:
        ValueError: if something begins like JSON and is not: cut off, a duplicate key, a NaN.
    """
    decoder = json.JSONDecoder(object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant)
    position = found = 0
    while (match := start.search(text, position)) is not None:
        try:
            _, position = decoder.raw_decode(text, match.start())
        except ValueError:
            if found:  # the answer is there already, and what follows is prose
                return
            raise
        found += 1
        yield text[match.start() : position]


def _first_problem(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    where = ".".join(map(str, problems[0]["loc"])) or "the whole"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return _shorten(f"{where}: {problems[0]['msg']}{more}")


def _shorten(message: str) -> str:
    return truncate(" ".join(message.split()), _MAX_MESSAGE, 50)
