"""The manifest of a run, `run.toml`: its suite, model, judge and settings; read when a run is resumed."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from formalimg._util.strict_json import is_text, is_utf8
from formalimg.errors import FormalimgError
from formalimg.models import Setting
from formalimg.runs.image_store import write_run_file

MANIFEST_FILE = "run.toml"
SCHEMA = 1
"""The version of the format of run folders; another number was written by another version of formalimg."""
_FIELDS = {
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
"""Fields of the manifest that are always written."""
_OPTIONAL_FIELDS = {"images": str}
"""Fields that are written only if they are not empty."""


@dataclass(frozen=True)
class Identity:
    """A model or judge, identified by name and settings."""

    name: str
    settings: Mapping[str, Setting]


@dataclass(frozen=True)
class RunManifest:
    """The settings of a run: enough to repeat it.

    Attributes:
        suite, suite_version: the benchmark.
        items_digest: digest of what all items of the run ask for; runs with the same digest ask for the same.
        model: the image model.
        judge: the judge that ran last; None if there was none yet.
        samples: images per item.
        seed: the base seed from which the seeds of all images follow.
        size: requested width and height, in pixels.
        created: when the run began, in UTC, as in 2026-01-31T10:00:00Z.
        made_with: the version of formalimg.
        condition: how items were presented to the model; empty for the prompt alone.
        style: the style text in front of the prompt: long, short or none.
        prompts: the texts sent besides the items' own prompts, with their versions.
        task: what the model was asked for: an image, or a layout.
        layouts: where the layouts came from that were given to the model; empty if none were.
        images: the URL on an object store where the images are; empty if they are in the run folder.
    """

    suite: str
    suite_version: str
    items_digest: str
    model: Identity
    judge: Identity | None
    samples: int
    seed: int
    size: int
    created: str
    made_with: str
    condition: str = ""
    style: str = "none"
    prompts: str = ""
    task: str = "image"
    layouts: str = ""
    images: str = ""


def utc_now() -> str:
    """Return the current time in the format used everywhere in a run."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_manifest(manifest: RunManifest, folder: Path) -> None:
    """Write `run.toml`, replacing the old file atomically."""
    fields: dict[str, Setting] = {"schema": SCHEMA, **{name: getattr(manifest, name) for name in _FIELDS}}
    fields |= {name: getattr(manifest, name) for name in _OPTIONAL_FIELDS if getattr(manifest, name)}
    lines = [
        "# What this run was asked to do. formalimg reads it to go on; results are in results.sqlite.",
        *_toml_lines(fields),
    ]
    for role, party in (("model", manifest.model), ("judge", manifest.judge)):
        if party is not None:
            lines += ["", f"[{role}]", *_toml_lines({"name": party.name})]
            lines += ["", f"[{role}.settings]", *_toml_lines(party.settings)]
    write_run_file(folder / MANIFEST_FILE, (f"{line}\n".encode() for line in lines))


def read_manifest_table(path: Path, kind: str, schema: int, advice: str) -> dict[str, Any]:
    """Return the TOML table of the manifest of a folder, if it has this schema.

    Args:
        path: the manifest.
        kind: what a folder with such a manifest is, as in "run".
        schema: the schema that can be read.
        advice: what to do about another schema; may name the version that wrote it, as `{made_with}`.

    Raises:
        FormalimgError: if there is no manifest, it cannot be read, or it has another schema.
    """
    folder = path.parent
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        several = any(folder.glob(f"*/{path.name}"))
        reason = f"it holds {kind}s, name them as in {folder}/*" if several else f"it has no {path.name}"
        raise FormalimgError(f"{folder} is not a {kind}: {reason}") from error
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormalimgError(f"{path} is damaged: {error}") from error
    if table.get("schema") != schema:
        advice = advice.format(made_with=table.get("made_with", "unknown"))
        raise FormalimgError(
            f"{folder} has {kind} schema {table.get('schema')!r}, this version of formalimg reads {schema}: {advice}"
        )
    return table


def read_manifest(folder: Path) -> RunManifest:
    """Return the manifest of a run folder.

    Raises:
        FormalimgError: if the folder is not a run, or was written by another version of formalimg.
    """
    path = folder / MANIFEST_FILE
    table = read_manifest_table(path, "run", SCHEMA, "use the version that made it ({made_with}), or start a new run")
    try:
        return RunManifest(
            **{name: _field(table, name, type_) for name, type_ in _FIELDS.items()},
            **{name: _field(table, name, type_) for name, type_ in _OPTIONAL_FIELDS.items() if name in table},
            model=_identity(table, "model"),
            judge=_identity(table, "judge") if "judge" in table else None,
        )
    except KeyError as error:
        raise FormalimgError(f"{path} is damaged: {error.args[0]} is missing or has the wrong type") from error


def manifest_differences(new: RunManifest, stored: RunManifest) -> list[str]:
    """Return the differences that keep a run from being resumed, as `name: was X, now Y`."""
    old_settings, new_settings = _image_settings(stored), _image_settings(new)
    return [
        f"{name}: was {old_settings.get(name, 'not set')}, now {new_settings.get(name, 'not set')}"
        for name in {**old_settings, **new_settings}
        if old_settings.get(name) != new_settings.get(name)
    ]


def require_same_settings(new: RunManifest, stored: RunManifest, folder: Path) -> None:
    """Refuse to resume a run with other settings, or to keep its images in two places.

    Raises:
        FormalimgError: naming all differences.
    """
    found = manifest_differences(new, stored)
    if new.images and new.images != stored.images:  # by default, images go where the others are
        found.append(f"images: were kept {stored.images or 'in the run folder'}, now {new.images}")
    if found:
        raise FormalimgError(
            f"{folder} holds a run of other settings ({'; '.join(found)}): choose another folder or name"
        )


def require_storable_settings(party: Identity) -> None:
    """Refuse settings that cannot be written to the manifest and read back unchanged.

    Raises:
        FormalimgError: naming the setting.
    """
    for name, value in party.settings.items():
        storable = is_text(name)
        if isinstance(value, str):
            storable &= is_utf8(value)
        elif isinstance(value, float):
            storable &= math.isfinite(value)
        else:
            storable &= value is None or isinstance(value, int)
        if not storable:
            raise FormalimgError(
                f"the setting {name!r} of {party.name} is {value!r}: give text, a finite number, true, false or nothing"
            )


def _image_settings(manifest: RunManifest) -> dict[str, str]:
    """Return everything that shapes images, as text: 7 and 7.0 may be different settings."""
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


def _identity(table: Mapping[str, Any], role: str) -> Identity:
    party = _field(table, role, dict)
    settings = _field(party, "settings", dict)
    return Identity(
        _field(party, "name", str),
        {name: None if value == {} else value for name, value in settings.items()},
    )


def _field(table: Mapping[str, Any], name: str, type_: type) -> Any:
    if not isinstance(table.get(name), type_):
        raise KeyError(name)
    return table[name]


def _toml_lines(settings: Mapping[str, Setting]) -> list[str]:
    return [f"{_toml_key(name)} = {_toml_value(value)}" for name, value in settings.items()]


def _toml_key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _toml_value(name)


def _toml_value(value: Setting) -> str:
    if value is None:
        return "{}"  # TOML has no null: None is written as an empty inline table, which writers of TOML do not
    # JSON's strings, numbers and booleans are TOML's as well, but for one character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
