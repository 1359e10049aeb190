"""Options that name a server, and options that are sent to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from formalimg.errors import FormalimgError
from formalimg.models.options import Options
from formalimg.models.secrets import find_key, key

_NO_KEY = "none"
"""Sent to servers that want no key; the libraries insist on one."""


def with_base_url(options: Mapping[str, str], variable: str) -> dict[str, str]:
    """The options, and the address that lies in a variable of the environment if they do not name another."""
    usual = os.environ.get(variable, "").strip()
    return {"base_url": usual, **options} if usual else dict(options)


def key_for(model: str, key_name: str, base_url: str | None) -> str:
    """The key for a model. A server at an address of one's own may want none.

    Raises:
        FormalimgError: if a key is needed and missing, or what is set cannot be one.
    """
    found = find_key((key_name,)) if base_url else key((key_name,), model)
    if found and not (found.isascii() and found.isprintable() and " " not in found):
        raise FormalimgError(f"{key_name} holds no key: there are characters in it that no key has")
    return found or _NO_KEY


def read_extras(model: str, given: Mapping[str, str]) -> dict[str, object]:
    """Fields that are sent as they are: JSON where the text is JSON, else the text.

    Raises:
        FormalimgError: if one of them is a key.
    """
    Options(model, given)  # refuses keys, whatever else may be in there
    return {name: _as_json(text) for name, text in given.items()}


def read_temperature(options: Options, model: str, usual: float | None, *, most: float) -> float | None:
    """The temperature that is sent; None for the model's own, which is also what `default` asks for."""
    text = options.text("temperature", None)
    if text is None or text == "default":
        return usual if text is None else None
    return Options(model, {"temperature": text}).number("temperature", None, least=0, most=most)


def _as_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
