"""Model servers on this machine: who answers on the usual ports of vLLM, Ollama and others, and what they serve."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

PORTS: Mapping[int, str] = {
    8000: "vLLM",
    30000: "SGLang",
    11434: "Ollama",
    1234: "LM Studio",
    8080: "llama.cpp",
}
"""The ports on which servers that speak as OpenAI does listen by default."""

UNKNOWN_MODEL = "MODEL"
"""Stands for the models of a server that tells them only to those with its key, which is not sent unasked."""

_HOST = "127.0.0.1"
_SECONDS = 0.3
"""How long a server has for its answer; all are asked at the same time."""

_MAX_BYTES = 200_000
_MAX_NAME = 200
_SEES = re.compile(r"vl\b|vl[-:]|-v[-:.\d]|vision|visual|llava|pixtral|gemma-?3|moondream|internvl|omni", re.IGNORECASE)
"""How the names of models that can see often look; others are listed after them."""


class LocalServer(NamedTuple):
    """A server that answers."""

    url: str  # its address, as for `base_url`
    program: str  # which program usually listens there
    models: tuple[str, ...]  # the ids of what it serves, those first that look as if they could see


def find_local_servers() -> list[LocalServer]:
    """Return the servers of this machine that list their models, in the order of `PORTS`.

    Only loopback addresses are asked, without a key, and nobody is waited for longer than a fraction of a second.
    """
    found: dict[int, tuple[str, ...]] = {}

    def ask(port: int) -> None:
        models = _models(port)
        if models:
            found[port] = models

    # Threads that end with the process: a server that sends one byte after another must not keep us.
    threads = [threading.Thread(target=ask, args=(port,), daemon=True) for port in PORTS]
    end = time.monotonic() + _SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return [
        LocalServer(f"http://{_HOST}:{port}/v1", name, found[port]) for port, name in PORTS.items() if port in found
    ]


def _models(port: int) -> tuple[str, ...]:
    """Return the ids of the models of a server; none if it is not one."""
    connection = http.client.HTTPConnection(_HOST, port, timeout=_SECONDS)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status in (401, 403):
            return (UNKNOWN_MODEL,)
        if answer.status != 200:
            return ()
        names = list(dict.fromkeys(_names(json.loads(answer.read(_MAX_BYTES)))))
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return ()
    finally:
        connection.close()
    return tuple(sorted(names, key=lambda name: _SEES.search(name) is None))


def _names(answer: object) -> Iterator[str]:
    entries = answer.get("data") if isinstance(answer, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and name.isprintable() and 0 < len(name) <= _MAX_NAME:
            yield name
