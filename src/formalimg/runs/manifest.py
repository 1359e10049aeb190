"""The manifest of a run, `run.toml`, with its suite, model, judge and settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import is_text, is_utf8, parse_toml
from formalimg._util.text import truncate
from formalimg.benchmarks.loader import shipped_versions
from formalimg.errors import FormalimgError
from formalimg.runs.folder import require_plain_run_files
from formalimg.runs.image_store import write_run_file
from formalimg.stats.observations import Profile
from formalimg.types import Setting

MANIFEST_FILE = "run.toml"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"  # How times are written everywhere in a run, in UTC
SCHEMA = 1  # The version of the format of run folders; another number was written by another version of formalimg
MAX_MANIFEST_BYTES = 1_000_000
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1
"""Limits of integers in a manifest: what 64 bits hold, with a sign or without."""
MAX_TEXT = 100_000  # Limit of the length of a text in a manifest, in characters
_MAX_STORED_SAMPLES = 20_000
"""Limit of images per item that a manifest may name: those of all models, where verdicts are imported together."""
_MAX_SHOWN = 200
AUTHORS_WORDING = "published protocol, the authors' wording"


@dataclass(frozen=True)
class Identity:
    """A model or judge, identified by name and settings."""

    name: str
    settings: Mapping[str, Setting]

    @property
    def components(self) -> str:
        """The networks and text reader of a detector, or an empty string for other models and judges."""
        names = (value for key, value in self.settings.items() if key.rpartition(".")[2] in ("network", "reader"))
        return ", ".join(dict.fromkeys(map(str, names)))

    @property
    def wording(self) -> str:
        """The source of the prompt texts of a published protocol, or an empty string without one."""
        return published_wording(self.settings)


@dataclass(frozen=True)
class RunManifest:
    """The settings needed to repeat a run."""

    suite: str  # the benchmark
    suite_version: str
    items_digest: str  # digest of what all items of the run ask for; runs with the same digest ask for the same
    model: Identity  # the image model
    judge: Identity | None  # the judge that ran last; None if there was none yet
    samples: int  # images per item
    seed: int  # the base seed from which the seeds of all images follow
    size: int  # requested width and height, in pixels
    created: str  # when the run began, in UTC, as in 2026-01-31T10:00:00Z
    made_with: str  # the version of formalimg
    condition: str = ""  # how items were presented to the model; empty for the prompt alone
    style: str = "none"  # the style text in front of the prompt: long, short or none
    prompts: str = ""  # the texts sent besides the items' own prompts, with their versions
    task: str = "image"  # what the model was asked for: an image, or a layout
    layouts: str = ""  # where the layouts came from that were given to the model; empty if none were
    images: str = ""  # the URL on an object store where the images are; empty for the run folder
    images_id: str = ""  # a random text, by which that place is known to belong to this run; empty in older runs
    odd: str = ""  # the odd records of the data that the run was given, counted by tag; empty if there are none
    matched: str = ""  # how the premade images that the last command asked for were matched to items; empty for a model
    adaptive: str = ""  # the design of an adaptive run, whose looks are in `looks.jsonl`; empty for others
    imported: str = ""  # where the answers of a run without images come from: file, digest and date of each; else empty
    origin: str = ""  # `authors` if the items were read from files as their authors publish them; else empty

    @property
    def items_label(self) -> str:
        """The source and version of the items, such as `formalimg items v3`, or an empty string for the user's own."""
        shipped, version = shipped_versions(self.suite), self.suite_version
        if self.origin == "authors" or not version:
            return "authors' items" if self.origin == "authors" else "unversioned items" if shipped else ""
        return f"{'formalimg ' if version in shipped else ''}items v{version}"

    @property
    def image_owner(self) -> str:
        """The text that identifies this run in the marker of an image location."""
        return ", ".join(filter(None, [self.model.name, f"begun {self.created}", self.images_id]))

    def resuming(self, stored: RunManifest) -> RunManifest:
        """Return the requested settings combined with the history in the stored manifest."""
        return replace(
            self,
            judge=stored.judge,
            created=stored.created,
            samples=max(self.samples, stored.samples),
            images=stored.images,
            images_id=stored.images_id,
        )


_TYPES = {"str": str, "int": int}
_FIELDS = {item.name: _TYPES[str(item.type)] for item in fields(RunManifest) if item.type in _TYPES}
"""The fields with one value, in the order in which they are written."""
_OPTIONAL = ("images", "images_id", "odd", "matched", "adaptive", "imported", "origin")
"""Fields that are written only if they are not empty."""


def utc_now() -> str:
    """Return the current time in the format used by run folders."""
    return datetime.now(UTC).strftime(TIME_FORMAT)


