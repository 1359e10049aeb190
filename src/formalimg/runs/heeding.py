"""Models and judges that may have to wait before they begin: they need not begin if the run is stopped meanwhile."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from formalimg.runs.progress import Progress


@runtime_checkable
class Heeds(Protocol):
    """A model or a judge that looks whether a run is stopped before it begins with what it was asked for."""

    def heed(self, progress: Progress) -> None:
        """Look there from now on, and raise `NotStartedError` in place of beginning."""
        ...


class NotStartedError(Exception):
    """The run was stopped before anything was done for what was asked: it is left for when the run goes on."""


def let_heed(progress: Progress, *parties: object) -> None:
    """Let those of the parties that heed it look there."""
    for party in parties:
        if isinstance(party, Heeds):
            party.heed(progress)
