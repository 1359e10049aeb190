"""`run.toml`: what was asked of a run, for people and for going on with it."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.models import Setting
from formalimg.runs.files import write_file
from formalimg.runs.record import Identity, RunManifest

CARD_FILE = "run.toml"
SCHEMA = 1
"""The form of run folders; another number means that another version of formalimg made them."""
_PLAIN = {
    "suite": str,
    "suite_version": str,
    "items_digest": str,
    "samples": int,
    "seed": int,
    "size": int,
    "created": str,
    "made_with": str,
    "condition": str,
    "style": str,
    "prompts": str,
    "task": str,
    "layouts": str,
}
"""The fields of a card that are written as they are."""
_IF_ANY = {"images": str}
"""Those that are written only where they say something."""


def write_card(manifest: RunManifest, folder: Path) -> None:
    """Write `run.toml`, replacing the old one all at once."""
    plain: dict[str, Setting] = {"schema": SCHEMA, **{name: getattr(manifest, name) for name in _PLAIN}}
    plain |= {name: getattr(manifest, name) for name in _IF_ANY if getattr(manifest, name)}
    lines = [
        "# What this run was asked to do. formalimg reads it to go on; results are in results.sqlite.",
        *_pairs(plain),
    ]
    for role, party in (("model", manifest.model), ("judge", manifest.judge)):
        if party is not None:
            lines += ["", f"[{role}]", *_pairs({"name": party.name}), "", f"[{role}.settings]", *_pairs(party.settings)]
    write_file(folder / CARD_FILE, (f"{line}\n".encode() for line in lines))


def read_manifest_table(path: Path, kind: str, schema: int, advice: str) -> dict[str, Any]:
    """What stands in the card of a folder, of this schema.

    Args:
        path: the card.
        kind: what a folder with such a card is, as in "run".
        schema: the schema that can be read.
        advice: what to do about another one; may name the version that wrote it, as `{made_with}`.

    Raises:
        FormalimgError: if there is no card, it cannot be read, or its schema is another.
    """
    folder = path.parent
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        several = any(folder.glob(f"*/{path.name}"))
        told = f"it holds {kind}s, name them as in {folder}/*" if several else f"it has no {path.name}"
        raise FormalimgError(f"{folder} is no {kind}: {told}") from error
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormalimgError(f"{path} is damaged: {error}") from error
    if table.get("schema") != schema:
        told = advice.format(made_with=table.get("made_with", "unknown"))
        raise FormalimgError(
            f"{folder} has {kind} schema {table.get('schema')!r}, this version of formalimg reads {schema}: {told}"
        )
    return table


def read_card(folder: Path) -> RunManifest:
    """The card of a run folder.

    Raises:
        FormalimgError: if the folder is no run, or one of another version of formalimg.
    """
    path = folder / CARD_FILE
    table = read_manifest_table(path, "run", SCHEMA, "use the version that made it ({made_with}), or start a new run")
    try:
        return RunManifest(
            **{name: _of_type(sort, table, name) for name, sort in _PLAIN.items()},
            **{name: _of_type(sort, table, name) for name, sort in _IF_ANY.items() if name in table},
            model=_party(table, "model"),
            judge=_party(table, "judge") if "judge" in table else None,
        )
    except KeyError as error:
        raise FormalimgError(f"{path} is damaged: {error.args[0]} is missing or no longer what it was") from error


def differences(asked: RunManifest, there: RunManifest) -> list[str]:
    """What keeps a run from being gone on with: everything that shapes images, as `name: was X, now Y`."""
    old, new = _shaping(there), _shaping(asked)
    return [
        f"{name}: was {old.get(name, 'not set')}, now {new.get(name, 'not set')}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def require_same(asked: RunManifest, there: RunManifest, folder: Path) -> None:
    """Refuse to go on with a run of other settings, or to keep its images in two places.

    Raises:
        FormalimgError: naming all that is different.
    """
    found = differences(asked, there)
    if asked.images and asked.images != there.images:  # whoever does not say goes on where the others are
        found.append(f"images: were kept {there.images or 'in the run folder'}, now {asked.images}")
    if found:
        raise FormalimgError(
            f"{folder} holds a run of other settings ({'; '.join(found)}): choose another folder or name"
        )


def judged_by(manifest: RunManifest, judge: Identity) -> RunManifest:
    """The card after this judge has looked."""
    return replace(manifest, judge=judge)


def require_plain(party: Identity) -> None:
    """Refuse settings that cannot be written down and read back as they are.

    Raises:
        FormalimgError: naming the setting.
    """
    for name, value in party.settings.items():
        written = isinstance(name, str) and _is_text(name)
        if isinstance(value, str):
            written &= _is_text(value)
        elif isinstance(value, float):
            written &= math.isfinite(value)
        else:
            written &= value is None or isinstance(value, int)
        if not written:
            raise FormalimgError(
                f"the setting {name!r} of {party.name} is {value!r}: give text, a finite number, true, false or nothing"
            )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return True


def _shaping(manifest: RunManifest) -> dict[str, str]:
    """Everything that shapes images, as text: 7 and 7.0 may be different settings."""
    return {
        "suite": manifest.suite,
        "suite version": manifest.suite_version or "none",
        "model": manifest.model.name,
        **{f"model setting {name}": repr(value) for name, value in manifest.model.settings.items()},
        "seed": str(manifest.seed),
        "size": str(manifest.size),
        "condition": manifest.condition or "plain",
        "style": manifest.style,
        "prompts": manifest.prompts or "none",
        "task": manifest.task,
        "layouts": manifest.layouts or "none",
    }


def _party(table: Mapping[str, Any], role: str) -> Identity:
    party = _of_type(dict, table, role)
    settings = _of_type(dict, party, "settings")
    return Identity(
        _of_type(str, party, "name"),
        {name: None if value == _NOTHING else value for name, value in settings.items()},
    )


def _of_type(sort: type, table: Mapping[str, Any], name: str) -> Any:
    if not isinstance(table.get(name), sort):
        raise KeyError(name)
    return table[name]


_NOTHING: dict[str, object] = {}
"""TOML has no null: a setting of None is written as an empty table."""


def _pairs(settings: Mapping[str, Setting]) -> list[str]:
    return [f"{_name(name)} = {_value(value)}" for name, value in settings.items()]


def _name(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _value(name)


def _value(value: Setting) -> str:
    if value is None:
        return "{}"
    # JSON's strings, numbers and booleans are TOML's as well, but for one character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
