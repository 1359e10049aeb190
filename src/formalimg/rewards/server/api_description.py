"""The description of the server's paths: OpenAPI for programs, and a plain page for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from formalimg._util.templates import render_template

_PACKAGE = "formalimg.rewards.server"
_LINE = 80
"""Characters of a line of an example."""

DOCS_HEADERS: Mapping[str, str] = {
    # The page brings its style along, and nothing else is ever loaded.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""The headers of the page."""


class ApiOperation(NamedTuple):
    """One operation as the page shows it."""

    method: str  # GET or POST
    path: str  # its path
    summary: str  # what it does, in a few words
    text: str  # what else is to be known
    is_open: bool  # whether it needs no token
    request: str  # an example of a request; empty if it has no body
    answer: str  # an example of an answer; empty if none is given
    errors: tuple[tuple[str, str], ...]  # its statuses besides 200, each with its meaning


def describe_api(version: str) -> dict[str, Any]:
    """Return the description of all paths as an OpenAPI document."""
    document: dict[str, Any] = json.loads(_openapi_text())
    document["info"]["version"] = version
    return document


def render_docs(document: Mapping[str, Any]) -> str:
    """Return an OpenAPI document of this server as an HTML page."""
    operations = list(_operations(document))
    groups = [
        (tag["name"], tag["description"], [found for name, found in operations if name == tag["name"]])
        for tag in document["tags"]
    ]
    return str(render_template(_PACKAGE, "docs.html", info=document["info"], groups=groups))


@cache
def _openapi_text() -> str:
    return (files(_PACKAGE) / "openapi.json").read_text(encoding="utf-8")


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, ApiOperation]]:
    """Yield the operations in their order, each with its tag."""
    meanings = document["components"]["responses"]
    for path, methods in document["paths"].items():
        for method, found in methods.items():
            errors = tuple(
                (status, meanings[status]["description"]) for status in found["responses"] if status != "200"
            )
            yield (
                found["tags"][0],
                ApiOperation(
                    method.upper(),
                    path,
                    found["summary"],
                    found["description"],
                    found.get("security") == [],
                    _example(found.get("requestBody", {})),
                    _example(found["responses"]["200"]),
                    errors,
                ),
            )


def _example(body: Mapping[str, Any]) -> str:
    examples = (content["example"] for content in body.get("content", {}).values() if "example" in content)
    first = next(examples, "")
    return first.rstrip() if isinstance(first, str) else _written(first)


def _written(value: Any, indent: str = "") -> str:
    """Return a value as JSON, on one line where that is not too long."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent + line) <= _LINE or not isinstance(value, dict | list):
        return line
    inner = f"{indent}  "
    if isinstance(value, list):
        opening, closing, entries = "[", "]", [_written(entry, inner) for entry in value]
    else:
        opening, closing = "{", "}"
        entries = [f"{json.dumps(key)}: {_written(entry, inner)}" for key, entry in value.items()]
    return f"{opening}\n{inner}" + f",\n{inner}".join(entries) + f"\n{indent}{closing}"
