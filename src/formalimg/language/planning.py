"""Plan sentences: choose which claims share a clause and order the clauses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
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

MAX_PROPERTIES = 3  # The most that one sentence says of its subject


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


def mentioned_objects(clause: Clause) -> list[str]:
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


def required_objects(clause: Clause, with_clause: set[str]) -> list[str]:
    """Return the objects that must be introduced before the clause to avoid ambiguity.

    An object must not be introduced under "not" or "or". After an object with a relative clause, the rest of the
    sentence would appear to belong to that clause.
    """
    match clause:
        case Disjunction():
            return mentioned_objects(clause)
        case Statement(_, properties, neighbors):
            alone = len(properties) == 1 and not neighbors
            return [
                obj
                for prop in properties
                for part in prop
                if is_relation(part)
                for obj in part.rest
                if len(prop) > 1 or not part.positive or (obj in with_clause and not alone)
            ]
        case _:
            return []


@dataclass(frozen=True)
class Planner:
    """Plans the clauses of a block."""

    lexicon: SuiteLexicon
    rng: HashRng
    with_clause: set[str]
    """Objects whose introduction carries a relative clause."""
    never_neighbors: set[str]
    """Objects that no other is said to have by it."""

    def plan(
        self,
        claims: Iterable[ObjectClaim],
        disjunctions: Iterable[Disjunction],
        objects: Iterable[str],
        known: Iterable[str],
        *,
        rule_objects: Iterable[str] | None = None,
    ) -> list[Clause]:
        """Return clauses that express all claims and introduce all new objects.

        If `rule_objects` are given, each clause continues from one of them, so that it clearly belongs to the rule.
        """
        left = list(claims)
        clauses: list[Clause] = [*self._groups(left), *self._orderings(left), *self._shared(left)]
        subjects = list(dict.fromkeys(claim.subject for claim in left))
        for subject in subjects:
            properties = [claim.parts for claim in left if claim.subject == subject]
            clauses += [Statement([subject], portion) for portion in self.split_properties(properties)]
        order = {obj: place for place, obj in enumerate([*objects, *subjects])}
        clauses.sort(key=lambda clause: min(order.get(obj, 0) for obj in mentioned_objects(clause)[:1]))
        anchors = None if rule_objects is None else set(rule_objects)
        return self._ordered([*clauses, *disjunctions], list(objects), set(known), anchors)

    # --- what is said together

    def _groups(self, left: list[ObjectClaim]) -> list[Clause]:
        """Remove groups of aligned objects from the claims and return them as clauses."""
        found: list[Clause] = []
        for predicate, relation in self.lexicon.relations.items():
            pairs = _pairs(left, predicate) if relation.group else []
            while pairs:
                objects = list(pairs[0])
                for candidate in dict.fromkeys(second for _, second in pairs):
                    if candidate not in objects and all((obj, candidate) in pairs for obj in objects):
                        objects.append(candidate)
                members = [(a, b) for place, a in enumerate(objects) for b in objects[place + 1 :]]
                pairs = [pair for pair in pairs if pair not in members]
                if len(objects) > 2:
                    _take(left, predicate, members)
                    found.append(AlignedGroup(objects, predicate))
        return found

    def _orderings(self, left: list[ObjectClaim]) -> list[Clause]:
        """Remove sequences of related objects from the claims and return them as clauses."""
        found: list[Clause] = []
        for predicate in [name for name, relation in self.lexicon.relations.items() if relation.ordered]:
            for objects in _paths(_pairs(left, predicate)):
                if self.lexicon.relations[predicate].back:
                    objects = objects[::-1]
                links = list(pairwise(objects))
                back = [(second, first) for first, second in links]
                if not any(set(way) <= set(_pairs(left, predicate)) for way in (links, back)):
                    continue
                to_next, to_previous = [], []
                directed = self.lexicon.relations[predicate].sweep is not None
                for name, relation in self.lexicon.relations.items():
                    pairs = set(_pairs(left, name)) if relation.ordered and (directed or name == predicate) else set()
                    if set(links) <= pairs:
                        to_next.append(name)
                        _take(left, name, links)
                    elif set(back) <= pairs:
                        to_previous.append(name)
                        _take(left, name, back)
                found.append(Ordering(objects, to_next, to_previous))
        return found

    def _shared(self, left: list[ObjectClaim]) -> list[Clause]:
        """Remove properties shared by several subjects from the claims and return them as clauses."""
        shared: dict[tuple[str, ...], list[tuple[ClaimPart, ...]]] = {}
        for parts in dict.fromkeys(claim.parts for claim in left):
            subjects = [claim.subject for claim in left if claim.parts == parts]
            if len(subjects) > 1 and (parts[0].positive or len(parts) > 1) and len(subjects) < 5:
                left[:] = [claim for claim in left if claim.parts != parts]
                shared.setdefault(tuple(subjects), []).append(parts)
        return [
            Statement(list(subjects), portion)
            for subjects, properties in shared.items()
            for portion in self.split_properties(properties)
        ]

    def split_properties(self, properties: list[tuple[ClaimPart, ...]]) -> list[list[tuple[ClaimPart, ...]]]:
        """Sort properties and split them into portions of similar size, keeping corner positions together."""
        units: list[list[tuple[ClaimPart, ...]]] = [[prop] for prop in self._sorted(properties)]
        for corner in self.lexicon.corners:
            pair = [[(ClaimPart(place, ()),)] for place in corner.places]
            if all(unit in units for unit in pair):
                units = [[prop for unit in pair for prop in unit], *(unit for unit in units if unit not in pair)]
        size = -(-len(units) // max(-(-len(units) // MAX_PROPERTIES), 1))
        portions = [units[place : place + size] for place in range(0, len(units), max(size, 1))]
        return [[prop for unit in portion for prop in unit] for portion in portions]

    def _sorted(self, properties: list[tuple[ClaimPart, ...]]) -> list[tuple[ClaimPart, ...]]:
        """Sort properties: affirmed before negated before alternatives, with actions last."""
        seen = list(dict.fromkeys(part.rest[0] for prop in properties for part in prop if is_relation(part)))

        def key(prop: tuple[ClaimPart, ...]) -> tuple[int, int, bool, int]:
            part = prop[0]
            certainty = 2 if len(prop) > 1 else 0 if part.positive else 1
            nominal = 0 if part.predicate == "Is" else 1
            does = is_relation(part) and self.lexicon.relations[part.predicate].kind == "doing"
            return (certainty, nominal, does, 1 + seen.index(part.rest[0]) if is_relation(part) else 0)

        return sorted(properties, key=key)

    # --- the order

    def _ordered(
        self, clauses: list[Clause], objects: list[str], known: set[str], anchors: set[str] | None
    ) -> list[Clause]:
        """Order clauses so that each continues from known objects, and introduce any remaining objects."""
        spoken = {obj for clause in clauses for obj in mentioned_objects(clause)}
        ordered: list[Clause] = []
        unspoken = [obj for obj in objects if obj not in known | spoken]
        if unspoken:
            ordered.append(Enumeration(unspoken))
            known.update(unspoken)
        while clauses:
            recent = mentioned_objects(ordered[-1]) if ordered else []
            clause = self._next(clauses, known, recent, known if anchors is None else known & anchors)
            missing = [obj for obj in dict.fromkeys(required_objects(clause, self.with_clause)) if obj not in known]
            if missing:
                ordered.append(Enumeration(missing))
            known.update(missing)
            clause = self._with_neighbors(clause, clauses, known)
            known.update(mentioned_objects(clause))
            if not ordered or not self._takes_neighbors(ordered[-1], clause):
                ordered.append(clause)
        return ordered

    def _next(self, clauses: list[Clause], known: set[str], recent: list[str], anchors: set[str]) -> Clause:
        """Remove and return the clause that best continues the text.

        Clauses about an anchor that require no unknown objects are preferred, then clauses with the subject of the
        previous clause, then those about its last object.
        """

        def strangeness(place: int) -> tuple[bool, bool, int, int]:
            clause = clauses[place]
            unready = any(obj not in known for obj in required_objects(clause, self.with_clause))
            subject = clause.subjects[0] if isinstance(clause, Statement) and len(clause.subjects) == 1 else None
            distance = 0 if subject in recent[:1] else 1 if subject in recent[-1:] else 2
            return (unready, bool(anchors) and not anchors & set(mentioned_objects(clause)), distance, place)

        return clauses.pop(min(range(len(clauses)), key=strangeness))

    def _with_neighbors(self, clause: Clause, clauses: list[Clause], known: set[str]) -> Clause:
        """Merge clauses about new objects near the subject into its clause ("and has a cup to its left")."""
        if not isinstance(clause, Statement) or not self.rng.likely(35):
            return clause
        own = self._neighbors(clause, known)
        if own and is_relation(own.parts[0]) and own.parts[0].rest[0] in known:
            subject, properties, neighbors = own.parts[0].rest[0], [], [own]
        elif len(clause.subjects) == 1 and len(clause.properties) < 2 and self._stays_clear(clause, known):
            subject, properties, neighbors = clause.subjects[0], clause.properties, []
        else:
            return clause
        for other in list(clauses):
            claim = self._neighbors(other, known | set(mentioned_objects(clause)))
            is_by_subject = claim and claim.parts[0].rest[0] == subject and len(neighbors) < 2
            if claim and is_by_subject and claim in clear_neighbors(self.lexicon, properties, [*neighbors, claim]):
                clauses.remove(other)
                neighbors.append(claim)
        return Statement([subject], properties, neighbors)

    def _takes_neighbors(self, before: Clause, clause: Clause) -> bool:
        """Move the neighbours of a clause to the previous clause with the same subject, if possible."""
        if not isinstance(before, Statement) or not isinstance(clause, Statement) or before.subjects != clause.subjects:
            return False
        objects = mentioned_objects(before)[1:]
        is_clear = not before.neighbors and not any(obj in self.with_clause for obj in objects)
        is_repeated = any(claim.subject in objects for claim in clause.neighbors)
        if clause.properties or not is_clear or is_repeated or len(before.properties) > 2 or len(before.subjects) > 1:
            return False
        if len(clear_neighbors(self.lexicon, before.properties, clause.neighbors)) < len(clause.neighbors):
            return False
        before.neighbors = clause.neighbors
        return True

    def _stays_clear(self, clause: Statement, known: set[str]) -> bool:
        """Return whether text can be added to the clause without appearing to belong to a relative clause."""
        return not any(obj in self.with_clause and obj not in known for obj in mentioned_objects(clause)[1:])

    def _neighbors(self, clause: Clause, known: set[str]) -> ObjectClaim | None:
        """Return the claim of a clause that only positions a new object relative to another, or None."""
        if (
            not isinstance(clause, Statement)
            or len(clause.subjects) > 1
            or len(clause.properties) != 1
            or clause.neighbors
        ):
            return None
        subject, claim = clause.subjects[0], ObjectClaim(clause.subjects[0], clause.properties[0])
        if subject in known or subject in self.never_neighbors or not claim.single or not is_relation(claim.single):
            return None
        return claim if self.lexicon.relations[claim.single.predicate].near else None


def clear_neighbors(
    lexicon: SuiteLexicon, properties: list[tuple[ClaimPart, ...]], neighbors: list[ObjectClaim]
) -> list[ObjectClaim]:
    """Return the neighbours in distinct positions that can be added to a subject without ambiguity.

    For example, "is inside a bus and has a spoon inside it" is rejected because "it" could refer to either object.
    """
    by_place = {claim.parts[0].predicate: claim for claim in neighbors[::-1]}
    is_unclear = any(is_relation(part) for prop in properties for part in prop)
    return [
        claim
        for predicate, claim in reversed(by_place.items())
        if not (is_unclear and "{it}" in (lexicon.relations[predicate].near or ""))
    ]


def _pairs(claims: list[ObjectClaim], predicate: str) -> list[tuple[str, str]]:
    return [(c.subject, c.single.rest[0]) for c in claims if c.single and c.single.predicate == predicate]


def _take(left: list[ObjectClaim], predicate: str, pairs: list[tuple[str, str]]) -> None:
    for subject, obj in pairs:
        left.remove(ObjectClaim(subject, (ClaimPart(predicate, (obj,)),)))


def _paths(pairs: list[tuple[str, str]]) -> list[list[str]]:
    """Return paths along the pairs with at least three objects. No pair is used twice."""
    paths = []
    left = list(pairs)
    while left:
        ends = {second for _, second in left}
        start = next((first for first, _ in left if first not in ends), left[0][0])
        path = [start]
        while True:
            step = next((p for p in left if p[0] == path[-1] and p[1] not in path), None)
            if step is None:
                break
            left.remove(step)
            path.append(step[1])
        if len(path) == 1:
            left = [pair for pair in left if pair[0] != start]
        if len(path) > 2:
            paths.append(path)
    return paths
