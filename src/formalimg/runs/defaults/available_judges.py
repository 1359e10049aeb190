"""Discovery of available judges: running local servers, configured API keys and installed libraries.

It also builds the error for a run without a judge, with the reason, the available judges and the line to type.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal, NamedTuple

from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.models.registry import Requirements, chat_requirements
from formalimg.models.secrets import set_key_names
from formalimg.runs.defaults.settings import ICONS, JUDGE_VARIABLE

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
    """A judge that is available on this machine."""

    name: str  # how users write it
    reason: str = ""  # why it can be used, in a few words; keys are named, never shown
    options: Mapping[str, str] = field(default_factory=dict)  # the options that it needs

    def line(self, words: Words) -> str:
        """Return the option or argument that selects the judge."""
        if words == "python":
            options = f", judge_options={dict(self.options)!r}" if self.options else ""
            return f"judge={self.name!r}{options}"
        options = "".join(f" -J {shlex.quote(f'{name}={value}')}" for name, value in self.options.items())
        return f"--judge {shlex.quote(self.name)}{options}"


def find_available_judges(*, boxes: bool) -> list[AvailableJudge]:
    """Return the judges available on this machine, querying local servers for their models."""
    providers = chat_requirements()
    return [*_list_served(providers), *_list_with_keys(providers), *_list_installed(providers, boxes=boxes)]


def _list_served(providers: Mapping[str, Requirements]) -> Iterator[AvailableJudge]:
    install = _install_advice(providers.get("openai"))
    for server in find_local_servers():
        more = f", and {len(server.models) - 1} more models" if len(server.models) > 1 else ""
        reason = f"served on this machine, by {server.program} as the port says{more}{install}"
        yield AvailableJudge(f"openai/{server.models[0]}", reason, {"base_url": server.url})
    if os.environ.get(_URL_VARIABLE, "").strip():
        yield AvailableJudge("openai/MODEL", f"{_URL_VARIABLE} is set: name a model of that server{install}")


def _list_with_keys(providers: Mapping[str, Requirements]) -> Iterator[AvailableJudge]:
    for name, requirements in providers.items():
        if name == "openai" and os.environ.get(_URL_VARIABLE, "").strip():
            continue  # its models are those of another server
        for key in set_key_names(requirements.keys)[:1]:
            reason = f"{key} is set{_install_advice(requirements)}"
            yield AvailableJudge(f"{name}/{_SUGGESTED.get(name, 'MODEL')}", reason)


def _list_installed(providers: Mapping[str, Requirements], *, boxes: bool) -> Iterator[AvailableJudge]:
    for name, requirements in providers.items():
        if requirements.modules and not requirements.keys and not requirements.missing_modules():
            modules = " and ".join(requirements.modules)
            reason = f"{modules} are installed; it is loaded on this machine"
            yield AvailableJudge(f"{name}/{_SUGGESTED.get(name, 'MODEL')}", reason)
            if boxes and name == "transformers":
                yield AvailableJudge(f"detector/{_DETECTOR}", f"{modules} are installed; a detector, for boxes")
    if boxes and find_spec("cv2") is not None:
        yield AvailableJudge(_COCO, "opencv is installed; a detector of 80 classes, for photographs")


def _install_advice(requirements: Requirements | None) -> str:
    if requirements is None or not requirements.missing_modules():
        return ""
    return f"; after: {requirements.install}"


# --- the refusal


class NoJudgeError(FormalimgError):
    """Raised when no judge is available. The first line gives the reason, the others list remedies."""

    def __init__(self, reason: str, findings: list[str]) -> None:
        # the judges that are available here, or how to get one, and other remedies, a line each
        self.findings = findings
        super().__init__("\n".join([reason, *findings]))


def suggest_judge(suite: str) -> str:
    """Return the options for an available judge of a suite, falling back to a common one."""
    judges = find_available_judges(boxes=get_suite(suite).judged_by_boxes)
    return judges[0].line("command") if judges else f"--judge gemini/{_SUGGESTED['gemini']}"


def no_judge_error(suite_name: str, model: str, protocol: str, words: Words, *, making: bool) -> NoJudgeError:
    """Build the error raised when no judge is available for a model's images."""
    suite = get_suite(suite_name)
    model = truncate(model, 200, 100)  # of a run folder it is somebody else's text
    published = protocol != "default"
    if published:
        needs = f"the protocol {protocol} asks a chat model that can see"
        reason = f"there is no judge for {suite_name} that works offline: {needs}"
    elif suite.judged_by_boxes:
        reason = (
            f"there is no judge for the images of {model}: {suite_name} {suite.judge_needs} ({ICONS} reads only the "
            "drawings of the built-in models)"
        )
    elif suite.takes_detectors:
        kind = suite.judge_needs.removeprefix("needs ")
        reason = f"there is no judge for {model}: name {kind}, or a detector for prompts that name objects"
    else:
        reason = f"there is no judge for {suite_name} that works offline: it {suite.judge_needs}"
    judges = find_available_judges(boxes=(suite.judged_by_boxes or suite.takes_detectors) and not published)
    if judges:
        heading = f"Available here, {'add one of these' if words == 'command' else 'give one of these arguments'}:"
        # Side by side, so that what is to be typed can be seen at once.
        width = max(len(judge.line(words)) for judge in judges)
        lines = [f"{judge.line(words):<{width}}  ({judge.reason})" for judge in judges]
    else:
        heading = f"Nothing is available here: {_describe_search()}. For example:"
        lines = _list_examples(words, detector=suite.takes_detectors)
    remedies = [
        f'To choose once for all runs: {JUDGE_VARIABLE}=NAME in the environment, or judge = "NAME" below [defaults] in '
        "formalimg.toml."
    ]
    if words == "command" and making:
        remedies.append(f"To make the images only: `formalimg run --no-judge`{suite.without_judge}.")
    return NoJudgeError(f"{reason}.", [heading, *(f"  {line}" for line in lines), *remedies])


