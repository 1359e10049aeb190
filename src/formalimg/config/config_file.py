"""The configuration file `formalimg.toml`: how it is read.

A project's file may come with a clone of somebody else's repository, so it is data: it may choose, but not make this
machine execute code, send a key to a server elsewhere, or write outside of the project.
"""

from __future__ import annotations

import ipaddress
import math
import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from formalimg._util.plain_files import read_plain_bytes
from formalimg._util.strict_toml import parse_toml
from formalimg._util.text import truncate
from formalimg.config.defaults import NAME, ConfigFile, ConfigTable, home_folder, user_file
from formalimg.errors import FormalimgError
from formalimg.models import is_secret_name, mask_secrets
from formalimg.suites import suite_names

_MAX_BYTES = 100_000
_MAX_TEXT = 1_000
_RUNNING_CODE = ("trust_remote_code",)
"""Options with which a judge executes what it downloads."""

_TABLES = ("defaults", "suite")
_JUDGE_KEYS = ("judge", "judge_options")
_KEYS = (*_JUDGE_KEYS, "budget", "runs")


def read_project_file(path: Path) -> ConfigFile:
    """Read a project's file.

    Raises:
        FormalimgError: naming the file and the key, if it cannot be read, or says what a project must not decide.
    """
    return _Reader(path, project=True).read(path)


def read_user_file(path: Path) -> ConfigFile:
    """Read the user's own file, which may be a link, as to a folder of dotfiles.

    Raises:
        FormalimgError: naming the file and the key, if it cannot be read.
    """
    return _Reader(path, project=False).read(path.resolve())


class _Reader:
    """Reads one file and names it in every message."""

    def __init__(self, path: Path, *, project: bool) -> None:
        self._shown = _shown(path)
        self._folder = path.parent
        self._project = project

    def read(self, path: Path) -> ConfigFile:
        try:
            table = parse_toml(read_plain_bytes(path, _MAX_BYTES))
        except OSError as error:
            raise FormalimgError(f"cannot read {self._shown}: {error.strerror}") from None
        except ValueError as error:
            raise FormalimgError(f"{self._shown} is not TOML: {truncate(str(error), 200, 100)}") from None
        self._require_known(table, _TABLES, "the file")
        for name in _TABLES:
            if not isinstance(table.get(name, {}), dict):
                raise FormalimgError(
                    f"{self._shown}: {name} is a table: write [{'suite.NAME' if name[0] == 's' else name}]"
                )
        suites = table.get("suite", {})
        self._require_known(suites, suite_names(), "[suite]")
        defaults = self._table(table.get("defaults", {}), "[defaults]", _KEYS)
        return ConfigFile(
            self._shown,
            defaults,
            {name: self._table(entry, f"[suite.{name}]", _JUDGE_KEYS) for name, entry in suites.items()},
        )

    def _table(self, table: object, where: str, keys: tuple[str, ...]) -> ConfigTable:
        if not isinstance(table, dict):
            raise FormalimgError(f"{self._shown}: {where[1:-1]} is a table: write {where}")
        self._require_known(table, keys, where)
        if "judge_options" in table and "judge" not in table:
            raise FormalimgError(
                f"{self._shown}: judge_options in {where} belong to a judge: name it there too, as judge"
            )
        return ConfigTable(
            self._judge(table, where),
            self._judge_options(table.get("judge_options", {}), where),
            self._budget(table, where),
            self._runs(table, where),
        )

    def _judge(self, table: Mapping[str, Any], where: str) -> str | None:
        name = table.get("judge")
        if name is None:
            return None
        if not (self._is_text(name) and "/" in name.strip("/")):
            raise self._wrong(where, "judge", 'write it as on the command line, as in "openai/gpt-5"')
        if mask_secrets(name) != name:
            raise self._holds_key(where, "judge")
        return str(name)

    def _judge_options(self, options: object, where: str) -> dict[str, str]:
        if not isinstance(options, dict):
            raise self._wrong(where, "judge_options", 'write a table, as in { base_url = "http://127.0.0.1:8000/v1" }')
        found: dict[str, str] = {}
        for name, value in options.items():
            key = f"judge_options.{truncate(name, 60, 20)}"
            if isinstance(value, bool):
                value = "on" if value else "off"
            elif isinstance(value, int | float):
                value = str(value)[:_MAX_TEXT]
            if not self._is_text(value):
                raise self._wrong(where, key, "write text, a number, true or false")
            if is_secret_name(name) or mask_secrets(value) != value:
                raise self._holds_key(where, key)
            self._refuse_danger(where, key, name, value)
            found[name] = value
        return found

    def _refuse_danger(self, where: str, key: str, name: str, value: str) -> None:
        """Refuse options of a project's file that execute code, or send keys and images to another machine."""
        if not self._project:
            return
        own = f"give it yourself with -J {name}=…, or in {_shown(user_file())}"
        if name in _RUNNING_CODE:
            raise FormalimgError(f"{self._shown}: {key} in {where} executes code, which no project may decide: {own}")
        if "://" in value and not _is_nearby(value):
            raise FormalimgError(
                f"{self._shown}: {key} in {where} would send your key and images to another machine, which no project "
                f"may decide: {own}"
            )

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
        if Path(runs).is_absolute() or ".." in Path(runs).parts or runs.startswith("~"):
            raise self._wrong(where, "runs", "a project keeps its runs inside its folder: write a path below it")
        return Path(os.path.relpath(self._folder / runs))

    def _require_known(self, table: Mapping[str, Any], known: Any, where: str) -> None:
        unknown = next((name for name in table if name not in known), None)
        if unknown is None:
            return
        near = get_close_matches(unknown, known, 1, 0.75)
        advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        raise FormalimgError(f"{self._shown}: unknown key {truncate(repr(unknown), 60, 20)} in {where}: {advice}")

    @staticmethod
    def _is_text(value: object) -> bool:
        return isinstance(value, str) and value.strip() != "" and len(value) <= _MAX_TEXT and value.isprintable()

    def _wrong(self, where: str, key: str, advice: str) -> FormalimgError:
        return FormalimgError(f"{self._shown}: {key} in {where} cannot be used: {advice}")

    def _holds_key(self, where: str, key: str) -> FormalimgError:
        return FormalimgError(
            f"{self._shown}: {key} in {where} holds a key, and options are stored with the results: set the key in the "
            "environment or in a file .env; `formalimg models` says under which name"
        )


def _is_nearby(url: str) -> bool:
    """Return whether a URL names this machine, or a private address of its network."""
    try:
        host = urlsplit(url).hostname or ""
        if host == "localhost":
            return True
        address = ipaddress.ip_address(host)
        return (getattr(address, "ipv4_mapped", None) or address).is_private
    except ValueError:  # a name, or no URL at all
        return False


def _shown(path: Path | None) -> str:
    """Return a path as people write it: from the current folder, or from the home folder."""
    if path is None:
        return f"your own {NAME}"
    home = home_folder()
    try:
        near = os.path.relpath(path)
    except (ValueError, FileNotFoundError):  # another drive, or a current folder that was removed
        return str(path)
    if near == NAME:
        return f".{os.sep}{near}"
    if set(Path(near).parts[:-1]) == {os.pardir}:
        return near
    return f"~{os.sep}{path.relative_to(home)}" if home is not None and path.is_relative_to(home) else str(path)
