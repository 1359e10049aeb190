"""Judges that can be used here and now: local servers that answer, keys that are set, libraries that are installed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal

from formalimg.models.registry import Requirements, chat_requirements
from formalimg.models.secrets import set_key_names
from formalimg.runs.defaults.local_servers import PORTS, find_local_servers

_SUGGESTED: Mapping[str, str] = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro-preview",
    "hf": "Qwen/Qwen3-VL-8B-Instruct",
    "openai": "gpt-5",
    "transformers": "Qwen/Qwen3-VL-8B-Instruct",
}
"""A model of each provider that can see; users know better."""

_DETECTOR = "google/owlv2-base-patch16-ensemble"
_COCO = "detector/coco"
_COCO_USE = 'for photographs and prompts such as "There is a cat."'
_COCO_INSTALL = "pip install 'opencv-python-headless<5' && pip install --no-deps c4dynamics==1.2.0"
_URL_VARIABLE = "OPENAI_BASE_URL"

Words = Literal["command", "python"]
"""Whether a line is to be typed as options of a command, or as arguments of a Python call."""


@dataclass(frozen=True)
class AvailableJudge:
    """A judge that can be used."""

    name: str  # how users write it
    reason: str  # why it can be used, in a few words; keys are named, never shown
    options: Mapping[str, str] = field(default_factory=dict)  # the options that it needs

    def line(self, words: Words) -> str:
        """Return what to type."""
        if words == "python":
            options = f", judge_options={dict(self.options)!r}" if self.options else ""
            return f"judge={self.name!r}{options}"
        options = "".join(f" -J {shlex.quote(f'{name}={value}')}" for name, value in self.options.items())
        return f"--judge {shlex.quote(self.name)}{options}"


def find_available_judges(*, boxes: bool) -> list[AvailableJudge]:
    """Return the judges that can be used here; asks the servers of this machine what they serve."""
    providers = chat_requirements()
    return [*_served(providers), *_with_keys(providers), *_installed(providers, boxes=boxes)]


def nothing_found() -> str:
    """Return where judges were looked for in vain, as half a sentence."""
    keys = [requirements.keys[0] for requirements in chat_requirements().values() if requirements.keys]
    ports = ", ".join(map(str, PORTS))
    return f"no key is set ({', '.join(keys)}), no server answers on 127.0.0.1 (ports {ports}), no local models"


def how_to_get_one(words: Words, *, detector: bool = False) -> list[str]:
    """Return lines that say how to get a judge where there is none."""
    remote = AvailableJudge(f"gemini/{_SUGGESTED['gemini']}", "")
    local = AvailableJudge("openai/MODEL", "", {"base_url": "http://127.0.0.1:8000/v1"})
    providers = chat_requirements()
    return [
        f"{remote.line(words)}  (with GEMINI_API_KEY in the environment or in .env{_install(providers.get('gemini'))})",
        f"{local.line(words)}  (with a vision-language model that vLLM, Ollama or another server serves "
        f"there{_install(providers.get('openai'))})",
        *([f"{AvailableJudge(_COCO, '').line(words)}  ({_COCO_USE}; after: {_COCO_INSTALL})"] if detector else []),
    ]


def _served(providers: Mapping[str, Requirements]) -> Iterator[AvailableJudge]:
    install = _install(providers.get("openai"))
    for server in find_local_servers():
        others = f", and {len(server.models) - 1} more models" if len(server.models) > 1 else ""
        reason = f"served on this machine, by {server.program} as the port says{others}{install}"
        yield AvailableJudge(f"openai/{server.models[0]}", reason, {"base_url": server.url})
    if os.environ.get(_URL_VARIABLE, "").strip():
        yield AvailableJudge("openai/MODEL", f"{_URL_VARIABLE} is set: name a model of that server{install}")


def _with_keys(providers: Mapping[str, Requirements]) -> Iterator[AvailableJudge]:
    for name, requirements in providers.items():
        if name == "openai" and os.environ.get(_URL_VARIABLE, "").strip():
            continue  # its models are those of another server
        for key in set_key_names(requirements.keys)[:1]:
            yield AvailableJudge(f"{name}/{_SUGGESTED.get(name, 'MODEL')}", f"{key} is set{_install(requirements)}")


def _installed(providers: Mapping[str, Requirements], *, boxes: bool) -> Iterator[AvailableJudge]:
    for name, requirements in providers.items():
        if requirements.modules and not requirements.keys and not requirements.missing_modules():
            there = " and ".join(requirements.modules)
            reason = f"{there} are installed; it is loaded on this machine"
            yield AvailableJudge(f"{name}/{_SUGGESTED.get(name, 'MODEL')}", reason)
            if boxes and name == "transformers":
                yield AvailableJudge(f"detector/{_DETECTOR}", f"{there} are installed; a detector, for boxes")
    if boxes and find_spec("cv2") is not None:
        yield AvailableJudge(_COCO, "opencv is installed; a detector of 80 classes, for photographs")


def _install(requirements: Requirements | None) -> str:
    if requirements is None or not requirements.missing_modules():
        return ""
    return f"; after: {requirements.install}"
