"""Options of models: text that the user gave as `key=value`, read one by one; what is left over is a mistake."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from formalimg.errors import FormalimgError
from formalimg.models.secrets import find_key, keep_secret, key

_SECRET = {"api_key", "apikey", "key", "token", "hf_token", "access_token", "authorization", "secret", "password"}
_YES = ("on", "true", "yes", "1")
_NO = ("off", "false", "no", "0")
_ADDRESS = "http://localhost:8000/v1"

Default = TypeVar("Default")


class Options:
    """The options that were given to a model.

    A provider reads all options it knows and then calls `done`, which refuses all others:

        given = Options("acme/painter", {"steps": "30"})
        steps = given.whole_number("steps", 20, least=1)
        given.done()
    """

    def __init__(self, model: str, given: Mapping[str, str]) -> None:
        """Options that nobody has read yet.

        Args:
            model: whose they are, for messages.
            given: the options as text.

        Raises:
            FormalimgError: if one of them is a key; options are stored and shown, keys must not be.
        """
        for name, value in given.items():
            if name.lower() in _SECRET:
                keep_secret(value)
                raise FormalimgError(
                    f"{name} is no option of {model}, because options are stored with the results: set the key in the "
                    "environment or in a file .env; `formalimg models` says under which name"
                )
        self._model = model
        self._left = dict(given)
        self._known: list[str] = []

    def text(self, name: str, default: Default) -> str | Default:
        """An option as it was written."""
        text = self._taken(name)
        return default if text is None else text

    def whole_number(
        self, name: str, default: Default, *, least: int | None = None, most: int | None = None
    ) -> int | Default:
        """An option that is a whole number from `least` to `most`."""
        text = self._taken(name)
        if text is None:
            return default
        try:
            value = int(text)
        except ValueError:
            raise self._wrong(name, text, "a whole number", least, most) from None
        if (least is not None and value < least) or (most is not None and value > most):
            raise self._wrong(name, text, "a whole number", least, most)
        return value

    def number(
        self, name: str, default: Default, *, least: float | None = None, most: float | None = None
    ) -> float | Default:
        """An option that is a number from `least` to `most`."""
        text = self._taken(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            raise self._wrong(name, text, "a number", least, most) from None
        if not math.isfinite(value) or (least is not None and value < least) or (most is not None and value > most):
            raise self._wrong(name, text, "a number", least, most)
        return value

    def flag(self, name: str, default: Default) -> bool | Default:
        """An option that is `on` or `off`."""
        text = self._taken(name)
        if text is None:
            return default
        if text.lower() not in (*_YES, *_NO):
            raise FormalimgError(f"{name}={text!r} of {self._model} cannot be read: give on or off")
        return text.lower() in _YES

    def choice(self, name: str, among: Sequence[str], default: Default) -> str | Default:
        """An option that is one of these words."""
        text = self._taken(name)
        if text is None:
            return default
        if text not in among:
            raise FormalimgError(f"{name}={text!r} of {self._model} is unknown: give one of {', '.join(among)}")
        return text

    def url(self, name: str, default: Default) -> str | Default:
        """An option that is the address of a server. It is stored with the results, so no password may be in it."""
        text = self._taken(name)
        if text is None:
            return default
        try:
            parts = urlsplit(text)
        except ValueError:  # it may hold a password, and nobody knows where
            raise FormalimgError(f"{name} of {self._model} is no address: write it as {_ADDRESS}") from None
        if parts.username or parts.password or parts.query:
            for value in (parts.username, parts.password, parts.query.rpartition("=")[2]):
                keep_secret(value or "")
            raise FormalimgError(f"{name} of {self._model} must not hold a user, a password or a query: it is stored")
        if parts.scheme not in ("http", "https") or not parts.hostname or not _has_sound_port(parts):
            raise FormalimgError(f"{name}={text!r} of {self._model} is no address: write it as {_ADDRESS}")
        return text

    def starting_with(self, prefix: str) -> dict[str, str]:
        """All options whose names begin so, under the rest of their names."""
        self._known.append(f"{prefix}…")
        found = [name for name in self._left if name.startswith(prefix) and name != prefix]
        return {name.removeprefix(prefix): self._left.pop(name) for name in found}

    def done(self) -> None:
        """All options have been read.

        Raises:
            FormalimgError: if some are left over.
        """
        if not self._left:
            return
        name = next(iter(self._left))
        near = get_close_matches(name, self._known, 1)
        advice = f"it has {', '.join(sorted(self._known))}" if self._known else "it has none"
        meant = f"did you mean {near[0]}? " if near else ""
        raise FormalimgError(f"{self._model} has no option {name!r}: {meant}{advice}")

    def _taken(self, name: str) -> str | None:
        self._known.append(name)
        return self._left.pop(name, None)

    def _wrong(self, name: str, text: str, what: str, least: float | None, most: float | None) -> FormalimgError:
        bounds = {
            (True, True): f" from {least} to {most}",
            (True, False): f", {least} or more",
            (False, True): f", {most} or less",
            (False, False): "",
        }[least is not None, most is not None]
        return FormalimgError(f"{name}={text!r} of {self._model} is out of range: give {what}{bounds}")


def _has_sound_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


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
