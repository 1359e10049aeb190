"""Evaluate predicates for a group of scenes as boolean arrays.

The results equal those of `Scene.having` and `Scene.pairs` for each scene. Arrays have the size of the largest scene.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from formalimg.scenes.measures import GroupMeasures
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLOR_PREDICATES = ("Has", "HasColor")


class SceneGroup:
    """Several scenes whose predicates are evaluated together."""

    def __init__(self, scenes: Sequence[Sequence[SceneObject]]) -> None:
        self._scenes = scenes
        self._measures = GroupMeasures([[obj.box for obj in objects] for objects in scenes])

    def pairs(self, predicates: Iterable[str]) -> dict[str, NDArray[np.bool]]:
        """Return the truth tables of binary predicates, by scene, first object and second object.

        Only predicates that are decided from boxes are included, and none if arrays would round the coordinates.
        Entries for absent objects are arbitrary.
        """
        tables = {name: self._measures.pairs(BINARY_RULES[name]) for name in predicates if name in BINARY_RULES}
        return {name: table for name, table in tables.items() if table is not None}

    def sets(self, atoms: Collection[tuple[str, str | None]]) -> NDArray[np.bool] | None:
        """Return the truth tables of unary predicates, by scene, atom and object.

        None if each scene must be queried itself: for attributes other than colours, or if arrays would round numbers.
        """
        predicates = {predicate for predicate, _ in atoms}
        if not predicates.issubset(("Is", *_COLOR_PREDICATES, *UNARY_RULES)) or not self._measures.are_exact:
            return None
        if not predicates.isdisjoint(_COLOR_PREDICATES) and not self._has_only_colors:
            return None
        table = np.empty((len(self._scenes), len(atoms), self._measures.present.shape[1]), np.bool)
        for number, (predicate, word) in enumerate(atoms):
            if predicate in UNARY_RULES:
                table[:, number] = self._rule(predicate)
            else:
                numbers, array = self._labels if predicate == "Is" else self._colors
                table[:, number] = array == numbers.get(word, -1)
        table &= self._measures.present[:, None]
        return table

    def _rule(self, predicate: str) -> NDArray[np.bool]:
        measures, low, high = UNARY_RULES[predicate]
        arrays = [self._measures.array(measure) for measure in measures]
        holds: NDArray[np.bool] = np.logical_and.reduce([(low < array) & (array < high) for array in arrays])
        return holds

    @cached_property
    def _has_only_colors(self) -> bool:
        objects = [obj for scene in self._scenes for obj in scene]
        return not any(obj.material is not None or obj.shape is not None or obj.states for obj in objects)

    @cached_property
    def _labels(self) -> tuple[dict[str | None, int], NDArray[np.intp]]:
        return self._numbered([obj.label for scene in self._scenes for obj in scene])

    @cached_property
    def _colors(self) -> tuple[dict[str | None, int], NDArray[np.intp]]:
        return self._numbered([obj.color for scene in self._scenes for obj in scene])

    def _numbered(self, words: Sequence[str | None]) -> tuple[dict[str | None, int], NDArray[np.intp]]:
        """Number the distinct words, and return the mapping and the array of numbers for all objects."""
        numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
        array = np.full(self._measures.present.shape, -2, np.intp)
        array[self._measures.present] = [numbers[word] for word in words]
        return numbers, array
