"""Everything that is wrong with the items in some files, each finding on a line of its own."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError

MOST_FINDINGS = 20
"""Reading stops after this many findings: whoever has so many needs no more of them."""


class ItemsError(FormalimgError, ValueError):
    """Items that cannot be read or written; `findings` says what is wrong and where, one line each."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        shown = list(self.findings[:MOST_FINDINGS])
        if len(self.findings) >= MOST_FINDINGS:
            shown.append(f"(stopped after {MOST_FINDINGS} problems)")
        super().__init__("\n".join(shown))

    def __reduce__(self) -> tuple[type[ItemsError], tuple[tuple[str, ...]]]:
        return type(self), (self.findings,)


class Findings:
    """Collects findings; raises them all once there are too many, or at the end."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, where: str, message: str) -> None:
        """Note that something is wrong at a place: a file, or a file and a line."""
        self._found.append(truncate(f"{where}: {message}", 200, 200))
        if len(self._found) >= MOST_FINDINGS:
            raise ItemsError(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def raise_any(self) -> None:
        """Raise what was found, if anything was."""
        if self._found:
            raise ItemsError(self._found)
