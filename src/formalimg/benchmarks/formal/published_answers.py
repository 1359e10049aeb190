"""Raw answers, read as the published scripts of FormalImg read them.

What they take for an answer is taken for one here, and what makes them ask again is a `ValueError` here. Everything
takes linear time, whatever the text.
"""

from __future__ import annotations

import re
from typing import Any, Self

from formalimg.judges.published_protocol import parse_json
from formalimg.models.text_answer import TextAnswer, json_or_literal

_FENCED_OBJECT = re.compile(r"```(?:json)?\s*(?=\{)")
_END_OF_OBJECT = re.compile(r"\}(?=\s*```)")


class ObjectsAnswer(TextAnswer):
    """Knolling: what was seen of one class, entry by entry, as it was written.

    Attributes:
        objects: the entries; anything that JSON can hold.
    """

    objects: list[Any]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the text inside the first fence, or all of it, as JSON."""
        for fence in ("```json", "```"):
            if fence in text:
                text = text.split(fence)[1].split("```")[0]
                break
        answer = parse_json(text.strip())
        if not isinstance(answer, dict):
            raise ValueError("it is not a JSON object")
        objects = answer.get("objects", [])
        if not isinstance(objects, list | str | dict):
            raise ValueError(f'"objects" is {type(objects).__name__}, not a list')
        return cls(objects=list(objects))  # of a text its letters, which are no objects: the image fails


class ConstraintAnswer(TextAnswer):
    """Natural: the verdict, and the clauses that hold.

    Attributes:
        fields: the object as it was written.
    """

    json_object = True

    fields: dict[Any, Any]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the first fenced object, or what stands from the first to the last brace: JSON, or a Python literal."""
        value = json_or_literal(_object_in(text))
        if not isinstance(value, dict) or not value:
            raise ValueError("it is not an object with a verdict")
        return cls(fields=value)

    def passed(self, *, as_code: bool) -> bool:
        """Return the verdict."""
        given = self.fields.get("satisfies_constraint", False)
        if not as_code and isinstance(given, str) and given.strip().lower() == "false":
            return False
        return bool(given)

    @property
    def clauses(self) -> list[str]:
        """The clauses that hold, as they were written; none if that is not a list."""
        listed = self.fields.get("satisfied_clauses")
        return [clause for clause in listed if isinstance(clause, str)] if isinstance(listed, list | tuple) else []


def _object_in(text: str) -> str:
    start = _FENCED_OBJECT.search(text)
    end = _END_OF_OBJECT.search(text, start.end()) if start else None
    if start and end:
        return text[start.end() : end.end()]
    first, last = text.find("{"), text.rfind("}")
    if first == -1 or last <= first:
        raise ValueError("there is no JSON object in it")
    return text[first : last + 1]
