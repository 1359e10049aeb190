"""Graph of the variables that relations link, and the elimination of those that need no table.

A variable with one value left, or with one neighbour, is eliminated by narrowing the domains of its neighbours
(semi-joins). Where relations link variables as a tree, that decides everything, in time linear in their number; that is
so for nearly all instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from formalimg._util.lazy import lazy_property
from formalimg.logic.relations import AtomRelation, Domains, Relation, WorldQuery
from formalimg.logic.world import members

_Neighbours: TypeAlias = dict[str, list[tuple[str, list[Relation]]]]
"""The neighbours of each variable, each with all relations between the two."""


class LinkGraph:
    """The variables that relations of two variables link, without those that were eliminated.

    Attributes:
        degrees: how many neighbours each variable still has; eliminated variables are left out.
    """

    __slots__ = ("_neighbours", "degrees")

    def __init__(self, neighbours: _Neighbours, degrees: dict[str, int]) -> None:
        self._neighbours = neighbours
        self.degrees = degrees

    @classmethod
    def of(cls, relations: Iterable[Relation]) -> LinkGraph:
        """Return the graph of these relations."""
        links: dict[str, dict[str, list[Relation]]] = {}
        for relation in relations:
            first, second = relation.variables
            between = links.setdefault(first, {}).setdefault(second, [])
            between.append(relation)
            links.setdefault(second, {})[first] = between
        return cls(
            {name: [*around.items()] for name, around in links.items()},
            {name: len(around) for name, around in links.items()},
        )

    def copy(self) -> LinkGraph:
        """Return a graph from which variables can be eliminated without a change to this one."""
        return LinkGraph(self._neighbours, self.degrees.copy())

    def eliminate(
        self, bound: Sequence[str], domains: Domains, whole: str | None, query: WorldQuery
    ) -> list[str] | None:
        """Eliminate bound variables with one value or one neighbour, as long as there are any.

        Args:
            bound: the variables that may be eliminated.
            domains: the values of all variables; those of neighbours are narrowed.
            whole: a variable that may lose no value.
            query: the world.

        Returns:
            The bound variables that are left and still linked; None if a variable has no value, or `whole` lost one.
        """
        neighbours, degrees = self._neighbours, self.degrees
        left = set(bound)
        ready = [name for name in bound if degrees.get(name, 0) == 1 or not domains[name] & (domains[name] - 1)]
        while ready:
            name = ready.pop()
            if name not in left:
                continue
            left.remove(name)
            if degrees.pop(name, 0) == 0:
                continue
            values = domains[name]
            is_single = not values & (values - 1)
            for other, relations in neighbours[name]:
                if other not in degrees:
                    continue
                kept = before = domains[other]
                if is_single or len(relations) == 1:
                    for relation in relations:
                        kept = relation.partners(name, values, kept, query)
                else:
                    kept = semi_join(relations, name, other, domains, query)
                if kept != before:
                    if not kept or other == whole:
                        return None
                    domains[other] = kept
                degrees[other] = degree = degrees[other] - 1
                if (degree < 2 or not kept & (kept - 1)) and other in left:
                    ready.append(other)
        return [name for name in bound if name in left and name in degrees] if left else []


class AtomRelations(tuple[AtomRelation, ...]):
    """Relations that the atoms of a formula state: the same in every world, so that their graph is found once."""

    @lazy_property
    def graph(self) -> LinkGraph:
        """The graph before any variable is eliminated: to be copied."""
        return LinkGraph.of(self)


def semi_join(relations: Sequence[Relation], name: str, other: str, domains: Domains, query: WorldQuery) -> int:
    """Return the values of the other variable for which some value of this one satisfies all relations of the two."""
    values, among = domains[name], domains[other]
    if len(relations) == 1:
        return relations[0].partners(name, values, among, query)
    query.take(len(relations) * among.bit_count())
    kept = 0
    for value in members(among):
        fitting = values
        for relation in relations:
            fitting = relation.partners(other, 1 << value, fitting, query)
        if fitting:
            kept |= 1 << value
    return kept