def write_manifest(manifest: RunManifest, folder: Path) -> None:
    """Write `run.toml` atomically and sync it to disk."""
    if manifest.samples > _MAX_STORED_SAMPLES:
        raise FormalimgError(
            f"a run has up to {_MAX_STORED_SAMPLES:,} images per item, and not {manifest.samples:,}: make several runs"
        )
    values = {name: getattr(manifest, name) for name in _FIELDS}
    values = {name: value for name, value in values.items() if value or name not in _OPTIONAL}
    lines = [
        "# What this run was asked to do. formalimg reads it to go on; results are in results.sqlite.",
        *_toml_lines({"schema": SCHEMA, **values}),
    ]
    for role, identity in (("model", manifest.model), ("judge", manifest.judge)):
        if identity is not None:
            wording = {"wording": identity.wording} if identity.wording else {}
            lines += ["", f"[{role}]", *_toml_lines({"name": identity.name, **wording})]
            lines += ["", f"[{role}.settings]", *_toml_lines(identity.settings)]
    data = "".join(f"{line}\n" for line in lines).encode()
    if len(data) > MAX_MANIFEST_BYTES:
        raise FormalimgError(
            f"the settings of {manifest.model.name} and its judge have {len(data):,} bytes, and {MANIFEST_FILE} takes "
            f"{MAX_MANIFEST_BYTES:,}: give shorter ones"
        )
    write_run_file(folder / MANIFEST_FILE, [data], fsync=True)


def read_manifest_table(path: Path, kind: str, schema: int | tuple[int, ...], advice: str) -> dict[str, Any]:
    """Read the TOML table of a manifest, and raise an error if its schema does not match."""
    folder = path.parent
    try:
        data = read_plain_bytes(path, MAX_MANIFEST_BYTES)
    except FileNotFoundError as error:
        several = any(folder.glob(f"*/{path.name}"))
        reason = f"it holds {kind}s, name them as in {folder}/*" if several else f"it has no {path.name}"
        raise FormalimgError(f"{folder} is not a {kind}: {reason}") from error
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    if not data.strip(b"\0 \t\r\n"):
        anew = "give `run` the option --restart, which moves the old files aside and starts over"
        raise FormalimgError(
            f"{path} is empty, as a loss of power may leave it: restore it from a copy, or "
            f"{anew if kind == 'run' else f'make a new {kind}'}"
        )
    try:
        table = parse_toml(data)
    except ValueError as error:  # also of bytes that are no text, and of numbers with thousands of digits
        raise FormalimgError(f"{path} is damaged: {error}") from error
    readable = schema if isinstance(schema, tuple) else (schema,)
    if type(table.get("schema")) is not int or table["schema"] not in readable:
        stored, made_with = table.get("schema"), table.get("made_with")
        schemas = " and ".join(map(str, readable))
        quoted = repr(stored)[:40] if isinstance(stored, int | str | None) else f"of type {type(stored).__name__}"
        is_printable = isinstance(made_with, str) and made_with.isprintable()
        advice = advice.format(made_with=truncate(str(made_with), 60, 20) if is_printable else "unknown")
        raise FormalimgError(
            f"{folder} has {kind} schema {quoted}, this version of formalimg reads {schemas}: {advice}"
        )
    return table


def read_manifest(folder: Path) -> RunManifest:
    """Read the manifest of a run folder."""
    path = folder / MANIFEST_FILE
    require_plain_run_files(folder)
    table = read_manifest_table(path, "run", SCHEMA, "use the version that made it ({made_with}), or start a new run")
    try:
        if not 0 <= _require_field(table, "samples", int) <= _MAX_STORED_SAMPLES:  # readers go through them
            raise KeyError("samples")
        return RunManifest(
            **{
                name: _require_field(table, name, type_)
                for name, type_ in _FIELDS.items()
                if name in table or name not in _OPTIONAL
            },
            model=_read_identity(table, "model"),
            judge=_read_identity(table, "judge") if "judge" in table else None,
        )
    except KeyError as error:
        raise FormalimgError(f"{path} is damaged: {error.args[0]} is missing or has the wrong type") from error


def manifest_differences(new: RunManifest, stored: RunManifest) -> list[str]:
    """Return the differences that prevent resuming a run, as `name: was X, now Y`."""
    old_settings, new_settings = _image_settings(stored), _image_settings(new)
    return [
        f"{name}: was {old_settings.get(name, 'not set')}, now {new_settings.get(name, 'not set')}"
        for name in {**old_settings, **new_settings}
        if old_settings.get(name) != new_settings.get(name)
    ]


def require_same_settings(new: RunManifest, stored: RunManifest, folder: Path) -> None:
    """Raise an error if a run would be resumed with other settings or another image location."""
    differences = manifest_differences(new, stored)
    if new.images and new.images != stored.images:  # by default, images go where the others are
        differences.append(f"images: were kept {stored.images or 'in the run folder'}, now {new.images}")
    if differences:
        is_older = len(differences) == 1 and new.suite_version != stored.suite_version in shipped_versions(stored.suite)
        resume = f"resume it with --items @{stored.suite_version}, " if is_older else ""
        raise FormalimgError(
            f"{folder} holds a run of other settings ({'; '.join(differences)}): {resume}name another folder with "
            "--out (in Python folder=), or give `run` the option --restart, which moves the old run aside"
        )


