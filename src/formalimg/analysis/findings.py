"""What is wrong with a table of votes, labels or scores, and on which lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError

_SHOWN = 50


class SheetError(FormalimgError, ValueError):
    """A table that cannot be used; `findings` says what is wrong and where, one line each."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        more = len(self.findings) - _SHOWN
        super().__init__("\n".join([*self.findings[:_SHOWN], *([f"(and {more} more)"] if more > 0 else [])]))

    def __reduce__(self) -> tuple[type[SheetError], tuple[tuple[str, ...]]]:
        return type(self), (self.findings,)


class Finding(NamedTuple):
    """A mistake, and the line that it is on; 0 if it is none of a line."""

    line: int
    message: str


def tell(findings: Iterable[Finding], file: str = "") -> list[str]:
    """A line of text for each mistake, in the order of the table; the same mistake on several lines is told once.

    Args:
        findings: the mistakes.
        file: the table; empty for rows that come from no file that is known.
    """
    lines: dict[str, list[int]] = {}
    for line, message in sorted(findings, key=lambda finding: finding.line):
        lines.setdefault(message, []).append(line)
    where = {message: _where(those, file) for message, those in lines.items()}
    return [truncate(f"{at}: {message}" if at else message, 300, 200) for message, at in where.items()]


def _where(lines: Sequence[int], file: str) -> str:
    if not lines[0]:
        return file
    more = f" (and {len(lines) - 1} more line{'s' * (len(lines) > 2)})" if len(lines) > 1 else ""
    return f"{f'{file}:' if file else 'line '}{lines[0]}{more}"
