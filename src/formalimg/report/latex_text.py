"""Words and rows of tables as LaTeX writes them."""

from __future__ import annotations

from collections.abc import Iterable

from formalimg.report.figures import INCOMPLETE, NOTHING

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


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def table_row(cells: Iterable[str]) -> str:
    """The cells as one row of a table."""
    return rf"    {' & '.join(cells)} \\"
