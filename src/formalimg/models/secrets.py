"""API keys from the environment or a `.env` file, and their redaction from all output."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg._util.images import metadata_texts, without_metadata
from formalimg._util.io import read_plain_bytes
from formalimg.errors import FormalimgError
from formalimg.models.base import MIN_KEY_LENGTH
from formalimg.types import Setting

if TYPE_CHECKING:
    from formalimg.models.redaction import Redactor

ENV_FILE = Path(".env")  # file with keys, in the current folder. The environment takes precedence.
_MAX_ENV_BYTES = 1_000_000
_SECRET_WORDS = ("KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")
_DESCRIBING_WORDS = ("FILE", "PATH", "DIR", "URL", "NAME", "ID", "TYPE", "COUNT", "LIMIT", "LENGTH")
"""Last words of the names of variables that tell about a secret and do not hold it."""
_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<inside>[^'"]*)(?P=quote)(?:\s+#.*)?""")

_registered: set[str] = set()


def get_api_key(names: Sequence[str], use: str = "") -> str:
    """Return the first API key found under these names; raise an error if there is none."""
    key = find_api_key(names)
    if key is None:
        problem = f"{use} needs a key" if use else "a key is missing"
        raise FormalimgError(
            f"{problem}: set {' or '.join(names)} in the environment, or in a file .env in this folder"
        )
    return key


def find_api_key(names: Sequence[str]) -> str | None:
    """Return the first API key found under these names, or None."""
    values = [os.environ.get(name, "").strip() for name in names]
    if not any(values):
        variables = read_env_file(ENV_FILE)
        values = [variables.get(name, "").strip() for name in names]
    key = next((value for value in values if value), None)
    if key is not None:
        register_secret(key)
    return key


def set_key_names(names: Sequence[str]) -> list[str]:
    """Return the names for which an API key is set in the environment or the `.env` file."""
    variables = read_env_file(ENV_FILE)
    return [name for name in names if os.environ.get(name, "").strip() or variables.get(name, "").strip()]


def register_secret(value: str) -> None:
    """Register a value that `redact` replaces from now on."""
    if len(value) >= MIN_KEY_LENGTH:
        _registered.add(value)


def find_secrets() -> frozenset[str]:
    """Return the registered secrets and those in the environment and the `.env` file."""
    return frozenset({*_registered, *_secret_values()})


def redact(text: str) -> str:
    """Return a text with keys replaced by `***`, including partial, encoded and suspected keys."""
    return _current_redactor().redact_all(text)


def redact_known_keys(text: str) -> str:
    """Return a raw answer with known keys, including encoded ones, replaced by `***`."""
    return _current_redactor().redact_known(text)


def image_without_keys(data: bytes) -> bytes:
    """Return an image file, without its metadata if that contains a key or unsearchable text.

    Searched are known keys in all their forms, and those of well-known services. The pixels stay the same.
    """
    for content in metadata_texts(data):
        if content is None:
            return without_metadata(data)
        redactor = _current_redactor()  # here, because most files hold no text
        text = content.decode("utf-8", "replace")
        is_utf16 = text.count("\0") >= MIN_KEY_LENGTH  # at least in part
        if redactor.holds_key(text) or (is_utf16 and redactor.holds_key(text.replace("\0", ""))):
            return without_metadata(data)
    return data


def redact_values(served: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return a mapping with all its strings redacted."""
    if not any(isinstance(value, str) for value in served.values()):
        return dict(served)
    redactor = _current_redactor()
    return {name: redactor.redact_all(value) if isinstance(value, str) else value for name, value in served.items()}


def read_env_file(path: Path) -> Mapping[str, str]:
    """Parse the variables in a file of `NAME=value` lines; empty if the file does not exist.

    Values may be quoted; `export` in front, empty lines and comments are allowed. Nothing is expanded.
    """
    variables: dict[str, str] = {}
    for number, line in enumerate(_read_lines(path), 1):
        if not line or line.startswith("#"):
            continue
        variable = _parse_line(line)
        if variable is None:
            raise FormalimgError(f"cannot read line {number} of {path}: write NAME=value, with quotes only around it")
        variables[variable[0]] = variable[1]
    return variables


def _current_redactor() -> Redactor:
    return _build_redactor(find_secrets())


@lru_cache(maxsize=16)
def _build_redactor(secrets: frozenset[str]) -> Redactor:
    from formalimg.models.redaction import Redactor  # here, because most runs redact nothing

    return Redactor(secrets)


def _secret_values() -> Iterator[str]:
    """Yield values from the environment and the `.env` file whose names mark them as secrets."""
    values = [os.environ.get(name, "") for name in _secret_names(tuple(os.environ))]
    variables = filter(None, map(_parse_line, _read_lines(ENV_FILE)))
    values += [value for name, value in variables if _secret_names((name,))]
    return (value.strip() for value in values if len(value.strip()) >= MIN_KEY_LENGTH)


@lru_cache(maxsize=256)
def _secret_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if _is_secret_name(name.upper()))


def _is_secret_name(name: str) -> bool:
    words = name.split("_")
    return name.endswith(_SECRET_WORDS) or (
        any(word in _SECRET_WORDS for word in words) and words[-1] not in _DESCRIBING_WORDS
    )


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a regular file or of a link to one; empty for pipes and unreadable files."""
    try:
        content = read_plain_bytes(path.resolve(), _MAX_ENV_BYTES)
    except (OSError, RuntimeError):  # also a loop of links
        return []
    return [line.strip() for line in content.decode("utf-8-sig", "replace").splitlines()]


def _parse_line(line: str) -> tuple[str, str] | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    value = match["value"]
    if not value.startswith(("'", '"')):
        return match["name"], re.sub(r"(^|\s+)#.*$", "", value)
    quoted = _QUOTED.fullmatch(value)
    return None if quoted is None else (match["name"], quoted["inside"])