def _describe_search() -> str:
    keys = [requirements.keys[0] for requirements in chat_requirements().values() if requirements.keys]
    ports = ", ".join(map(str, PORTS))
    return f"no key is set ({', '.join(keys)}), no server answers on 127.0.0.1 (ports {ports}), no local models"


def _list_examples(words: Words, *, detector: bool) -> list[str]:
    remote = AvailableJudge(f"gemini/{_SUGGESTED['gemini']}").line(words)
    local = AvailableJudge("openai/MODEL", options={"base_url": "http://127.0.0.1:8000/v1"}).line(words)
    providers = chat_requirements()
    lines = [
        f"{remote}  (with GEMINI_API_KEY in the environment or in .env{_install_advice(providers.get('gemini'))})",
        f"{local}  (with a vision-language model that vLLM, Ollama or another server serves "
        f"there{_install_advice(providers.get('openai'))})",
    ]
    if detector:
        lines.append(f"{AvailableJudge(_COCO).line(words)}  ({_COCO_USE}; after: {_COCO_INSTALL})")
    return lines


# --- model servers on this machine

PORTS: Mapping[int, str] = {
    8000: "vLLM",
    30000: "SGLang",
    11434: "Ollama",
    1234: "LM Studio",
    8080: "llama.cpp",
}
"""The ports on which servers that speak as OpenAI does listen by default."""

_UNKNOWN_MODEL = "MODEL"
"""Stands for the models of a server that tells them only to those with its key, which is not sent unasked."""

_HOST = "127.0.0.1"
_SECONDS = 0.3  # How long a server has for its answer; all are asked at the same time
_MAX_BYTES = 200_000
_MAX_NAME = 200
_SEES = re.compile(r"vl\b|vl[-:]|-v[-:.\d]|vision|visual|llava|pixtral|gemma-?3|moondream|internvl|omni", re.IGNORECASE)
"""How the names of models that can see often look; others are listed after them."""


class LocalServer(NamedTuple):
    """A responding model server on this machine."""

    url: str  # its address, as for `base_url`
    program: str  # which program usually listens there
    models: tuple[str, ...]  # the ids of what it serves, those first that look as if they could see


def find_local_servers() -> list[LocalServer]:
    """Return the local servers that list their models, in the order of `PORTS`."""
    models: dict[int, tuple[str, ...]] = {}

    def ask(port: int) -> None:
        models[port] = _read_models(port)

    # Threads that end with the process: a server that sends one byte after another must not keep us.
    threads = [threading.Thread(target=ask, args=(port,), daemon=True) for port in PORTS]
    end = time.monotonic() + _SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return [
        LocalServer(f"http://{_HOST}:{port}/v1", name, models[port]) for port, name in PORTS.items() if models.get(port)
    ]


def _read_models(port: int) -> tuple[str, ...]:
    connection = http.client.HTTPConnection(_HOST, port, timeout=_SECONDS)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status in (401, 403):
            return (_UNKNOWN_MODEL,)
        if answer.status != 200:
            return ()
        body = json.loads(answer.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return ()
    finally:
        connection.close()
    entries = body.get("data") if isinstance(body, dict) else None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    valid = [name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) <= _MAX_NAME]
    return tuple(sorted(dict.fromkeys(valid), key=lambda name: _SEES.search(name) is None))
