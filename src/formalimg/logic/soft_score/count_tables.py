"""Tables of counts in a scene: what each is worth, for every choice of objects for its free variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.constraints import Semantics
from formalimg.logic.evaluation import Evaluator
from formalimg.logic.soft_score.clause_index import CountKey, TooManyCountsError
from formalimg.logic.soft_score.earned_credit import CountingObjects
from formalimg.logic.syntax import Count
from formalimg.logic.variables import expand_distinct
from formalimg.logic.world import DistinguishingWorld, OutOfStepsError, World

MAX_COUNT_CELLS = 1_000_000
"""The maximum cells of the table of one count: a hundred objects for each of three free variables."""


class CountTables:
    """What counts are worth in a world, as parts of CREDIT_UNIT.

    Attributes:
        tables: a table for each count; CREDIT_UNIT where it holds, and less where it fails.
    """

    def __init__(
        self,
        world: World,
        style: str | None,
        semantics: Semantics,
        counts: Collection[CountKey],
        counting: CountingObjects,
    ) -> None:
        """Fill the tables of all counts."""
        self._evaluator = Evaluator(DistinguishingWorld(world), semantics, style)
        self._objects = len(world)
        try:
            self.tables = [self._table(key, counting) for key in counts]
        except OutOfStepsError:
            raise TooManyCountsError from None

    def found(self, count: Count, binding: Mapping[str, int]) -> int:
        """Return the objects that a count finds, as a bit set."""
        expanded = _expanded(count)
        free = {name: obj for name, obj in binding.items() if name != count.variable.name}
        return self._evaluator.selected(expanded.variable.name, (), [expanded.body], free)

    def _table(self, key: CountKey, counting: CountingObjects) -> NDArray[np.int64]:
        count, positive, variables, (classes, instances) = key
        if self._objects ** len(variables) > MAX_COUNT_CELLS:
            raise TooManyCountsError
        limits = count.limits(positive)
        table = np.full((self._objects,) * len(variables), limits.credit(0), np.int64)
        if instances and not counting.have_instances(instances):
            return np.zeros_like(table)
        for objects, number in self._evaluator.numbers(_expanded(count), variables).items():
            table[objects] = limits.credit(number)
        for axis, words in enumerate(classes):
            along = np.moveaxis(table, axis, 0)
            for obj in range(self._objects):
                if not counting.of_classes(words) >> obj & 1:
                    along[obj] = 0
        return table


def _expanded(count: Count) -> Count:
    """Return the count with `distinct` said of pairs, as the evaluator needs it."""
    expanded = expand_distinct(count)
    assert isinstance(expanded, Count)
    return expanded
