"""Error messages for invalid option values, independent of the typer and pydantic versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BOUNDS = {
    "greater_than_equal": ("ge", "too small", "{} or more"),
    "greater_than": ("gt", "too small", "more than {}"),
    "less_than_equal": ("le", "too large", "{} at most"),
    "less_than": ("lt", "too large", "less than {}"),
}

_KINDS = {"int": "a whole number", "float": "a number", "bool": "yes or no"}


def value_problem(error: BaseException) -> str | None:
    """Return a message for an invalid value, or None if the error does not come from pydantic."""
    details = getattr(error.__cause__, "errors", None)
    if details is None or type(error.__cause__).__name__ != "ValidationError":
        return None
    [first, *_] = details(include_url=False)
    return _problem(first)


def _problem(detail: Mapping[str, Any]) -> str:
    kind, value = detail["type"], detail["input"]
    if kind in _BOUNDS:
        name, problem, wanted = _BOUNDS[kind]
        bound = detail["ctx"][name]
        shown = f"{bound:g}" if isinstance(bound, float) else str(bound)
        return f"{value} is {problem}: give {wanted.format(shown)}"
    for prefix, wanted in _KINDS.items():
        if kind.startswith(prefix):
            return f"{value!r} is not {wanted}: give one" if prefix != "bool" else f"{value!r} is not {wanted}"
    return str(detail["msg"]).removeprefix("Value error, ").removesuffix(".")
