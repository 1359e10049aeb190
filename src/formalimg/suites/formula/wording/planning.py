"""The clauses of a text before they have words: what is said together, and of what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from formalimg.suites.formula.wording.description import Claim, Dispute, Part, is_relation
from formalimg.suites.formula.wording.lexicon import Lexicon
from formalimg.suites.formula.wording.naming import Chance


class Listing(NamedTuple):
    """These things are there."""

    things: list[str]


@dataclass
class Statement:
    """All of the subjects are all of this; and the one subject has these things by it."""

    subjects: list[str]
    sayings: list[tuple[Part, ...]]
    by_it: list[Claim] = field(default_factory=list)


class Lineup(NamedTuple):
    """Things in an order, each so related to the next, and so to the one before."""

    things: list[str]
    to_next: list[str]
    to_previous: list[str]


class Group(NamedTuple):
    """Things that are all related to each other; the pairs are those of an earlier one with a later one."""

    things: list[str]
    predicate: str


Clause: TypeAlias = Listing | Statement | Lineup | Group | Dispute


def mentioned(clause: Clause) -> list[str]:
    """The things that a clause speaks of, in the order of its words."""
    match clause:
        case Listing(things) | Lineup(things) | Group(things):
            return things
        case Dispute(claims):
            return [thing for claim in claims for thing in _of_claim(claim)]
        case Statement(subjects, sayings, by_it):
            objects = [thing for saying in sayings for part in saying if is_relation(part) for thing in part.rest]
            return [*subjects, *objects, *(claim.subject for claim in by_it)]


def _of_claim(claim: Claim) -> Iterator[str]:
    yield claim.subject
    for part in claim.parts:
        if is_relation(part):
            yield from part.rest


def needed(clause: Clause, with_clause: set[str]) -> list[str]:
    """The things that must have been introduced before the clause, because "a cup" would be misread inside it.

    Under "not" and "or" a new thing would only be there in part; and behind a thing with a relative clause of its own,
    the rest of the sentence would seem to belong to it.
    """
    match clause:
        case Dispute():
            return mentioned(clause)
        case Statement(_, sayings, by_it):
            alone = len(sayings) == 1 and not by_it
            return [
                thing
                for saying in sayings
                for part in saying
                if is_relation(part)
                for thing in part.rest
                if len(saying) > 1 or not part.positive or (thing in with_clause and not alone)
            ]
        case _:
            return []


MOST_SAYINGS = 3
"""The most that one sentence says of its subject."""


@dataclass(frozen=True)
class Planner:
    """Plans the clauses of a block."""

    lexicon: Lexicon
    chance: Chance
    with_clause: set[str]
    """Things whose introduction carries a relative clause."""
    never_by_it: set[str]
    """Things that no other is said to have by it."""

    def plan(
        self, claims: Iterable[Claim], disputes: Iterable[Dispute], things: Iterable[str], known: Iterable[str]
    ) -> list[Clause]:
        """Clauses that say all claims and introduce all things that are not known yet."""
        left = list(claims)
        clauses: list[Clause] = [*self._groups(left), *self._lineups(left), *self._shared(left)]
        subjects = list(dict.fromkeys(claim.subject for claim in left))
        for subject in subjects:
            sayings = [claim.parts for claim in left if claim.subject == subject]
            clauses += [Statement([subject], portion) for portion in self._portions(in_order(sayings))]
        order = {thing: place for place, thing in enumerate([*things, *subjects])}
        clauses.sort(key=lambda clause: min(order.get(thing, 0) for thing in mentioned(clause)[:1]))
        return self._ordered([*clauses, *disputes], list(things), set(known))

    # --- what is said together

    def _groups(self, left: list[Claim]) -> list[Clause]:
        """Things that are all aligned with each other."""
        found: list[Clause] = []
        for predicate, relation in self.lexicon.relations.items():
            pairs = _pairs(left, predicate) if relation.group else []
            while pairs:
                things = list(pairs[0])
                for candidate in dict.fromkeys(second for _, second in pairs):
                    if candidate not in things and all((thing, candidate) in pairs for thing in things):
                        things.append(candidate)
                members = [(a, b) for place, a in enumerate(things) for b in things[place + 1 :]]
                pairs = [pair for pair in pairs if pair not in members]
                if len(things) > 2:
                    _take(left, predicate, members)
                    found.append(Group(things, predicate))
        return found

    def _lineups(self, left: list[Claim]) -> list[Clause]:
        """Things of which each is related to the next."""
        found: list[Clause] = []
        for predicate in [name for name, relation in self.lexicon.relations.items() if relation.ordered]:
            for things in _paths(_pairs(left, predicate)):
                if self.lexicon.relations[predicate].back:
                    things = things[::-1]
                links = list(pairwise(things))
                back = [(second, first) for first, second in links]
                if not any(set(way) <= set(_pairs(left, predicate)) for way in (links, back)):
                    continue
                to_next, to_previous = [], []
                for name, relation in self.lexicon.relations.items():
                    pairs = set(_pairs(left, name)) if relation.ordered else set()
                    if set(links) <= pairs:
                        to_next.append(name)
                        _take(left, name, links)
                    elif set(back) <= pairs:
                        to_previous.append(name)
                        _take(left, name, back)
                found.append(Lineup(things, to_next, to_previous))
        return found

    def _shared(self, left: list[Claim]) -> list[Clause]:
        """The same said of several subjects."""
        found: list[Clause] = []
        for parts in dict.fromkeys(claim.parts for claim in left):
            subjects = [claim.subject for claim in left if claim.parts == parts]
            if len(subjects) > 1 and (parts[0].positive or len(parts) > 1) and len(subjects) < 5:
                left[:] = [claim for claim in left if claim.parts != parts]
                found.append(Statement(subjects, [parts]))
        return found

    def _portions(self, sayings: list[tuple[Part, ...]]) -> list[list[tuple[Part, ...]]]:
        """The sayings in portions of about the same size; two places that make a corner count as one."""
        units: list[list[tuple[Part, ...]]] = [[saying] for saying in sayings]
        for corner in self.lexicon.corners:
            pair = [[(Part(place, ()),)] for place in corner.places]
            if all(unit in units for unit in pair):
                units = [[saying for unit in pair for saying in unit], *(unit for unit in units if unit not in pair)]
        size = -(-len(units) // -(-len(units) // MOST_SAYINGS))
        portions = [units[place : place + size] for place in range(0, len(units), size)]
        return [[saying for unit in portion for saying in unit] for portion in portions]

    # --- the order

    def _ordered(self, clauses: list[Clause], things: list[str], known: set[str]) -> list[Clause]:
        """The clauses so that each goes on from what is known, with the things introduced that none introduces."""
        spoken = {thing for clause in clauses for thing in mentioned(clause)}
        ordered: list[Clause] = []
        unspoken = [thing for thing in things if thing not in known | spoken]
        if unspoken:
            ordered.append(Listing(unspoken))
            known.update(unspoken)
        while clauses:
            clause = self._next(clauses, known)
            missing = [thing for thing in dict.fromkeys(needed(clause, self.with_clause)) if thing not in known]
            if missing:
                ordered.append(Listing(missing))
            known.update(missing)
            clause = self._with_things_by_it(clause, clauses, known)
            ordered.append(clause)
            known.update(mentioned(clause))
        return ordered

    def _next(self, clauses: list[Clause], known: set[str]) -> Clause:
        """Take the first clause that speaks of something known and needs nothing unknown, or the best instead."""

        def strangeness(place: int) -> tuple[bool, bool, int]:
            clause = clauses[place]
            unready = any(thing not in known for thing in needed(clause, self.with_clause))
            return (unready, bool(known) and not known & set(mentioned(clause)), place)

        return clauses.pop(min(range(len(clauses)), key=strangeness))

    def _with_things_by_it(self, clause: Clause, clauses: list[Clause], known: set[str]) -> Clause:
        """Let a subject have the new things that are on it, beside it, and so on: "and has a cup to its left"."""
        if not isinstance(clause, Statement) or not self.chance.likely(35):
            return clause
        own = self._by_it(clause, known)
        if own and is_relation(own.parts[0]) and own.parts[0].rest[0] in known:
            subject, sayings, by_it = own.parts[0].rest[0], [], [own]
        elif len(clause.subjects) == 1 and len(clause.sayings) < 2 and self._stays_clear(clause, known):
            subject, sayings, by_it = clause.subjects[0], clause.sayings, []
        else:
            return clause
        for other in list(clauses):
            claim = self._by_it(other, known | set(mentioned(clause)))
            if claim and claim.parts[0].rest[0] == subject and len(by_it) < 2:
                clauses.remove(other)
                by_it.append(claim)
        return Statement([subject], sayings, by_it)

    def _stays_clear(self, clause: Statement, known: set[str]) -> bool:
        """Can more be said behind the clause without seeming to belong to a thing with a relative clause?"""
        return not any(thing in self.with_clause and thing not in known for thing in mentioned(clause)[1:])

    def _by_it(self, clause: Clause, known: set[str]) -> Claim | None:
        """The claim of a clause that says nothing but where a new thing is, next to another."""
        if not isinstance(clause, Statement) or len(clause.subjects) > 1 or len(clause.sayings) != 1 or clause.by_it:
            return None
        subject, claim = clause.subjects[0], Claim(clause.subjects[0], clause.sayings[0])
        if subject in known or subject in self.never_by_it or not claim.single or not is_relation(claim.single):
            return None
        return claim if self.lexicon.relations[claim.single.predicate].near else None


def _pairs(claims: list[Claim], predicate: str) -> list[tuple[str, str]]:
    return [(c.subject, c.single.rest[0]) for c in claims if c.single and c.single.predicate == predicate]


def _take(left: list[Claim], predicate: str, pairs: list[tuple[str, str]]) -> None:
    for subject, thing in pairs:
        left.remove(Claim(subject, (Part(predicate, (thing,)),)))


def _paths(pairs: list[tuple[str, str]]) -> list[list[str]]:
    """Paths of three things or more along the pairs, none using a pair twice."""
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


def in_order(sayings: list[tuple[Part, ...]]) -> list[tuple[Part, ...]]:
    """Affirmed before denied before open; places before relations; relations to one thing side by side."""
    seen = list(dict.fromkeys(part.rest[0] for saying in sayings for part in saying if is_relation(part)))

    def key(saying: tuple[Part, ...]) -> tuple[int, int, int]:
        part = saying[0]
        certainty = 2 if len(saying) > 1 else 0 if part.positive else 1
        nominal = 0 if part.predicate == "Is" else 1
        return (certainty, nominal, 1 + seen.index(part.rest[0]) if is_relation(part) else 0)

    return sorted(sayings, key=key)
