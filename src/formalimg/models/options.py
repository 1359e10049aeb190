"""Model options: `key=value` text from the user, parsed and validated; unknown names raise an error."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import urlsplit

from formalimg.errors import FormalimgError
from formalimg.models.secrets import ENV_FILE, find_api_key, get_api_key, read_env_file, register_secret

_SECRET = {"api_key", "apikey", "key", "token", "hf_token", "access_token", "authorization", "secret", "password"}
_TRUE = ("on", "true", "yes", "1")
_FALSE = ("off", "false", "no", "0")
_EXAMPLE_URL = "http://localhost:8000/v1"
_NO_KEY = "none"  # sent to servers that need no key; the libraries insist on one

Default = TypeVar("Default")
Number = TypeVar("Number", int, float)


class Options:
    """Options of a model.

    A provider reads all options it knows and then calls `reject_unknown`, which refuses all others:

        given = Options("acme/painter", {"steps": "30"})
        steps = given.integer("steps", 20, minimum=1)
        given.reject_unknown()
    """

    def __init__(self, model: str, options: Mapping[str, str]) -> None:
        """Initialize from the option strings of a model; API keys are refused, because options are stored."""
        for name, value in options.items():
            if name.lower() in _SECRET:
                register_secret(value)
                raise FormalimgError(
                    f"{name} is not an option of {model}, because options are stored with the results: set the key in "
                    "the environment or in a file .env; `formalimg models` says under which name"
                )
        self.model = model
        self._unread = dict(options)
        self._known: list[str] = []

    def accept_old_name(self, old: str, new: str) -> None:
        """Accept the former name of an option as an alias for its new name."""
        if old not in self._unread:
            return
        if new in self._unread:
            raise FormalimgError(f"{old} and {new} of {self.model} are the same option: give only {new}")
        self._unread[new] = self._unread.pop(old)

    def text(self, name: str, default: Default) -> str | Default:
        """Return an option as a string."""
        text = self._take(name)
        return default if text is None else text

    def integer(
        self,
        name: str,
        default: Default,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
        words: Mapping[str, Default] = MappingProxyType({}),
    ) -> int | Default:
        """Parse an option as an integer from `minimum` to `maximum`, or as one of `words`."""
        return self._read_number(name, default, int, "a whole number", minimum, maximum, words)

    def number(
        self,
        name: str,
        default: Default,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        words: Mapping[str, Default] = MappingProxyType({}),
    ) -> float | Default:
        """Parse an option as a number from `minimum` to `maximum`, or as one of `words`."""
        return self._read_number(name, default, float, "a number", minimum, maximum, words)

    def _read_number(
        self,
        name: str,
        default: Default,
        parse: Callable[[str], Number],
        kind: str,
        minimum: float | None,
        maximum: float | None,
        words: Mapping[str, Default],
    ) -> Number | Default:
        text = self._take(name)
        if text is None:
            return default
        if text in words:
            return words[text]
        low, high = -math.inf if minimum is None else minimum, math.inf if maximum is None else maximum
        with suppress(ValueError):
            value = parse(text)
            if low <= value <= high and math.isfinite(value):
                return value
        bounds = "" if minimum is None else f", {minimum} or more"
        if maximum is not None:
            bounds = f", {maximum} or less" if minimum is None else f" from {minimum} to {maximum}"
        raise FormalimgError(f"{name}={text!r} of {self.model} is out of range: give {kind}{bounds}")

    def flag(self, name: str, default: Default) -> bool | Default:
        """Parse an option that is `on` or `off`."""
        text = self._take(name)
        if text is None:
            return default
        if text.lower() not in (*_TRUE, *_FALSE):
            raise FormalimgError(f"{name}={text!r} of {self.model} cannot be read: give on or off")
        return text.lower() in _TRUE

    def choice(self, name: str, among: Sequence[str], default: Default) -> str | Default:
        """Return an option that must be one of these values."""
        text = self._take(name)
        if text is None:
            return default
        if text not in among:
            raise FormalimgError(f"{name}={text!r} of {self.model} is unknown: give one of {', '.join(among)}")
        return text

    def url(self, name: str, default: Default) -> str | Default:
        """Return an option that is a server URL. It is stored with the results, so it must not contain a password.

        A key in its path is stored as `<secret>`, as in all settings.
        """
        text = self._take(name)
        if text is None:
            return default
        try:
            parts = urlsplit(text)
        except ValueError:  # it may hold a password, and nobody knows where
            raise FormalimgError(f"{name} of {self.model} is not a URL: write it as {_EXAMPLE_URL}") from None
        if parts.username or parts.password or parts.query or parts.fragment:
            fields = re.split("[&#]", f"{parts.query}#{parts.fragment}")
            for value in (parts.username, parts.password, *(field.rpartition("=")[2] for field in fields)):
                register_secret(value or "")
            raise FormalimgError(
                f"{name} of {self.model} must not hold a user, a password or a query, nor a fragment: it is stored"
            )
        try:
            has_port = parts.port != 0
        except ValueError:
            has_port = False
        if parts.scheme not in ("http", "https") or not parts.hostname or not has_port:
            masked = re.sub(r"(?<![:/])/.*", "/…", text, flags=re.DOTALL)  # a path may hold a key
            raise FormalimgError(f"{name}={masked!r} of {self.model} is not a URL: write it as {_EXAMPLE_URL}")
        return text

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Return all options whose names start with a prefix, with the prefix removed."""
        self._known.append(f"{prefix}…")
        names = [name for name in self._unread if name.startswith(prefix) and name != prefix]
        return {name.removeprefix(prefix): self._unread.pop(name) for name in names}

    def reject_unknown(self, *later: str) -> None:
        """Raise an error for options that were not read; `later` are those that are read afterwards.

        Call it before requiring keys, so that a misspelt `base_url` is not reported as a missing key.
        """
        name = next((name for name in self._unread if name not in later), None)
        if name is None:
            return
        self._known += later
        near = get_close_matches(name, self._known, 1)
        advice = f"it has {', '.join(sorted(self._known))}" if self._known else "it has none"
        suggestion = f"did you mean {near[0]}? " if near else ""
        raise FormalimgError(f"{self.model} has no option {name!r}: {suggestion}{advice}")

    def _take(self, name: str) -> str | None:
        self._known.append(name)
        return self._unread.pop(name, None)


