"""Safe output text: messages and JSON without control characters, CSV cells that are not executed, and pages."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


HIDDEN = "\x7f-\x9f\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
"""Ranges of characters beyond ASCII that are obeyed or not seen, for regular expressions: C1 control characters, line
separators, what overrides the direction of text, what has no width, lone surrogates, and tags. Joiners of letters and
emoji are not among them.
"""

_CONTROLS = re.compile(f"[\0-\x08\x0b-\x1f{HIDDEN}\u061c\u200e\u200f]")
"""All of these, the marks of a direction, and C0 control characters without newline and tab."""


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Return the text with control characters escaped, such as `\x1b`, so that terminals ignore them.

    Characters beyond ASCII are escaped as in JSON, so that escaped JSON remains the same data.
    """
    if text.isprintable():  # nearly all texts
        return text
    text = _CONTROLS.sub(_written_out, text)
    return text.replace("\n", "\\n").replace("\t", "\\t") if one_line else text


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if match[0] == "\r":
        return "\\r"
    if code < 0x20:
        return f"\\x{code:02x}"
    return "\\u007f" if code == 0x7F else json.dumps(match[0])[1:-1]


_EXECUTED = re.compile("'*[=+\\-@\\t\\n\\r\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that a spreadsheet takes for a formula, or that has been quoted for that."""


def csv_cell(value: object) -> object:
    """Return a CSV cell that spreadsheets do not execute, with control characters escaped.

    Text that a spreadsheet would execute gets a leading apostrophe, which `read_csv_cell` removes. Control characters
    are escaped, except for newlines and tabs. Numbers are unchanged, even as text.
    """
    if not isinstance(value, str):
        return value
    text = visible(value.replace("\r\n", "\n"))
    return f"'{text}" if _EXECUTED.match(text) and not _is_number(text) else text


def csv_table(rows: Iterable[Sequence[object]]) -> str:
    """Format rows as CSV, with the header as the first row and every cell converted by `csv_cell`."""
    page = io.StringIO(newline="")
    csv.writer(page, lineterminator="\n").writerows(map(csv_cell, row) for row in rows)
    return page.getvalue()


def read_csv_cell(text: str) -> str:
    """Return the text of a cell without the apostrophe that `csv_cell` adds."""
    return text[1:] if text.startswith("'") and _EXECUTED.match(text) else text


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None


def truncate(message: str, head: int, tail: int) -> str:
    """Return the message on one line, truncated in the middle to `head` + `tail` characters.

    Messages quote text from users and servers, which may be very long or contain terminal escapes.
    """
    if len(message) > head + tail:
        message = f"{message[:head]}…{message[-tail:]}"
    return "".join(character if character.isprintable() else "·" for character in message)


def json_text(data: object, indent: int | None = 2) -> str:
    """Serialize data to JSON with a trailing newline and escaped control characters."""
    return f"{visible(json.dumps(data, indent=indent, ensure_ascii=False))}\n"


def counts_text(counts: Mapping[str, int], shown: int | None = None) -> str:
    """Format values with their counts, most frequent first, optionally limited to the first `shown` values."""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    more = "" if shown is None or len(ordered) <= shown else f", and {len(ordered) - shown} more"
    return ", ".join(f"{value} {count}" for value, count in ordered[:shown]) + more


_FORBIDDEN = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f{HIDDEN}\ufdd0-\ufdef\ufffe\uffff]")


def render_template(package: str, template: str, **values: object) -> Markup:
    """Render a template from the package's `templates/` folder. Values are escaped unless they are markup."""
    from markupsafe import Markup

    return Markup(environment(package).get_template(template).render(values))


@cache
def environment(package: str) -> Environment:
    """Return the Jinja2 environment of a package, in which undefined names raise errors."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )


def printable(text: str) -> str:
    """Replace control characters and characters that are invalid in pages or invisible by a dot."""
    return _FORBIDDEN.sub("·", text)


def _printable(value: object) -> object:
    return printable(value) if type(value) is str else value
