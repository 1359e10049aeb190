"""Which columns of a table hold words, and which hold figures."""

from __future__ import annotations

import re

from formalimg.reporting.cells import words_in_front
from formalimg.reporting.tables import Table

_A_WORD = re.compile(r"[^\W\d]{2}")


def holds_words(table: Table, column: int) -> bool:
    """Words are set to the left, figures to the right.

    In a table of figures, words stand in front of them. A table whose figures were written out already, as those of
    studies are, has words in its first column and wherever letters stand.
    """
    front = words_in_front(table)
    if front < len(table.heads) or not column:
        return column < front
    return any(_A_WORD.search(str(row.cells[column])) for row in table.rows)
