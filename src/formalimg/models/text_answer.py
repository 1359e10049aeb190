"""`TextAnswer`: base class of answers parsed from the whole text, for requests without a schema."""

from __future__ import annotations

import ast
import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

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
