"""What cannot be scored, and which pair it was given for."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.logic import FormulaError, Problem


class PairError(FormalimgError):
    """A pair that cannot be scored, for what was given with its image.

    Attributes:
        place: the pair's place among all that were given, from 0.
        told: what is wrong, without the place.
        problems: what is wrong with its formula, if that is what is wrong.
    """

    def __init__(self, place: int, why: FormalimgError) -> None:
        """A pair, and what went wrong with it."""
        self._why = why
        self.problems: tuple[Problem, ...] = tuple(why.problems) if isinstance(why, FormulaError) else ()
        self.place, self.told = place, str(self.problems[0] if self.problems else why)
        super().__init__(f"pair {place}: {self.told}")

    def __reduce__(self) -> tuple[type[PairError], tuple[int, FormalimgError]]:
        return type(self), (self.place, self._why)  # survives the way between processes
