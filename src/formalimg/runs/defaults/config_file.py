"""Parsing and validation of the configuration file `formalimg.toml`.

A project's file may come from somebody else's repository, so it is untrusted: it can set harmless defaults, and other
options only if the user has allowed this exact file.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeGuard

from formalimg._util.io import atomic_write_text, read_plain_bytes
from formalimg._util.strict_json import dumps_storable, loads_strict, parse_toml
from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite_names
from formalimg.errors import FormalimgError
from formalimg.models.secrets import is_secret_name, mask_secrets
from formalimg.runs.defaults.settings import NAME, ConfigFile, ConfigTable, home_folder, user_file

_MAX_BYTES = 100_000
_MAX_TEXT = 1_000

_JUDGE_KEYS = ("judge", "judge_options")
_KEYS = (*_JUDGE_KEYS, "budget", "runs", "grounder", "grounder_options")


def read_project_file(path: Path) -> ConfigFile:
    """Read the configuration file of a project."""
    reader = _Reader(path, project=True)
    content = reader.read_bytes(path)
    is_allowed = _read_digests().get(_path_key(path)) == hashlib.sha256(content).hexdigest()
    file = replace(reader.parse(content), is_trusted=is_allowed)
    if reader.wishes and not file.is_trusted:
        wishes = "; ".join(reader.wishes[:3]) + (f"; and {len(reader.wishes) - 3} more" * (len(reader.wishes) > 3))
        raise FormalimgError(
            f"{reader.name} wants {wishes}, which no project may decide by itself: if you trust it, read it and run "
            f"`formalimg config allow`; or set this yourself, with options or in {display_path(user_file())}"
        )
    return file


def read_wishes(path: Path) -> tuple[bytes, Sequence[str]]:
    """Return the content of a project's file and the settings in it that require the user's permission."""
    reader = _Reader(path, project=True)
    content = reader.read_bytes(path)
    reader.parse(content)
    return content, reader.wishes


def read_user_file(path: Path) -> ConfigFile:
    """Read the user's configuration file, which may be a symbolic link."""
    reader = _Reader(path, project=False)
    return replace(reader.parse(reader.read_bytes(path.resolve())), is_trusted=True)