def require_images(manifest: RunManifest, folder: Path) -> None:
    """Raise an error if a run was imported without its images."""
    if manifest.imported:
        raise FormalimgError(
            f"{folder} has no images, because its answers were imported: import those of another judge with "
            "`formalimg import answers`, or name a run with images"
        )


def require_storable_settings(identity: Identity) -> None:
    """Raise an error if the settings cannot be written to the manifest and read back unchanged."""
    for name, value in identity.settings.items():
        if not (is_text(name) and len(name) <= MAX_TEXT and _is_storable(value)):
            quoted = f"{value!r}" if len(str(value)[:MAX_TEXT]) <= _MAX_SHOWN else f"{str(value)[:_MAX_SHOWN]!r}…"
            raise FormalimgError(
                f"the setting {name[:_MAX_SHOWN]!r} of {identity.name} is {quoted}: give text of at most {MAX_TEXT:,} "
                "characters, an integer of 64 bits, a finite number, true, false or nothing"
            )


def _is_storable(value: object) -> bool:
    match value:
        case None | bool():
            return True
        case str():
            return len(value) <= MAX_TEXT and is_utf8(value)
        case int():
            return MIN_INTEGER <= value <= MAX_INTEGER
        case float():
            return math.isfinite(value)
    return False


def _image_settings(manifest: RunManifest) -> dict[str, str]:
    """Return all settings that affect images as text, so that 7 and 7.0 stay distinct."""
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
        "adaptive": manifest.adaptive or "no",
    }


def _read_identity(table: Mapping[str, Any], role: str) -> Identity:
    section = _require_field(table, role, dict)
    values = _require_field(section, "settings", dict)
    settings = {name: None if value == {} else value for name, value in values.items()}
    for name, value in settings.items():
        if not _is_storable(value):
            raise KeyError(f"{role}.settings.{name!r:.100}")
    return Identity(_require_field(section, "name", str), settings)


def _require_field(table: Mapping[str, Any], name: str, type_: type) -> Any:
    value = table.get(name)
    if not isinstance(value, type_) or (type_ is not dict and not _is_storable(value)):
        raise KeyError(name)
    if type_ is int and isinstance(value, bool):
        raise KeyError(name)
    return value


def _toml_lines(settings: Mapping[str, Setting]) -> list[str]:
    def key(name: str) -> str:
        return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _toml_value(name)

    return [f"{key(name)} = {_toml_value(value)}" for name, value in settings.items()]


def _toml_value(value: Setting) -> str:
    if value is None:
        return "{}"  # TOML has no null: None is written as an empty inline table, which writers of TOML do not
    # JSON's strings, numbers and booleans are TOML's as well, but for one character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def judge_names(judges: Sequence[Identity]) -> list[str]:
    """Return a label for each judge: its name, with the differing settings if the name is shared."""
    return [_distinct_name(judge, [namesake for namesake in judges if namesake.name == judge.name]) for judge in judges]


def _distinct_name(judge: Identity, namesakes: Sequence[Identity]) -> str:
    keys = sorted({key for namesake in namesakes for key in namesake.settings})
    differing = [key for key in keys if len({repr(namesake.settings.get(key)) for namesake in namesakes}) > 1]
    if not differing:
        return judge.name
    short = differing
    if "persona" in differing:
        from formalimg.prompts import is_replaced  # here, because few runs have judges of one name

        short = [
            key
            for key in differing
            if not key.startswith("prompt_")
            or any(is_replaced(str(namesake.settings.get(key))) for namesake in namesakes)
        ]
    names = {_format_name(namesake, short) for namesake in namesakes}
    distinct = {_format_name(namesake, differing) for namesake in namesakes}
    return _format_name(judge, short if len(names) == len(distinct) else differing)


def _format_name(judge: Identity, keys: Iterable[str]) -> str:
    settings = judge.settings
    texts = [str(settings["persona"])] if "persona" in settings and "persona" in keys else []
    texts += [f"{key}={settings[key]}" for key in keys if key in settings and key != "persona"]
    return f"{judge.name} ({', '.join(texts) or 'without'})"


def profile_of_judges(manifests: Iterable[RunManifest]) -> Profile:
    """Return the profile for summarizing the runs: `official-code` if all their judges used it, else `paper`."""
    judges = [manifest.judge for manifest in manifests]
    as_code = all(judge is not None and judge.settings.get("protocol") == "official-code" for judge in judges)
    return "official-code" if judges and as_code else "paper"


def published_wording(settings: Mapping[str, Setting]) -> str:
    """Return the source of the prompt texts for a published protocol, such as `published protocol, our wording`."""
    texts = [str(value) for name, value in settings.items() if name == "prompt" or name.startswith("prompt_")]
    if "protocol" not in settings or not texts:
        return ""
    from formalimg.prompts import is_authors, is_users  # here, because most runs follow no published protocol

    if any(map(is_users, texts)):
        return "published protocol, the user's wording"
    count = sum(map(is_authors, texts))
    if count == len(texts):
        return AUTHORS_WORDING
    return f"published protocol, {'partly ' if count else ''}our wording"
