"""Authoring of items with formulas: the size of a run, and the authoring task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from formalimg.benchmarks.authoring.task import Authoring, AuthoringExtent, AuthoringPlan, AuthoringTask
from formalimg.errors import FormalimgError

_USUAL = AuthoringExtent(tuple(range(1, 11)), 200, 6)


class FormulaWriting(Authoring):
    """Authoring of items with formulas: a prompt with a formula, and a check that they agree."""

    def extent(self, name: str, choices: Any, levels: tuple[int, ...], per_level: int) -> AuthoringExtent:
        if not set(levels) <= set(_USUAL.levels):
            raise FormalimgError("levels must lie between 1 and 10, as in --levels 1-10")
        return _USUAL

    def task(self, plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
        from formalimg.benchmarks.formal.authoring.attempts import FormulaAuthoring  # heavy, and plans do without it

        return FormulaAuthoring(plan, prompts)
