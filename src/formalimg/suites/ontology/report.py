"""Collects problems: each once, in the order of the text."""

from __future__ import annotations

from formalimg.logic import Problem
from formalimg.suites.ontology.facts import Fact


class Report:
    """The problems found so far; situations of one formula share facts, and so find the same problem again."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int, str], Problem] = {}

    def add(self, message: str, *facts: Fact) -> None:
        """Report facts that are implausible together, at the place of the last of them."""
        span = max((fact.span for fact in facts), key=lambda place: place.start)
        self._found.setdefault((span.start, span.end, message), Problem("plausibility", message, span))

    def problems(self) -> list[Problem]:
        """All problems, in the order of the text."""
        return [self._found[key] for key in sorted(self._found)]
