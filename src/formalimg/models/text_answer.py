"""TextAnswer: base of answers that are read from the whole text, for requests that are sent without a schema."""

from __future__ import annotations

import ast
import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict


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
        """Return the answer in a text.

        Raises:
            ValueError: if it cannot be read; the model is asked again, as for every answer that cannot be parsed.
        """
        raise NotImplementedError


def json_or_literal(text: str) -> Any:
    """Return the value that a text writes as JSON or, failing that, as a Python literal.

    Raises:
        ValueError: if it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise ValueError("it is neither JSON nor a Python literal") from None
