"""The configuration file `formalimg.toml`: how it is read.

A project's file may come with a clone of somebody else's repository, so it is data: it sets harmless defaults, and all
else only if the user has allowed this very file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import parse_toml
from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite_names
from formalimg.errors import FormalimgError
from formalimg.models.redaction import is_secret_name, mask_secrets
from formalimg.runs.defaults.settings import ConfigFile, ConfigTable, user_file
from formalimg.runs.defaults.trust import display_path, is_allowed, is_below, is_harmless_judge, is_harmless_option

_MAX_BYTES = 100_000
_MAX_TEXT = 1_000

_TABLES = ("defaults", "suite")
_JUDGE_KEYS = ("judge", "judge_options")
_KEYS = (*_JUDGE_KEYS, "budget", "runs", "grounder", "grounder_options")


def read_project_file(path: Path) -> ConfigFile:
    """Read a project's file."""
    reader = _Reader(path, project=True)
    content = reader.read_bytes(path)
    file = replace(reader.parse(content), is_trusted=is_allowed(path, content))
    if reader.wishes and not file.is_trusted:
        wishes = "; ".join(reader.wishes[:3]) + (f"; and {len(reader.wishes) - 3} more" * (len(reader.wishes) > 3))
        raise FormalimgError(
            f"{reader.name} wants {wishes}, which no project may decide by itself: if you trust it, read it and run "
            f"`formalimg config allow`; or set this yourself, with options or in {display_path(user_file())}"
        )
    return file


def read_wishes(path: Path) -> tuple[bytes, Sequence[str]]:
    """Return the content of a project's file, and what it wants beyond harmless defaults, in words."""
    reader = _Reader(path, project=True)
    content = reader.read_bytes(path)
    reader.parse(content)
    return content, reader.wishes


def read_user_file(path: Path) -> ConfigFile:
    """Read the user's own file, which may be a link, as to a folder of dotfiles."""
    reader = _Reader(path, project=False)
    return replace(reader.parse(reader.read_bytes(path.resolve())), is_trusted=True)


class _Reader:
    """Reads one file and names it in every message.

    Attributes:
        name: the path, as people write it.
        wishes: what a project's file wants beyond harmless defaults.
    """

    def __init__(self, path: Path, *, project: bool) -> None:
        self.name = display_path(path)
        self.wishes: list[str] = []
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
            raise FormalimgError(f"{self.name} is not TOML: {truncate(str(error), 200, 100)}") from None
        self._require_known(table, _TABLES, "the file")
        for name in _TABLES:
            if not isinstance(table.get(name, {}), dict):
                raise FormalimgError(
                    f"{self.name}: {name} is a table: write [{'suite.NAME' if name[0] == 's' else name}]"
                )
        suites = table.get("suite", {})
        self._require_known(suites, suite_names(), "[suite]")
        defaults = self._table(table.get("defaults", {}), "[defaults]", _KEYS)
        return ConfigFile(
            self.name,
            defaults,
            {name: self._table(entry, f"[suite.{name}]", _JUDGE_KEYS) for name, entry in suites.items()},
        )

    def _table(self, table: object, where: str, keys: tuple[str, ...]) -> ConfigTable:
        if not isinstance(table, dict):
            raise FormalimgError(f"{self.name}: {where[1:-1]} is a table: write {where}")
        self._require_known(table, keys, where)
        return ConfigTable(
            self._party(table, where, "judge"),
            self._options(table, where, "judge"),
            self._budget(table, where),
            self._runs(table, where),
            self._party(table, where, "grounder"),
            self._options(table, where, "grounder"),
        )

    def _party(self, table: Mapping[str, Any], where: str, role: str) -> str | None:
        name = table.get(role)
        if name is None:
            return None
        if not (self._is_text(name) and "/" in name.strip("/")):
            raise self._wrong(where, role, 'write it as on the command line, as in "openai/gpt-5"')
        if mask_secrets(name) != name:
            raise self._holds_key(where, role)
        if not is_harmless_judge(name):
            self._wish(role, name)
        return str(name)

    def _options(self, table: Mapping[str, Any], where: str, role: str) -> dict[str, str]:
        label = f"{role}_options"
        options = table.get(label, {})
        if label in table and role not in table:
            raise FormalimgError(f"{self.name}: {label} in {where} belong to a {role}: name it there too, as {role}")
        if not isinstance(options, dict):
            raise self._wrong(where, label, 'write a table, as in { base_url = "http://127.0.0.1:8000/v1" }')
        texts: dict[str, str] = {}
        for name, value in options.items():
            key = f"{label}.{truncate(name, 60, 20)}"
            if isinstance(value, bool):
                value = "on" if value else "off"
            elif isinstance(value, int | float):
                value = str(value)[:_MAX_TEXT]
            if not self._is_text(value):
                raise self._wrong(where, key, "write text, a number, true or false")
            if is_secret_name(name) or mask_secrets(value) != value:
                raise self._holds_key(where, key)
            if not is_harmless_option(name):
                self._wish(key, value)
            texts[name] = value
        return texts

    def _wish(self, key: str, value: str) -> None:
        if self._project:
            self.wishes.append(f"{key} = {truncate(repr(value), 120, 40)}")

    def _budget(self, table: Mapping[str, Any], where: str) -> float | None:
        budget = table.get("budget")
        if budget is None:
            return None
        if isinstance(budget, bool) or not isinstance(budget, int | float) or math.isnan(budget) or budget < 0:
            raise self._wrong(where, "budget", "write 0 or more US dollars, as in 20 or 2.5; inf for no limit")
        return math.inf if budget > 1e12 else float(budget)

    def _runs(self, table: Mapping[str, Any], where: str) -> Path | None:
        runs = table.get("runs")
        if runs is None:
            return None
        if not self._is_text(runs):
            raise self._wrong(where, "runs", 'write the path of a folder, as in "runs"')
        if not self._project:
            return Path(runs).expanduser()
        folder = self._folder / Path(runs).expanduser()
        if not is_below(folder, self._folder):
            self._wish("runs", runs)
        return Path(os.path.relpath(folder))

    def _require_known(self, table: Mapping[str, Any], known: Any, where: str) -> None:
        unknown = next((name for name in table if name not in known), None)
        if unknown is None:
            return
        near = get_close_matches(unknown, known, 1, 0.75)
        advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        raise FormalimgError(f"{self.name}: unknown key {truncate(repr(unknown), 60, 20)} in {where}: {advice}")

    @staticmethod
    def _is_text(value: object) -> bool:
        return isinstance(value, str) and value.strip() != "" and len(value) <= _MAX_TEXT and value.isprintable()

    def _wrong(self, where: str, key: str, advice: str) -> FormalimgError:
        return FormalimgError(f"{self.name}: {key} in {where} cannot be used: {advice}")

    def _holds_key(self, where: str, key: str) -> FormalimgError:
        return FormalimgError(
            f"{self.name}: {key} in {where} holds a key, and options are stored with the results: set the key in the "
            "environment or in a file .env; `formalimg models` says under which name"
        )
