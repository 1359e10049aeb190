"""What an address asks for. All state of the viewer is in addresses, so every one of them can be shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from formalimg.runs import ImageFilter

_MAX_NUMBER = 2**31
"""Larger numbers are no level, sample or page."""

_OUTCOMES = ("pass", "fail", "unscored")


class ViewState(NamedTuple):
    """A view at a run: whose verdicts, and which images.

    Attributes:
        run: the run's name.
        judge: the number of the judge; None for the one that looked last.
        filter: the images to be shown.
    """

    run: str
    judge: int | None
    filter: ImageFilter

    def url(self, path: str, **changes: object) -> str:
        """The address of this view at another page, perhaps with something changed; `None` takes something out."""
        known: dict[str, object] = {"run": self.run, "judge": self.judge, **self.filter._asdict()}
        return build_url(path, **{**known, **changes})


def build_url(path: str, **values: object) -> str:
    """An address with a query; values that are None or empty are left out."""
    query = [(name, str(value)) for name, value in values.items() if value is not None and value != ""]
    return f"{path}?{urlencode(query, errors='replace')}" if query else path


def parse_view_state(request: Request) -> ViewState:
    """What a request asks to view at.

    Raises:
        HTTPException: if it names no run, or something in it is not understood.
    """
    query = request.query_params
    outcome = query.get("outcome") or None
    if outcome not in (None, *_OUTCOMES):
        raise HTTPException(400, f"there is no outcome {outcome!r}: it is pass, fail or unscored")
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
        ),
    )


def require_value(query: Mapping[str, str], name: str) -> str:
    """A value that must be there."""
    if not query.get(name):
        raise HTTPException(400, f"the address names no {name}")
    return query[name]


def parse_number(query: Mapping[str, str], name: str) -> int | None:
    """A whole number from 0, if there is one."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:12]) < _MAX_NUMBER and len(text) < 12):
        raise HTTPException(400, f"the {name} in the address is no number: {text[:40]!r}")
    return int(text)
