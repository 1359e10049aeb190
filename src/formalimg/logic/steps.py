"""How much work one question about a formula may take: counted, so that it ends the same way on every machine."""

from __future__ import annotations

MAX_STEPS = 40_000_000
"""The most steps that are taken for one question: about half a minute, as most steps take about half a microsecond."""


class OutOfStepsError(Exception):
    """A question would take more than MAX_STEPS. Never leaves this package."""


class Steps:
    """The steps that are left for one question.

    Attributes:
        left: how many. Whoever takes a few may subtract them here; whoever takes many calls `take`.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def take(self, steps: int) -> None:
        """Take some steps.

        Raises:
            OutOfStepsError: if more have been taken than there were.
        """
        self.left -= steps
        if self.left < 0:
            raise OutOfStepsError
