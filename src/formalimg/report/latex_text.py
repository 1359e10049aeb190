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
    """Text that LaTeX prints as it stands; two hyphens in a row would become a dash."""
    line = " ".join(text.split())
    return "".join(
        _SPECIAL.get(one, one) + "{}" * (one == after == "-") for one, after in zip(line, f"{line[1:]} ", strict=False)
    )


def table_row(cells: Iterable[str]) -> str:
    """The cells as one row of a table."""
    return rf"    {' & '.join(cells)} \\"
