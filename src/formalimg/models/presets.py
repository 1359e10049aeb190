"""Presets of open chat models: `preset/NAME` stands for a served model and its options (`presets.toml`)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from formalimg.errors import FormalimgError

PREFIX = "preset/"

_LOCAL = "http://127.0.0.1:8000/v1"
"""Where vLLM serves unless it is told otherwise."""


@dataclass(frozen=True)
class Preset:
    """An open model as a judge."""

    name: str  # how users write it, `preset/…`
    model: str  # the chat model that it stands for
    serve: str  # the command of a server for it
    protocol: str  # how it is meant to be asked
    boxes: str  # how it writes boxes
    certificate: str  # where its errors were measured, and what came out; empty where nobody did
    options: Mapping[str, str]  # its options, which those that are given override

    @property
    def summary(self) -> tuple[str, ...]:
        """What it is, in lines."""
        certificate = self.certificate or "none was measured, so its errors are unknown: measure them with certify"
        options = " ".join(f"-J '{key}={value}'" if " " in value else f"-J {key}={value}" for key, value in self._shown)
        return (
            f"{self.model} {options}",
            f"protocol {self.protocol}, boxes {self.boxes}; certificate: {certificate}",
            f"serve it with: {self.serve}",
        )

    @property
    def _shown(self) -> tuple[tuple[str, str], ...]:
        return (("base_url", _LOCAL), *self.options.items())


def presets() -> tuple[Preset, ...]:
    """Return all presets, by name."""
    return tuple(_table()[name] for name in sorted(_table()))


def expand_preset(name: str, options: Mapping[str, str] | None = None) -> tuple[str, Mapping[str, str]]:
    """Return the model that a name stands for and its options; what is no preset, as it is."""
    given = options or {}
    if not name.startswith(PREFIX):
        return name, given
    preset = _table().get(name)
    if preset is None:
        near = get_close_matches(name, _table(), 1)
        advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(_table()))}"
        raise FormalimgError(f"there is no {name}: {advice}")
    server = {} if os.environ.get("OPENAI_BASE_URL", "").strip() else {"base_url": _LOCAL}
    return preset.model, {**server, **preset.options, **given}


@cache
def _table() -> Mapping[str, Preset]:
    text = (files("formalimg.models") / "presets.toml").read_text(encoding="utf-8")
    return {f"{PREFIX}{name}": Preset(f"{PREFIX}{name}", **entry) for name, entry in tomllib.loads(text).items()}
