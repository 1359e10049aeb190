"""What can be measured on the objects of a scene, for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from formalimg.scenes.box import Box
from formalimg.scenes.ranking import Ranking
from formalimg.scenes.rules import RULES_OF_TWO, Measure, PairRule, RankedPair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EXACT = 2**25
"""Sums and areas of whole numbers below this are the same as floats."""

_NUMBERS = frozenset({int, float})


class Measures:
    """The measures of some boxes; each is worked out once, when it is first asked for."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self._boxes = boxes
        self._rankings: dict[Measure, Ranking] = {}
        self._ranked_pairs: dict[str, RankedPair] = {}
        self._arrays: dict[Measure, NDArray[np.float64]] = {}

    def ranked_by(self, measure: Measure) -> Ranking:
        """The boxes by one measure."""
        known = self._rankings.get(measure)
        if known is None:
            known = self._rankings[measure] = Ranking([getattr(box, measure) for box in self._boxes])
        return known

    def ranked_for(self, predicate: str, rule: PairRule) -> RankedPair:
        """The boxes by the two measures that a predicate compares."""
        known = self._ranked_pairs.get(predicate)
        if known is None:
            pair = RankedPair(self.ranked_by(rule.first), self.ranked_by(rule.second))
            known = self._ranked_pairs[predicate] = pair
        return known

    def pairs(self, predicate: str) -> NDArray[np.bool] | None:
        """Where a predicate holds, by first and second box; None if no rule says, or an array would round numbers."""
        rule = RULES_OF_TWO.get(predicate)
        if rule is None or self._columns is None:
            return None
        return rule.pairs(self._array(rule.first), self._array(rule.second))

    def _array(self, measure: Measure) -> NDArray[np.float64]:
        known = self._arrays.get(measure)
        if known is None:
            known = self._arrays[measure] = getattr(self._columns, measure)
        return known

    @cached_property
    def _columns(self) -> Any:
        """All boxes as one, whose numbers are arrays, so that it measures all at once; None if arrays round them."""
        import numpy as np  # here, because most programs that verify never need it

        numbers = list(chain.from_iterable(self._boxes))
        known = _NUMBERS.issuperset(map(type, numbers))
        if not known or min(numbers, default=0) <= -_EXACT or max(numbers, default=0) >= _EXACT:
            return None
        return Box(*np.array(numbers, np.float64).reshape(-1, 4).T)
