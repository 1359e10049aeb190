"""Words and rows of tables as LaTeX writes them."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import normalize

from formalimg.reporting.figures import INCOMPLETE, NOTHING

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    INCOMPLETE: r"\textdagger{}",
    NOTHING: "--",
    "ε": r"$\varepsilon$",
    "±": r"$\pm$",
    "√": r"$\surd$",
    "−": "$-$",
}


_LETTERS = (set(map(chr, range(0xA1, 0x180))) - set("ĦħĸĿŀŉŦŧſ")) | set("—‘’“”…•€™")
"""What LaTeX has letters for besides ASCII, in the encoding T1 and with any of its engines."""

_RUN_TOGETHER = {"--", "``", "''", ",,", "!`", "?`"}
"""Two signs that LaTeX takes for one: dashes and marks of quotation."""


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands. A sign that it may have no letter for is told by its number, as U+6A21."""
    line = " ".join(normalize("NFC", text).split())
    return "".join(
        _sign(one) + "{}" * (one + after in _RUN_TOGETHER) for one, after in zip(line, f"{line[1:]} ", strict=False)
    )


def _sign(one: str) -> str:
    if one in _SPECIAL:
        return _SPECIAL[one]
    return one if one in _LETTERS or (one.isascii() and one.isprintable()) else f"U+{ord(one):04X}"


def table_row(cells: Iterable[str]) -> str:
    """The cells as one row of a table."""
    row = " & ".join(cells)
    # LaTeX would take either for an option of what ends the row before.
    guard = "{}" if row.startswith(("[", "*")) else ""
    return rf"    {guard}{row} \\"
