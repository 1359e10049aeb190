"""Structured output of chat models: JSON schemas of answer types, and strict parsing of JSON in text."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from formalimg._util.strict_json import reject_constant, reject_duplicate_keys
from formalimg._util.text import truncate
from formalimg.models.base import Message
from formalimg.models.contradictions import contradicting_field, contradicting_prose, contradicting_value, unseen_image

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


MAX_VALUES = 100  # the most JSON values in a text; an answer is one, sometimes repeated
_MAX_FALSE_STARTS = 1000  # the most brackets in prose that look like a JSON list, such as [1]
_TAG = re.compile(r"<(/?)(think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)>", re.IGNORECASE)
_OBJECT = re.compile(r'\{\s*["}]')
# Where JSON may begin: braces in prose look different; brackets often do not, as in [1].
_START = re.compile(r'\{(?=\s*["}])|\[(?=\s*(?:[\["\]\d-]|\{\s*["}]|true|false|null))')


class JsonInText(NamedTuple):
    """A JSON value in a text, with its position."""

    start: int  # where it begins
    end: int  # where the text goes on
    written: str  # the value as it is written
    value: object  # the value as plain data


def strip_thoughts(text: str) -> str:
    """Return a text without `<think>…</think>` blocks and without any text before an unmatched closing tag.

    Some servers omit the opening tag because it was part of the chat template. An unclosed opening tag is kept, because
    the model was still thinking, and so are tags inside a JSON value at the start of the text.
    """
    text = text.strip()
    tags = [(tag[1] == "/", tag[2].lower(), tag.start(), tag.end()) for tag in _find_tags(text)]
    last_closing = {name: index for index, (closes, name, _, _) in enumerate(tags) if closes}
    pieces: list[str] = []
    position = 0
    awaited: str | None = None
    for number, (closes, name, start, end) in enumerate(tags):
        if awaited is None and not closes and last_closing.get(name, -1) > number:
            awaited = name
            pieces.append(text[position:start])
        elif awaited is None and closes:
            pieces.clear()
            position = end
        elif closes and name == awaited:
            awaited = None
            position = end
    return "".join((*pieces, text[position:])).strip()


def _find_tags(text: str) -> list[re.Match[str]]:
    """Return the thought tags in a text, except for those inside its leading JSON value."""
    tags = list(_TAG.finditer(text))
    if tags and text.startswith(("{", "[")):
        try:
            _, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return tags
        return [tag for tag in tags if tag.start() >= end]
    return tags


def find_json(text: str, *, lists: bool) -> list[JsonInText]:
    """Return the top-level JSON values in a text: objects, lists with objects and, optionally, other lists.

    Nested values are not returned separately: a list is an answer as a whole, its elements are not.
    """
    decoder = json.JSONDecoder(object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant)
    values: list[JsonInText] = []
    position = false_starts = wasted = 0
    while (match := _START.search(text, position)) is not None:
        start = match.start()
        try:
            value, position = decoder.raw_decode(text, start)
        except ValueError as error:
            if values:  # the answer is there already, and what follows is prose
                break
            failed = error.pos if isinstance(error, json.JSONDecodeError) else len(text)
            if lists or text[start] == "{" or _OBJECT.search(text, start, failed + 1):
                raise
            # Each false start may read far, so there are limits on their number and on what they read together.
            wasted += failed - start
            value, position = None, start + 1
        if not lists and not _holds_object(value):
            false_starts += 1
            if false_starts > _MAX_FALSE_STARTS or wasted > 2 * len(text):
                raise ValueError("too many brackets look like lists")
            continue
        values.append(JsonInText(start, position, text[start:position], value))
        if len(values) > MAX_VALUES:
            raise ValueError(f"there are more than {MAX_VALUES} JSON values")
    return values


def _holds_object(value: object) -> bool:
    """Return whether a value is an object or a list that contains an object at any depth."""
    rest = [value]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            return True
        if isinstance(part, list):
            rest.extend(part)
    return False


AnswerType = TypeVar("AnswerType", bound="BaseModel")
Read = TypeVar("Read")
Arguments = ParamSpec("Arguments")

MAX_REPLY = 1_000_000  # the most characters of a reply that is read
SMALL_REPLY = 64 * 1024  # longer replies are read in a thread, so that no other call waits for it
_SEVERAL = "the model gave several answers that differ"
_MAX_PROBLEMS = 1000  # with more, none is described: collecting them takes longer than reading the answer
_MAX_MESSAGE = 300
# Stand for a `TextAnswer` in the place of a schema, which is not sent; for an object, servers are asked for JSON.
TEXT_SCHEMA: Mapping[str, object] = {"type": "string"}
OBJECT_SCHEMA: Mapping[str, object] = {"type": "object"}


@dataclass(frozen=True)
class ParseFailure:
    """An unparseable answer, and the reason on one line."""

    reason: str


@cache
def answer_schema(answer_type: type[BaseModel]) -> Mapping[str, object]:
    """Return the JSON schema of an answer type in strict form: all fields required, no additional ones."""
    if is_text_answer(answer_type):
        return OBJECT_SCHEMA if getattr(answer_type, "json_object", False) else TEXT_SCHEMA
    schema = _make_strict(answer_type.model_json_schema(), answer_type.__name__)
    assert isinstance(schema, dict)
    return schema


def is_text_answer(answer_type: type[BaseModel]) -> bool:
    """Return whether answers of this type are parsed from the whole text, as in `TextAnswer`."""
    return hasattr(answer_type, "from_text")


def with_format(messages: Sequence[Message], schema: Mapping[str, object]) -> tuple[Message, ...]:
    """Append the schema as text to the last user message."""
    _, instruction = format_instruction()
    text = instruction.replace("{schema}", json.dumps(schema, ensure_ascii=False))
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=None)
    if last is None:
        return (*messages, Message("user", (text,)))
    return (*messages[:last], Message("user", (*messages[last].parts, text)), *messages[last + 1 :])


@cache
def format_instruction() -> tuple[int, str]:
    """Load the text that `with_format` appends, with its version."""
    text = (files("formalimg.models") / "prompts" / "answer_format.txt").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    return int(first.removeprefix("version:")), rest.strip()


def parse_answer(text: str, answer_type: type[AnswerType]) -> AnswerType | ParseFailure:
    """Parse the answer in a text in linear time.

    Thoughts (`<think>…</think>`), code fences and prose around it are skipped; the first JSON value is the answer. It
    must be complete and match the type strictly: `"false"` is not a boolean, `1.0` not an integer, and missing fields
    are not filled in. An answer is rejected if the same text contradicts it by a second value (in JSON or not), another
    verdict or a refusal in the prose, a later correction, or an unrequested field. So is an object that is given as an
    example, and a text of more than a million characters. A `TextAnswer` parses its text by its own rules instead.
    """
    from pydantic import ValidationError  # heavy, and needed only here

    if len(text) > MAX_REPLY:
        return ParseFailure(f"the answer has {len(text):,} characters, the limit is {MAX_REPLY:,}")
    from_text: Callable[[str], AnswerType] | None = getattr(answer_type, "from_text", None)
    if from_text is not None:
        try:
            return from_text(text)
        except (ValueError, RecursionError) as error:
            return ParseFailure(f"the answer cannot be read: {_shorten_message(str(error))}")
    text = strip_thoughts(text)
    if any(not tag[1] for tag in _find_tags(text)):
        return ParseFailure("the model was still thinking when it stopped")
    try:
        values = find_json(text, lists=answer_schema(answer_type).get("type") == "array")
    except (ValueError, RecursionError) as error:
        return ParseFailure(f"the JSON in the answer is broken or cut off: {_shorten_message(str(error))}")
    if not values:
        return ParseFailure("there is no JSON in the answer" if text.strip() else "the answer is empty")
    first, *later_values = values
    try:
        answer = answer_type.model_validate_json(first.written, strict=True)
    except ValidationError as error:
        return ParseFailure(f"the answer has not the wanted form: {_first_problem(error)}")
    settled, strange = 0, []
    for index, later in enumerate(later_values, 1):
        try:
            same = answer_type.model_validate_json(later.written, strict=True) == answer
        except ValidationError:  # an example of the form, or half an answer
            strange.append(later.value)
            continue
        if not same:
            return ParseFailure(_SEVERAL)
        settled = index
    if contradicting_value(answer, first.value, strange):
        return ParseFailure(_SEVERAL)
    gaps = [text[value.end : follower.start] for value, follower in pairwise(values)]
    before = "\n".join([text[: first.start], *gaps[:settled]])
    after = "\n".join([*gaps[settled:], text[values[-1].end :]])
    problem = (
        contradicting_field(answer, first.value)
        or contradicting_prose(answer, first.value, before, after)
        or unseen_image(answer, first.value, f"{before}\n{after}")
    )
    return answer if problem is None else ParseFailure(_shorten_message(problem))


async def read_aside(
    size: int, read: Callable[Arguments, Read], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Read:
    """Call a function that parses a reply of `size` characters, using a thread for long replies.

    Parsing a long reply in the event loop would block all other calls while their timeouts keep running.
    """
    if size <= SMALL_REPLY:
        return read(*args, **kwargs)
    return await asyncio.to_thread(read, *args, **kwargs)


def _make_strict(part: object, path: str) -> object:
    if isinstance(part, list):
        return [_make_strict(element, path) for element in part]
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
                strict["anyOf"] = _make_strict(value, path)
            case "properties" | "$defs":  # here names are the type's own, not those of the schema language
                strict[name] = {inner: _make_strict(element, f"{path}.{inner}") for inner, element in value.items()}
            case "enum" | "const" | "required":
                strict[name] = value
            case _:
                strict[name] = _make_strict(value, path)
    if part.get("type") == "object":
        if part.get("additionalProperties") not in (None, False):
            raise TypeError(f"{path} has fields of free names: use a list of name and value")
        strict["additionalProperties"] = False
        strict["required"] = list(part.get("properties", {}))
        strict.setdefault("properties", {})
    return strict


def _first_problem(error: ValidationError) -> str:
    if (count := error.error_count()) > _MAX_PROBLEMS:
        return f"it has {count:,} problems"
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    location = ".".join(map(str, problems[0]["loc"])) or "the whole"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return _shorten_message(f"{location}: {problems[0]['msg']}{more}")


def _shorten_message(message: str) -> str:
    return truncate(" ".join(message.split()), _MAX_MESSAGE, 50)


MAX_NUMERIC_KEYS = 1000
"""The most keys of dictionaries and members of sets in a Python literal that are no texts.

Anybody can find numbers that are hashed alike, and a dictionary of these takes quadratic time; texts are safe.
"""


class TextAnswer(BaseModel):
    """An answer that is read from all of its text by rules of its own.

    No schema is sent with the request, nor described in it, and the text is read even if a limit on its length cut it
    off: the limit may be part of what was asked, as one token for yes or no.

    Attributes:
        json_object: whether servers that can are asked to answer with some JSON object.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    json_object: ClassVar[bool] = False

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the answer from a text."""
        raise NotImplementedError


def json_or_literal(text: str) -> Any:
    """Parse a text as JSON or, failing that, as a Python literal."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        tree = ast.parse(text.lstrip(" \t"), mode="eval")
        if sum(map(_count_numeric_keys, ast.walk(tree))) > MAX_NUMERIC_KEYS:
            raise ValueError(f"it has more than {MAX_NUMERIC_KEYS:,} keys that are no texts")
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise ValueError("it is neither JSON nor a Python literal") from None


def _count_numeric_keys(node: ast.AST) -> int:
    hashed = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.Set) else []
    return sum(not (isinstance(key, ast.Constant) and isinstance(key.value, str)) for key in hashed)
