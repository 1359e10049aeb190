"""The clauses of a text before they have words: what is said together, and of what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from formalimg.suites.wording.description import Claim, Dispute, Part, is_relation


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
