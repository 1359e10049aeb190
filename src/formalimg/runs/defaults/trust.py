"""Trust in a project's `formalimg.toml`: what is harmless, and which files the user has allowed, by their digests."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from formalimg._util.io import atomic_write_text, read_plain_bytes
from formalimg._util.strict_json import dumps_storable, loads_strict
from formalimg.errors import FormalimgError
from formalimg.runs.defaults.settings import NAME, home_folder, user_file

_HARMLESS_JUDGE = re.compile(
    r"builtin/(icons|drawn)|detector/coco"
    r"|(openai|anthropic|gemini|hf)/[A-Za-z0-9][\w.:-]*(/[A-Za-z0-9][\w.:-]*)*",
    re.ASCII,
)
"""Judges without weights of their own, and plain model names of providers whose address is fixed."""

_HARMLESS_OPTION = re.compile(
    "answers|boxes|cache|concurrency|confidence|counting_confidence|decide|detail|effort|initial_backoff|logprobs"
    "|max_attempts|max_tokens|max_wait|media_resolution|parse_retries|persona|profile|reasoning_effort|requests|rpm"
    "|schema|seed|temperature|thinking|thinking_budget|thinking_level|threshold|timeout|top_logprobs|top_p|zeroing"
)
"""Options that are numbers or choices: none names an address, a path, a price or somebody who pays."""

_MAX_BYTES = 10_000_000


def is_harmless_judge(name: str) -> bool:
    """Return whether a judge sends its key to no address but its provider's, and loads neither code nor weights."""
    return _HARMLESS_JUDGE.fullmatch(name) is not None and ".." not in name


def is_harmless_option(name: str) -> bool:
    """Return whether an option of a judge is one that any project may set."""
    return _HARMLESS_OPTION.fullmatch(name) is not None


def is_below(path: Path, folder: Path) -> bool:
    """Return whether a path leads to a place inside a folder, links followed."""
    try:
        return folder.resolve() in path.resolve().parents
    except (OSError, RuntimeError):  # a loop of links
        return False


def is_allowed(path: Path, content: bytes) -> bool:
    """Return whether the user has allowed this file with this content."""
    return _read_digests().get(_key(path)) == _digest(content)


def allow_file(path: Path, content: bytes) -> None:
    """Remember that the user has allowed this file with this content, and no other."""
    _change_digests(path, _digest(content))


def revoke_file(path: Path) -> bool:
    """Forget that a file was allowed; return whether it was."""
    was_allowed = _key(path) in _read_digests()
    if was_allowed:
        _change_digests(path, None)
    return was_allowed


def display_path(path: Path | None) -> str:
    """Return a path as people write it: from the current folder, or from the home folder."""
    if path is None:
        return f"your own {NAME}"
    home = home_folder()
    try:
        relative = os.path.relpath(path)
    except (ValueError, FileNotFoundError):  # another drive, or a current folder that was removed
        return str(path)
    if relative == NAME:
        return f".{os.sep}{relative}"
    if set(Path(relative).parts[:-1]) == {os.pardir}:
        return relative
    return f"~{os.sep}{path.relative_to(home)}" if home is not None and path.is_relative_to(home) else str(path)


def _key(path: Path) -> str:
    return str(path.parent.resolve() / path.name)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digests_file() -> Path | None:
    own = user_file()
    return None if own is None else own.with_name("allowed.json")


def _read_digests() -> dict[str, str]:
    file = _digests_file()
    try:
        digests = {} if file is None else loads_strict(read_plain_bytes(file, _MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError):
        raise FormalimgError(f"cannot read {display_path(file)}: remove it, and allow projects again") from None
    return {str(key): str(value) for key, value in digests.items()} if isinstance(digests, dict) else {}


def _change_digests(path: Path, digest: str | None) -> None:
    file = _digests_file()
    if file is None:
        raise FormalimgError(f"there is no home folder to remember {display_path(path)} in: set XDG_CONFIG_HOME")
    digests = {key: value for key, value in _read_digests().items() if key != _key(path)}
    if digest is not None:
        digests[_key(path)] = digest
    atomic_write_text(file, dumps_storable(digests))
