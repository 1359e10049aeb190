"""Keys of providers: found in the environment or a `.env` file, and kept out of everything that is shown or stored."""

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
"""Where keys may lie, seen from the current folder. What is set in the environment comes first."""

_HIDDEN = "***"
_SHORTEST = 8
"""Shorter values are no keys, and hiding them would garble messages."""

_SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")
"""How names of variables end that hold secrets."""

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<inside>[^'"]*)(?P=quote)(?:\s+#.*)?""")

_BEFORE = r"(?:(?<![\w.*-])[\w.*-]{1,200})?"
_AFTER = r"[\w.*-]{0,200}"
"""What may stand beside a part of a key, within reason: some messages are whole files."""

_LOOKS_LIKE_A_KEY = {
    "***": rf"{_BEFORE}\*{{3,}}{_AFTER}",  # what a provider shows of a key: its beginning, stars, its end
    "sk-": r"\bsk-[\w-]{8,}",
    "AIza": r"\bAIza[\w-]{16,}",
    "hf_": r"\bhf_[A-Za-z0-9]{8,}",
    "Bearer ": r"(?<=Bearer )\S{8,}",
}
"""What is in each text that one of these patterns fits, and the pattern."""

_registered: set[str] = set()


def key(names: Sequence[str], use: str = "") -> str:
    """The first key that is set under one of these names.

    Args:
        names: variables to look for, such as `("GEMINI_API_KEY", "GOOGLE_API_KEY")`.
        use: what needs it, for the message.

    Raises:
        FormalimgError: if none is set; the message says which to set.
    """
    found = find_key(names)
    if found is None:
        needs = f"{use} needs a key" if use else "a key is missing"
        raise FormalimgError(f"{needs}: set {' or '.join(names)} in the environment, or in a file .env in this folder")
    return found


def find_key(names: Sequence[str]) -> str | None:
    """The first key that is set under one of these names, or None."""
    values = [os.environ.get(name, "").strip() for name in names]
    if not any(values):
        lying = read_env_file(ENV_FILE)
        values = [lying.get(name, "").strip() for name in names]
    found = next((value for value in values if value), None)
    if found is not None:
        keep_secret(found)
    return found


def keep_secret(value: str) -> None:
    """Hide this value from now on wherever `redacted` is used."""
    if len(value) >= _SHORTEST:
        _registered.add(value)


def redacted(text: str) -> str:
    """A text without keys: known ones, parts of them, and what looks like one are replaced by `***`."""
    return _hiding().keys_and_parts(text)


def without_known_keys(text: str) -> str:
    """A text in which known keys are replaced by `***`, and nothing else is touched: for what must stay as it came."""
    return _hiding().keys(text)


def without_keys(served: Mapping[str, Setting]) -> dict[str, Setting]:
    """What a provider says it used, each text of it redacted."""
    hiding = _hiding()
    return {name: hiding.keys_and_parts(value) if isinstance(value, str) else value for name, value in served.items()}


def read_env_file(path: Path) -> Mapping[str, str]:
    """The variables in a file of lines `NAME=value`; there are none if there is no such file.

    Values may stand in quotes; `export` in front, empty lines and comments are fine. Nothing is expanded.

    Raises:
        FormalimgError: if a line is anything else. The message names the line and does not show it.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line or line.startswith("#"):
            continue
        read = _variable(line)
        if read is None:
            raise FormalimgError(f"cannot read line {number} of {path}: write NAME=value, with quotes only around it")
        name, value = read
        found[name] = value
    return found


def _hidden(text: str, patterns: Sequence[re.Pattern[str]]) -> str:
    """The text without what any of the patterns finds in it; where these overlap, without all of it."""
    spans = sorted(found.span() for pattern in patterns for found in pattern.finditer(text) if found[0])
    pieces, end = [], 0
    for start, stop in spans:
        if start >= end:
            pieces += [text[end:start], _HIDDEN]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


class _Hiding(NamedTuple):
    """Where keys stand in texts.

    Attributes:
        marks: a text without any of these holds nothing to hide. Most texts are such, and this is quickly seen.
        whole: whole keys.
        parts: parts of them.
        alike: what looks like a key. A pattern of its own: one that goes on must win over a part that begins it.
    """

    marks: tuple[str, ...]
    whole: re.Pattern[str]
    parts: re.Pattern[str]
    alike: re.Pattern[str]

    def keys_and_parts(self, text: str) -> str:
        return _hidden(text, (self.whole, self.parts, self.alike)) if self._may_hold_any(text) else text

    def keys(self, text: str) -> str:
        return _hidden(text, (self.whole,)) if self._may_hold_any(text) else text

    def _may_hold_any(self, text: str) -> bool:
        return any(mark in text for mark in self.marks)


def _hiding() -> _Hiding:
    return _hiding_of(frozenset({*_registered, *_lying_about()}))


@lru_cache(maxsize=16)
def _hiding_of(secrets: frozenset[str]) -> _Hiding:
    forms = {form for secret in secrets for form in (secret, quote(secret, safe=""))}
    whole = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)) or r"(?!)"
    shown = [  # the beginning or the end alone: messages like to show just that
        part
        for secret in sorted(secrets)
        if "/" not in secret  # else it may be the path of a file with a key, and parts of that are ordinary words
        for part in (f"{re.escape(secret[:_SHORTEST])}{_AFTER}", f"{_BEFORE}{re.escape(secret[-_SHORTEST:])}")
    ]
    ends = {end for form in forms for end in (form[:_SHORTEST], form[-_SHORTEST:])}
    marks = (*_LOOKS_LIKE_A_KEY, *sorted(ends))
    return _Hiding(
        marks, *(re.compile(p) for p in (whole, "|".join(shown) or r"(?!)", "|".join(_LOOKS_LIKE_A_KEY.values())))
    )


def _lying_about() -> Iterator[str]:
    """Values of the environment and of the `.env` file whose names say that they are secret."""
    for name in _names_of_secrets(tuple(os.environ)):
        yield from _long_enough(os.environ.get(name, ""))
    for line in _lines(ENV_FILE):
        read = _variable(line)
        if read and _names_of_secrets(read[:1]):
            yield from _long_enough(read[1])


@lru_cache(maxsize=256)
def _names_of_secrets(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name.upper().endswith(_SECRET_ENDINGS))


def _long_enough(value: str) -> Iterator[str]:
    if len(value.strip()) >= _SHORTEST:
        yield value.strip()


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig", errors="replace").splitlines()]
    except OSError:
        return []


def _variable(line: str) -> tuple[str, str] | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    value = match["value"]
    if not value.startswith(("'", '"')):
        return match["name"], re.sub(r"(^|\s+)#.*$", "", value)
    quoted = _QUOTED.fullmatch(value)
    return None if quoted is None else (match["name"], quoted["inside"])
