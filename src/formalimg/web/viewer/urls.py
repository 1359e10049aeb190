"""Parse and build URLs of the viewer, which contain all of its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from formalimg.runs.queries import ImageFilter

_MAX_NUMBER = 2**31  # larger numbers are never a level, sample or page
_OUTCOMES = ("pass", "fail", "unscored")
_MARKS = ("disagreement", "dropped")


class ViewState(NamedTuple):
    """The view that a URL selects: a run, one of its judges, and an image filter."""

    run: str
    judge: int | None  # the number of the judge; None for the last one
    filter: ImageFilter

    def url(self, path: str, **changes: object) -> str:
        """Return the URL of another page in this state, with keywords overriding values and None removing them."""
        values: dict[str, object] = {"run": self.run, "judge": self.judge, **self.filter._asdict()}
        return build_url(path, **{**values, **changes})


def build_url(path: str, **values: object) -> str:
    """Build a URL with a query, omitting values that are None or empty."""
    query = [(name, str(value)) for name, value in values.items() if value is not None and value != ""]
    return f"{path}?{urlencode(query, errors='replace')}" if query else path


def history_url(suite: str, item: str, run: str) -> str:
    """Return the URL of an item's history page, with the run that identifies the item."""
    return build_url(f"/items/{quote(suite, safe='')}/{quote(item, safe='', errors='replace')}", run=run)


def parse_view_state(request: Request) -> ViewState:
    """Parse the view state of a request."""
    query = request.query_params
    outcome = query.get("outcome") or None
    if outcome not in (None, *_OUTCOMES):
        raise HTTPException(400, f"unknown outcome {outcome!r}: choose pass, fail or unscored")
    mark = query.get("mark") or None
    if mark not in (None, *_MARKS):
        raise HTTPException(400, f"unknown mark {mark!r}: choose disagreement or dropped")
    return ViewState(
        require_value(query, "run"),
        parse_number(query, "judge"),
        ImageFilter(
            parse_number(query, "level"),
            outcome,  # type: ignore[arg-type]  # checked above
            query.get("kind", ""),
            query.get("word", ""),
            query.get("text", "").strip(),
            query.get("about", ""),
            mark,  # type: ignore[arg-type]  # checked above
        ),
    )


def require_value(query: Mapping[str, str], name: str) -> str:
    """Return a query value, or raise an HTTPException if it is missing."""
    if not query.get(name):
        raise HTTPException(400, f"the URL names no {name}")
    return query[name]


def parse_number(query: Mapping[str, str], name: str) -> int | None:
    """Return a query value as a non-negative integer, or None if it is missing."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:12]) < _MAX_NUMBER and len(text) < 12):
        raise HTTPException(400, f"the {name} in the URL is not a number: {text[:40]!r}")
    return int(text)
