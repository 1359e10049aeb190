"""Text for others to show: messages without control characters, and cells that spreadsheets do not execute."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 and C1 control characters without newline and tab, what changes the direction of text, and line separators."""


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Return the text with control characters written out, such as `\x1b`, so that no terminal obeys them.

    Characters beyond ASCII are written as JSON writes them, so that JSON stays the same data.

    Args:
        text: a text that somebody else may have written.
        one_line: whether newlines and tabs are written out as well, as for a cell of a table.
    """
    if text.isprintable():  # nearly all texts
        return text
    text = _CONTROLS.sub(_written_out, text)
    return text.replace("\n", "\\n").replace("\t", "\\t") if one_line else text


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if found[0] == "\r":
        return "\\r"
    return f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}"


_EXECUTED = re.compile(r"'*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet takes for a formula, or that has been quoted for that."""


def csv_cell(value: object) -> object:
    """Return a cell for a CSV file; text that a spreadsheet would execute has an apostrophe in front.

    Numbers stay numbers, also as text. `read_csv_cell` takes the apostrophe off again.
    """
    if not isinstance(value, str) or not _EXECUTED.match(value) or _is_number(value):
        return value
    return f"'{value}"


def read_csv_cell(text: str) -> str:
    """Return the text of a cell that `csv_cell` may have put an apostrophe in front of."""
    return text[1:] if text.startswith("'") and _EXECUTED.match(text) else text


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None


def truncate(message: str, head: int, tail: int) -> str:
    """Return the message on one line, cut in the middle to `head` + `tail` characters, without control characters.

    Messages quote what users and servers sent, which may be endless or hold terminal escapes.
    """
    if len(message) > head + tail:
        message = f"{message[:head]}…{message[-tail:]}"
    return "".join(character if character.isprintable() else "·" for character in message)
