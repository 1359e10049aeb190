"""API keys and redaction: keys come from the environment or a `.env` file, and are kept out of all output."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from formalimg.errors import FormalimgError
from formalimg.models.base import Setting

ENV_FILE = Path(".env")
"""File with keys, in the current folder. The environment takes precedence."""

_REDACTED = "***"
_MIN_LENGTH = 8
"""Shorter values are not keys, and redacting them would garble messages."""

_SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")
"""Suffixes of the names of variables that hold secrets."""

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<inside>[^'"]*)(?P=quote)(?:\s+#.*)?""")

_BEFORE = r"(?:(?<![\w.*-])[\w.*-]{1,200})?"
_AFTER = r"[\w.*-]{0,200}"
"""What may stand beside a part of a key; bounded, because some messages are whole files."""

_KEY_PATTERNS = {
    "***": rf"{_BEFORE}\*{{3,}}{_AFTER}",  # what a provider shows of a key: its beginning, stars, its end
    "sk-": r"\bsk-[\w-]{8,}",
    "AIza": r"\bAIza[\w-]{16,}",
    "hf_": r"\bhf_[A-Za-z0-9]{8,}",
    "Bearer ": r"(?<=Bearer )\S{8,}",
}
"""Patterns of API keys, each by a substring that every match contains."""

_registered: set[str] = set()


def get_api_key(names: Sequence[str], use: str = "") -> str:
    """Return the first API key that is set under one of these names.

    Args:
        names: environment variables, such as `("GEMINI_API_KEY", "GOOGLE_API_KEY")`.
        use: what needs the key, for the message.

    Raises:
        FormalimgError: if none is set; the message says which to set.
    """
    found = find_api_key(names)
    if found is None:
        problem = f"{use} needs a key" if use else "a key is missing"
        raise FormalimgError(
            f"{problem}: set {' or '.join(names)} in the environment, or in a file .env in this folder"
        )
    return found


def find_api_key(names: Sequence[str]) -> str | None:
    """Return the first API key that is set under one of these names, or None."""
    values = [os.environ.get(name, "").strip() for name in names]
    if not any(values):
        variables = read_env_file(ENV_FILE)
        values = [variables.get(name, "").strip() for name in names]
    found = next((value for value in values if value), None)
    if found is not None:
        register_secret(found)
    return found


def register_secret(value: str) -> None:
    """Redact this value from now on wherever `redacted` is used."""
    if len(value) >= _MIN_LENGTH:
        _registered.add(value)


def redact(text: str) -> str:
    """Return a text in which API keys, parts of them, and what looks like one are replaced by `***`."""
    return _redactor().redact_all(text)


def redact_known_keys(text: str) -> str:
    """Return a text in which known keys are replaced by `***` and nothing else: for raw answers."""
    return _redactor().redact_known(text)


def redact_values(served: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return a mapping with all its texts redacted."""
    redactor = _redactor()
    return {name: redactor.redact_all(value) if isinstance(value, str) else value for name, value in served.items()}


def read_env_file(path: Path) -> Mapping[str, str]:
    """Return the variables in a file of lines `NAME=value`; empty if there is no such file.

    Values may be quoted; `export` in front, empty lines and comments are allowed. Nothing is expanded.

    Raises:
        FormalimgError: if a line is anything else. The message names the line and does not show it.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line or line.startswith("#"):
            continue
        variable = _parse_line(line)
        if variable is None:
            raise FormalimgError(f"cannot read line {number} of {path}: write NAME=value, with quotes only around it")
        name, value = variable
        found[name] = value
    return found


def _replace_matches(text: str, patterns: Sequence[re.Pattern[str]]) -> str:
    """Replace all matches of any of the patterns; overlapping ones as a whole."""
    spans = sorted(found.span() for pattern in patterns for found in pattern.finditer(text) if found[0])
    pieces, end = [], 0
    for start, stop in spans:
        if start >= end:
            pieces += [text[end:start], _REDACTED]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


class _Redactor(NamedTuple):
    """Patterns that find keys in texts.

    Attributes:
        marks: a text without any of these substrings holds no key. Most texts are such, and this is a fast check.
        whole: whole keys.
        parts: parts of them.
        similar: what looks like a key. A separate pattern: a longer match must win over a part that begins it.
    """

    marks: tuple[str, ...]
    whole: re.Pattern[str]
    parts: re.Pattern[str]
    similar: re.Pattern[str]

    def redact_all(self, text: str) -> str:
        return _replace_matches(text, (self.whole, self.parts, self.similar)) if self._may_contain_key(text) else text

    def redact_known(self, text: str) -> str:
        return _replace_matches(text, (self.whole,)) if self._may_contain_key(text) else text

    def _may_contain_key(self, text: str) -> bool:
        return any(mark in text for mark in self.marks)


def _redactor() -> _Redactor:
    return _redactor_for(frozenset({*_registered, *_secret_values()}))


@lru_cache(maxsize=16)
def _redactor_for(secrets: frozenset[str]) -> _Redactor:
    forms = {form for secret in secrets for form in (secret, quote(secret, safe=""))}
    whole = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)) or r"(?!)"
    shown = [  # the beginning or the end alone: messages like to show just that
        part
        for secret in sorted(secrets)
        if "/" not in secret  # else it may be the path of a file with a key, and parts of that are ordinary words
        for part in (f"{re.escape(secret[:_MIN_LENGTH])}{_AFTER}", f"{_BEFORE}{re.escape(secret[-_MIN_LENGTH:])}")
    ]
    ends = {end for form in forms for end in (form[:_MIN_LENGTH], form[-_MIN_LENGTH:])}
    marks = (*_KEY_PATTERNS, *sorted(ends))
    return _Redactor(
        marks, *(re.compile(p) for p in (whole, "|".join(shown) or r"(?!)", "|".join(_KEY_PATTERNS.values())))
    )


def _secret_values() -> Iterator[str]:
    """Yield values of the environment and of the `.env` file whose names mark them as secret."""
    for name in _secret_names(tuple(os.environ)):
        yield from _long_enough(os.environ.get(name, ""))
    for line in _lines(ENV_FILE):
        variable = _parse_line(line)
        if variable and _secret_names(variable[:1]):
            yield from _long_enough(variable[1])


@lru_cache(maxsize=256)
def _secret_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name.upper().endswith(_SECRET_ENDINGS))


def _long_enough(value: str) -> Iterator[str]:
    if len(value.strip()) >= _MIN_LENGTH:
        yield value.strip()


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig", errors="replace").splitlines()]
    except OSError:
        return []


def _parse_line(line: str) -> tuple[str, str] | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    value = match["value"]
    if not value.startswith(("'", '"')):
        return match["name"], re.sub(r"(^|\s+)#.*$", "", value)
    quoted = _QUOTED.fullmatch(value)
    return None if quoted is None else (match["name"], quoted["inside"])