def with_base_url(options: Mapping[str, str], variable: str) -> dict[str, str]:
    """Add `base_url` from an environment variable unless the options contain it."""
    url = os.environ.get(variable, "").strip()
    if not url and "base_url" not in options and read_env_file(ENV_FILE).get(variable, "").strip():
        raise FormalimgError(
            f"{ENV_FILE} sets {variable}, and no file in this folder decides where keys are sent: export {variable} in "
            "the environment, or give base_url as an option"
        )
    return {"base_url": url, **options} if url else dict(options)


def server_api_key(model: str, key_names: Sequence[str], base_url: str | None) -> str:
    """Return the API key for a model, which is optional for a server at a custom `base_url`."""
    key = find_api_key(key_names) if base_url else get_api_key(key_names, model)
    return check_api_key(key, key_names) or _NO_KEY


def check_api_key(key: str | None, key_names: Sequence[str]) -> str | None:
    """Return the key after validating it."""
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise FormalimgError(f"{' or '.join(key_names)} holds no key: there are characters in it that no key has")
    return key


def read_extra_fields(options: Options, prefix: str = "extra.") -> tuple[dict[str, object], dict[str, str]]:
    """Return the extra request fields, parsed as JSON where possible, and the settings that record them."""
    texts = options.with_prefix(prefix)
    Options(options.model, texts)  # rejects keys, whatever else may be in there
    fields: dict[str, object] = {}
    for name, text in texts.items():
        try:
            fields[name] = json.loads(text)
        except ValueError:
            fields[name] = text
    return fields, {f"{prefix}{name}": text for name, text in texts.items()}


# the word for what the model or its server does unless it is told, as in `temperature=default`
MODEL_DEFAULT: Mapping[str, None] = MappingProxyType({"default": None})
# what the providers that ship with formalimg call the options of sampling
_SAMPLING_NAMES: Mapping[str, Mapping[str, str]] = {
    **{
        name: {option: option for option in ("temperature", "max_tokens", "top_p")}
        for name in ("openai", "hf", "gemini")
    },
    "anthropic": {"temperature": "temperature", "max_tokens": "max_tokens"},
    "transformers": {"temperature": "temperature", "max_tokens": "max_new_tokens", "top_p": "generate.top_p"},
}


def sampling_options(
    model: str, *, temperature: float, max_tokens: int | None = None, top_p: float | None = None
) -> dict[str, str]:
    """Return sampling options for a chat model, using its provider's option names.

    Providers that are not part of formalimg get no options, because their option names are unknown.
    """
    provider = model.partition("/")[0]
    values = {"temperature": str(temperature)}
    if max_tokens is not None:
        values["max_tokens"] = str(max_tokens)
    elif provider in ("openai", "hf"):
        values["max_tokens"] = "default"
    if top_p is not None:
        values["top_p"] = f"{top_p:g}"
    names = _SAMPLING_NAMES.get(provider, {})
    return {names[option]: value for option, value in values.items() if option in names}


def logprobs_options(model: str) -> dict[str, str]:
    """Return options that request log-probabilities from a chat model; empty if its provider has no such option."""
    return {"logprobs": "true"} if model.startswith("openai/") else {}


def option_texts(options: Mapping[str, object]) -> dict[str, str]:
    """Convert option values from Python to command-line strings, such as True to `true`; None is omitted."""
    texts: dict[str, str] = {}
    for name, value in without_none(options).items():
        try:
            texts[name] = (
                os.fspath(value) if isinstance(value, str | os.PathLike) else json.dumps(value, ensure_ascii=False)
            )
        except (TypeError, ValueError):
            raise FormalimgError(
                f"the option {name} is a {type(value).__name__}: give text, a number, or True or False"
            ) from None
    return texts


def without_none(settings: Mapping[str, Default | None]) -> dict[str, Default]:
    """Return the settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}
