"""Plain data as text, for the database."""

from __future__ import annotations

import json


def as_json(value: object) -> str:
    """The value as JSON that any database takes.

    Raises:
        TypeError: if it is not plain data.
        ValueError: if it holds numbers that are none.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, as models write them now and then
        return json.dumps(value, allow_nan=False)
    return text
