"""Plan sentences: choose which claims share a clause and order the clauses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias

from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    Disjunction,
    ObjectClaim,
    claim_objects,
    is_relation,
)
from formalimg.language.lexicon import SuiteLexicon
from formalimg.language.naming import HashRng

MAX_PROPERTIES = 3  # of one subject in one sentence


class Enumeration(NamedTuple):
    """A clause that lists objects as present."""

    objects: list[str]


@dataclass
class Statement:
    """A clause that assigns properties to subjects. A single subject may also have neighbours."""

    subjects: list[str]
    properties: list[tuple[ClaimPart, ...]]
    neighbors: list[ObjectClaim] = field(default_factory=list)


class Ordering(NamedTuple):
    """A sequence of objects, with the relations of each to the next and to the previous object.

    The relations include a directed one such as LeftOf, or consist of a single alignment, which implies no order.
    """

    objects: list[str]
    to_next: list[str]
    to_previous: list[str]


class AlignedGroup(NamedTuple):
    """Objects that are pairwise related, with each pair in list order."""

    objects: list[str]
    predicate: str


Clause: TypeAlias = Enumeration | Statement | Ordering | AlignedGroup | Disjunction | CountedObjects


def objects_in(clause: Clause) -> list[str]:
    """Return the objects that a clause mentions, in order of appearance."""
    match clause:
        case Enumeration(objects) | Ordering(objects) | AlignedGroup(objects):
            return objects
        case Disjunction(claims):
            return [obj for claim in claims for obj in claim_objects(claim)]
        case CountedObjects():
            inside = {clause.variable, *clause.body.objects}
            return [obj for claim in clause.body.claims for obj in claim_objects(claim) if obj not in inside]
        case Statement(subjects, properties, neighbors):
            objects = [obj for prop in properties for part in prop if is_relation(part) for obj in part.rest]
            return [*subjects, *objects, *(claim.subject for claim in neighbors)]


def prerequisites(clause: Clause, with_clause: set[str]) -> list[str]:
    """Return the objects that must be introduced before the clause to avoid ambiguity.

    An object must not be introduced under "not" or "or". After an object with a relative clause, the rest of the
    sentence would appear to belong to that clause.
    """
    match clause:
        case Disjunction():
            return objects_in(clause)
        case Statement(_, properties, neighbors):
            is_alone = len(properties) == 1 and not neighbors
            return [
                obj
                for prop in properties
                for part in prop
                if is_relation(part)
                for obj in part.rest
                if len(prop) > 1 or not part.positive or (obj in with_clause and not is_alone)
            ]
        case _:
            return []


@dataclass(frozen=True)
class Planner:
    """Plans the clauses of a block."""

    lexicon: SuiteLexicon
    rng: HashRng
    with_clause: set[str]  # objects whose introduction carries a relative clause
    never_neighbors: set[str]  # objects that are never introduced by "has a cup to its left"

    def plan(
        self,
        claims: Iterable[ObjectClaim],
        disjunctions: Iterable[Disjunction],
        objects: Iterable[str],
        introduced: Iterable[str],
        *,
        rule_objects: Iterable[str] | None = None,
    ) -> list[Clause]:
        """Return clauses that express all claims and introduce all new objects.

        If `rule_objects` are given, each clause continues from one of them, so that it clearly belongs to the rule.
        """
        remaining = list(claims)
        clauses = [*self._take_groups(remaining), *self._take_orderings(remaining), *self._take_shared(remaining)]
        subjects = list(dict.fromkeys(claim.subject for claim in remaining))
        for subject in subjects:
            properties = [claim.parts for claim in remaining if claim.subject == subject]
            clauses += [Statement([subject], portion) for portion in self.split_properties(properties)]
        order = {obj: index for index, obj in enumerate([*objects, *subjects])}
        clauses.sort(key=lambda clause: min(order.get(obj, 0) for obj in objects_in(clause)[:1]))
        anchors = None if rule_objects is None else set(rule_objects)
        return self._order([*clauses, *disjunctions], list(objects), set(introduced), anchors)

    # --- claims that share a clause

    def _take_groups(self, claims: list[ObjectClaim]) -> list[Clause]:
        """Remove groups of aligned objects from the claims and return them as clauses."""
        groups: list[Clause] = []
        for predicate, relation in self.lexicon.relations.items():
            pairs = _pairs(claims, predicate) if relation.group else []
            while pairs:
                objects = list(pairs[0])
                for candidate in dict.fromkeys(second for _, second in pairs):
                    if candidate not in objects and all((obj, candidate) in pairs for obj in objects):
                        objects.append(candidate)
                members = list(combinations(objects, 2))
                pairs = [pair for pair in pairs if pair not in members]
                if len(objects) > 2:
                    _take(claims, predicate, members)
                    groups.append(AlignedGroup(objects, predicate))
        return groups

    def _take_orderings(self, claims: list[ObjectClaim]) -> list[Clause]:
        """Remove sequences of related objects from the claims and return them as clauses."""
        orderings: list[Clause] = []
        ordered = {name: relation for name, relation in self.lexicon.relations.items() if relation.ordered}
        for predicate, relation in ordered.items():
            for objects in _paths(_pairs(claims, predicate)):
                if relation.back:
                    objects = objects[::-1]
                links = list(pairwise(objects))
                back = [(second, first) for first, second in links]
                if not any(set(pairs) <= set(_pairs(claims, predicate)) for pairs in (links, back)):
                    continue
                to_next, to_previous = [], []
                for name in ordered if relation.sweep is not None else (predicate,):
                    pairs = set(_pairs(claims, name))
                    if set(links) <= pairs:
                        to_next.append(name)
                        _take(claims, name, links)
                    elif set(back) <= pairs:
                        to_previous.append(name)
                        _take(claims, name, back)
                orderings.append(Ordering(objects, to_next, to_previous))
        return orderings

    def _take_shared(self, claims: list[ObjectClaim]) -> list[Clause]:
        """Remove properties shared by several subjects from the claims and return them as clauses."""
        shared: dict[tuple[str, ...], list[tuple[ClaimPart, ...]]] = {}
        for parts in dict.fromkeys(claim.parts for claim in claims):
            subjects = tuple(claim.subject for claim in claims if claim.parts == parts)
            if 1 < len(subjects) < 5 and (parts[0].positive or len(parts) > 1):
                claims[:] = [claim for claim in claims if claim.parts != parts]
                shared.setdefault(subjects, []).append(parts)
        return [
            Statement(list(subjects), portion)
            for subjects, properties in shared.items()
            for portion in self.split_properties(properties)
        ]

    def split_properties(self, properties: list[tuple[ClaimPart, ...]]) -> list[list[tuple[ClaimPart, ...]]]:
        """Sort properties and split them into portions of similar size, keeping corner positions together."""
        units: list[list[tuple[ClaimPart, ...]]] = [[prop] for prop in self._sort(properties)]
        for places in self.lexicon.corners.values():
            pair = [[(ClaimPart(name, ()),)] for name in places]
            if all(unit in units for unit in pair):
                units = [[prop for unit in pair for prop in unit], *(unit for unit in units if unit not in pair)]
        size = max(-(-len(units) // max(-(-len(units) // MAX_PROPERTIES), 1)), 1)
        portions = [units[start : start + size] for start in range(0, len(units), size)]
        return [[prop for unit in portion for prop in unit] for portion in portions]

    def _sort(self, properties: list[tuple[ClaimPart, ...]]) -> list[tuple[ClaimPart, ...]]:
        """Sort properties: affirmed before negated before alternatives, with actions last."""
        objects = list(dict.fromkeys(part.rest[0] for prop in properties for part in prop if is_relation(part)))

        def key(prop: tuple[ClaimPart, ...]) -> tuple[int, bool, bool, int]:
            part = prop[0]
            certainty = 2 if len(prop) > 1 else 0 if part.positive else 1
            is_action = is_relation(part) and self.lexicon.relations[part.predicate].kind == "doing"
            return (
                certainty,
                part.predicate != "Is",
                is_action,
                objects.index(part.rest[0]) + 1 if is_relation(part) else 0,
            )

        return sorted(properties, key=key)

    # --- the order

    def _order(
        self, clauses: list[Clause], objects: list[str], introduced: set[str], anchors: set[str] | None
    ) -> list[Clause]:
        """Order clauses so that each continues from known objects, and introduce any remaining objects."""
        mentioned = {obj for clause in clauses for obj in objects_in(clause)}
        ordered: list[Clause] = []
        if unmentioned := [obj for obj in objects if obj not in introduced | mentioned]:
            ordered.append(Enumeration(unmentioned))
            introduced.update(unmentioned)
        while clauses:
            recent = objects_in(ordered[-1]) if ordered else []
            clause = self._take_next(
                clauses, introduced, recent, introduced if anchors is None else introduced & anchors
            )
            if missing := [
                obj for obj in dict.fromkeys(prerequisites(clause, self.with_clause)) if obj not in introduced
            ]:
                ordered.append(Enumeration(missing))
                introduced.update(missing)
            clause = self._add_neighbors(clause, clauses, introduced)
            introduced.update(objects_in(clause))
            if not ordered or not self._move_neighbors(clause, ordered[-1]):
                ordered.append(clause)
        return ordered

    def _take_next(self, clauses: list[Clause], introduced: set[str], recent: list[str], anchors: set[str]) -> Clause:
        """Remove and return the clause that best continues the text.

        Clauses about an anchor that require no unknown objects are preferred, then clauses with the subject of the
        previous clause, then those about its last object.
        """

        def strangeness(index: int) -> tuple[bool, bool, int, int]:
            clause = clauses[index]
            is_unready = any(obj not in introduced for obj in prerequisites(clause, self.with_clause))
            subject = clause.subjects[0] if isinstance(clause, Statement) and len(clause.subjects) == 1 else None
            distance = 0 if subject in recent[:1] else 1 if subject in recent[-1:] else 2
            return is_unready, bool(anchors) and not anchors & set(objects_in(clause)), distance, index

        return clauses.pop(min(range(len(clauses)), key=strangeness))

    def _add_neighbors(self, clause: Clause, clauses: list[Clause], introduced: set[str]) -> Clause:
        """Merge clauses about new objects near the subject into its clause ("and has a cup to its left")."""
        if not isinstance(clause, Statement) or not self.rng.likely(35):
            return clause
        claim = self._neighbor_claim(clause, introduced)
        # Text that is added must not appear to belong to a relative clause.
        adds_clause = any(obj in self.with_clause and obj not in introduced for obj in objects_in(clause)[1:])
        if claim and claim.parts[0].rest[0] in introduced:
            subject, properties, neighbors = claim.parts[0].rest[0], [], [claim]
        elif len(clause.subjects) == 1 and len(clause.properties) < 2 and not adds_clause:
            subject, properties, neighbors = clause.subjects[0], clause.properties, []
        else:
            return clause
        for candidate in list(clauses):
            claim = self._neighbor_claim(candidate, introduced | set(objects_in(clause)))
            is_by_subject = claim and claim.parts[0].rest[0] == subject and len(neighbors) < 2
            if claim and is_by_subject and claim in clear_neighbors(self.lexicon, properties, [*neighbors, claim]):
                clauses.remove(candidate)
                neighbors.append(claim)
        return Statement([subject], properties, neighbors)

    def _move_neighbors(self, clause: Clause, previous: Clause) -> bool:
        """Move the neighbours of a clause to the previous clause with the same subject, if possible."""
        if not isinstance(previous, Statement) or not isinstance(clause, Statement):
            return False
        objects = objects_in(previous)[1:]
        if (
            previous.subjects != clause.subjects
            or clause.properties
            or previous.neighbors
            or any(obj in self.with_clause for obj in objects)
            or any(claim.subject in objects for claim in clause.neighbors)
            or len(previous.properties) > 2
            or len(previous.subjects) > 1
            or len(clear_neighbors(self.lexicon, previous.properties, clause.neighbors)) < len(clause.neighbors)
        ):
            return False
        previous.neighbors = clause.neighbors
        return True

    def _neighbor_claim(self, clause: Clause, introduced: set[str]) -> ObjectClaim | None:
        """Return the claim of a clause that only positions a new object relative to another, or None."""
        if not isinstance(clause, Statement) or clause.neighbors:
            return None
        if len(clause.subjects) > 1 or len(clause.properties) != 1:
            return None
        subject, claim = clause.subjects[0], ObjectClaim(clause.subjects[0], clause.properties[0])
        if (
            subject in introduced
            or subject in self.never_neighbors
            or not claim.single
            or not is_relation(claim.single)
        ):
            return None
        return claim if self.lexicon.relations[claim.single.predicate].near else None


def clear_neighbors(
    lexicon: SuiteLexicon, properties: list[tuple[ClaimPart, ...]], neighbors: list[ObjectClaim]
) -> list[ObjectClaim]:
    """Return the neighbours in distinct positions that can be added to a subject without ambiguity.

    For example, "is inside a bus and has a spoon inside it" is rejected because "it" could refer to either object.
    """
    by_relation = {claim.parts[0].predicate: claim for claim in neighbors[::-1]}
    is_unclear = any(is_relation(part) for prop in properties for part in prop)
    return [
        claim
        for predicate, claim in reversed(by_relation.items())
        if not (is_unclear and "{it}" in (lexicon.relations[predicate].near or ""))
    ]


def _pairs(claims: list[ObjectClaim], predicate: str) -> list[tuple[str, str]]:
    return [(c.subject, c.single.rest[0]) for c in claims if c.single and c.single.predicate == predicate]


def _take(claims: list[ObjectClaim], predicate: str, pairs: list[tuple[str, str]]) -> None:
    for subject, obj in pairs:
        claims.remove(ObjectClaim(subject, (ClaimPart(predicate, (obj,)),)))


def _paths(pairs: list[tuple[str, str]]) -> list[list[str]]:
    """Return paths along the pairs with at least three objects. No pair is used twice."""
    paths = []
    while pairs:
        ends = {second for _, second in pairs}
        start = next((first for first, _ in pairs if first not in ends), pairs[0][0])
        path = [start]
        while step := next((pair for pair in pairs if pair[0] == path[-1] and pair[1] not in path), None):
            pairs.remove(step)
            path.append(step[1])
        if len(path) == 1:
            pairs = [pair for pair in pairs if pair[0] != start]
        if len(path) > 2:
            paths.append(path)
    return paths