class _Reader:
    def __init__(self, path: Path, *, project: bool) -> None:
        self.name = display_path(path)  # as people write it
        self.wishes: list[str] = []  # what a project's file wants beyond harmless defaults
        self._folder = path.parent
        self._project = project

    def read_bytes(self, path: Path) -> bytes:
        try:
            return read_plain_bytes(path, _MAX_BYTES)
        except OSError as error:
            raise FormalimgError(f"cannot read {self.name}: {error.strerror}") from None

    def parse(self, content: bytes) -> ConfigFile:
        try:
            table = parse_toml(content)
        except ValueError as error:
            raise FormalimgError(f"{self.name} is not valid TOML: {truncate(str(error), 200, 100)}") from None
        self._require_known_keys(table, ("defaults", "suite"), "the file")
        for name, heading in (("defaults", "defaults"), ("suite", "suite.NAME")):
            if not isinstance(table.get(name, {}), dict):
                raise FormalimgError(f"{self.name}: {name} is a table: write [{heading}]")
        suites = table.get("suite", {})
        self._require_known_keys(suites, suite_names(), "[suite]")
        return ConfigFile(
            self.name,
            self._read_table(table.get("defaults", {}), "[defaults]", _KEYS),
            {name: self._read_table(entry, f"[suite.{name}]", _JUDGE_KEYS) for name, entry in suites.items()},
        )

    def _read_table(self, table: object, heading: str, keys: tuple[str, ...]) -> ConfigTable:
        if not isinstance(table, dict):
            raise FormalimgError(f"{self.name}: {heading[1:-1]} is a table: write {heading}")
        self._require_known_keys(table, keys, heading)
        budget, runs = table.get("budget"), table.get("runs")
        return ConfigTable(
            *(self._read_model(table, heading, "judge"), self._read_options(table, heading, "judge")),
            None if budget is None else self._read_budget(budget, heading),
            None if runs is None else self._read_runs(runs, heading),
            *(self._read_model(table, heading, "grounder"), self._read_options(table, heading, "grounder")),
        )

    def _read_model(self, table: Mapping[str, Any], heading: str, role: str) -> str | None:
        name = table.get(role)
        if name is None:
            return None
        if not (_is_line(name) and "/" in name.strip("/")):
            raise self._wrong(heading, role, 'write it as on the command line, as in "openai/gpt-5"')
        if mask_secrets(name) != name:
            raise self._holds_key(heading, role)
        if _HARMLESS_JUDGE.fullmatch(name) is None or ".." in name:
            self._wish(role, name)
        return str(name)

    def _read_options(self, table: Mapping[str, Any], heading: str, role: str) -> dict[str, str]:
        label = f"{role}_options"
        options = table.get(label, {})
        if label in table and role not in table:
            raise FormalimgError(f"{self.name}: {label} in {heading} belong to a {role}: name it there too, as {role}")
        if not isinstance(options, dict):
            raise self._wrong(heading, label, 'write a table, as in { base_url = "http://127.0.0.1:8000/v1" }')
        texts: dict[str, str] = {}
        for name, value in options.items():
            key = f"{label}.{truncate(name, 60, 20)}"
            if isinstance(value, bool):
                value = "on" if value else "off"
            elif isinstance(value, int | float):
                value = str(value)[:_MAX_TEXT]
            if not _is_line(value):
                raise self._wrong(heading, key, "write text, a number, true or false")
            if is_secret_name(name) or mask_secrets(value) != value:
                raise self._holds_key(heading, key)
            if _HARMLESS_OPTION.fullmatch(name) is None:
                self._wish(key, value)
            texts[name] = value
        return texts

    def _wish(self, key: str, value: str) -> None:
        if self._project:
            self.wishes.append(f"{key} = {truncate(repr(value), 120, 40)}")

    def _read_budget(self, budget: object, heading: str) -> float:
        if isinstance(budget, bool) or not isinstance(budget, int | float) or math.isnan(budget) or budget < 0:
            raise self._wrong(heading, "budget", "write 0 or more US dollars, as in 20 or 2.5; inf for no limit")
        return math.inf if budget > 1e12 else float(budget)

    def _read_runs(self, runs: object, heading: str) -> Path:
        if not _is_line(runs):
            raise self._wrong(heading, "runs", 'write the path of a folder, as in "runs"')
        if not self._project:
            return Path(runs).expanduser()
        folder = self._folder / Path(runs).expanduser()
        try:
            is_below = self._folder.resolve() in folder.resolve().parents
        except (OSError, RuntimeError):  # a loop of links
            is_below = False
        if not is_below:
            self._wish("runs", runs)
        return Path(os.path.relpath(folder))

    def _require_known_keys(self, table: Mapping[str, Any], keys: Sequence[str], heading: str) -> None:
        unknown = next((name for name in table if name not in keys), None)
        if unknown is None:
            return
        near = get_close_matches(unknown, keys, 1, 0.75)
        advice = f"did you mean {near[0]}?" if near else f"choose from {', '.join(keys)}"
        raise FormalimgError(f"{self.name}: unknown key {truncate(repr(unknown), 60, 20)} in {heading}: {advice}")

    def _wrong(self, heading: str, key: str, advice: str) -> FormalimgError:
        return FormalimgError(f"{self.name}: {key} in {heading} cannot be used: {advice}")

    def _holds_key(self, heading: str, key: str) -> FormalimgError:
        return FormalimgError(
            f"{self.name}: {key} in {heading} holds a key, and options are stored with the results: set the key in the "
            "environment or in a file .env; `formalimg models` says under which name"
        )


def _is_line(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.strip() != "" and len(value) <= _MAX_TEXT and value.isprintable()


# --- trust in a project's file: what is harmless, and which files the user has allowed, by their digests

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

_MAX_DIGESTS_BYTES = 10_000_000


def allow_file(path: Path, content: bytes) -> None:
    """Record that the user allows this exact content of a configuration file."""
    _change_digests(path, hashlib.sha256(content).hexdigest())


def revoke_file(path: Path) -> bool:
    """Revoke the permission for a configuration file, and return whether it had been allowed."""
    if _path_key(path) not in _read_digests():
        return False
    _change_digests(path, None)
    return True


def display_path(path: Path | None) -> str:
    """Return a path for display, relative to the current or home folder where possible."""
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


def _path_key(path: Path) -> str:
    return str(path.parent.resolve() / path.name)


def _digests_file() -> Path | None:
    path = user_file()
    return None if path is None else path.with_name("allowed.json")


def _read_digests() -> dict[str, str]:
    file = _digests_file()
    try:
        digests = {} if file is None else loads_strict(read_plain_bytes(file, _MAX_DIGESTS_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError):
        raise FormalimgError(f"cannot read {display_path(file)}: remove it, and allow projects again") from None
    return {str(key): str(value) for key, value in digests.items()} if isinstance(digests, dict) else {}


def _change_digests(path: Path, digest: str | None) -> None:
    file = _digests_file()
    if file is None:
        raise FormalimgError(f"there is no home folder to remember {display_path(path)} in: set XDG_CONFIG_HOME")
    digests = {key: value for key, value in _read_digests().items() if key != _path_key(path)}
    if digest is not None:
        digests[_path_key(path)] = digest
    atomic_write_text(file, dumps_storable(digests))
