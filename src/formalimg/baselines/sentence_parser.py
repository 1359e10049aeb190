"""Reading one sentence, from left to right and without ever looking back: from what stands out to facts.

The method is that of a hasty reader. An object that opens a clause is its subject; what is said next is said of it; a
relation waits for the next object that is named. "Not" and "or" are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

from formalimg.baselines.mentions import Cast, Cue, Mention, Noticed, Unit
from formalimg.baselines.placement import Fact

_JOINTS = ("comma", "joint")
_OPENS_A_CLAUSE = ("verb", "owning", "place", "relation", "relation_to_it", "alignment", "color")


def read_sentence(noticed: Sequence[Noticed], cast: Cast) -> list[Fact]:
    """The facts of a sentence. Objects that it names, and their colours, are added to the cast."""
    reading = _Reading(noticed, cast)
    reading.read()
    return list(dict.fromkeys(reading.facts))


class _Reading:
    """Where the reading of a sentence has got to."""

    def __init__(self, noticed: Sequence[Noticed], cast: Cast) -> None:
        self.noticed = noticed
        self.cast = cast
        self.place = 0
        self.facts: list[Fact] = []
        self.subjects: list[Unit] = []
        self.objects: list[Unit] = []
        """What the clause has named besides its subjects."""
        self.owners: list[Unit] = []
        """Whose surroundings are told: "it" in "has a cup to its left"."""
        self.waiting: list[str] = []
        """Relations whose second object has not been named yet."""
        self.places_in_advance: list[str] = []
        self.relations_in_advance: list[tuple[str, list[Unit]]] = []
        """What was said before its subject: "on the left are a cup and a plate"."""
        self.links: list[tuple[Unit, Unit]] = []
        """Each object of an ordered list with the one that it is compared to."""
        self.sequence: str | None = None

    def read(self) -> None:
        while self.place < len(self.noticed):
            seen = self.noticed[self.place]
            if isinstance(seen, Mention):
                self.read_objects()
            else:
                self.place += 1
                self.read_cue(seen)

    def kind_at(self, place: int) -> str:
        """The kind of what stands at a place."""
        if place >= len(self.noticed):
            return "end"
        seen = self.noticed[place]
        return seen.kind if isinstance(seen, Cue) else "thing"

    # --- objects

    def read_objects(self) -> None:
        """A list of objects: the subjects of a new clause, or what a relation waits for."""
        named = [self.take_object()]
        while (after := self.behind_joints()) > self.place and self.kind_at(after) == "thing":
            self.place = after
            named.append(self.take_object())
        opens = self.kind_at(self.place) in _OPENS_A_CLAUSE
        if not self.waiting:
            self.begin_clause(_each_once(named))
            return
        first, rest = named[:1], _each_once(named[1:])
        relations, self.waiting = self.waiting, []
        if not self.subjects or (not rest and self.is_told_in_advance()):
            self.relations_in_advance += [(relation, first) for relation in relations]
        else:
            self.relate(relations, self.subjects, first)
        self.objects = first
        if rest and opens:
            self.begin_clause(rest)
        elif rest:
            self.relate(relations, self.subjects, rest)
            self.objects = rest[-1:]

    def take_object(self) -> Unit:
        mention = self.noticed[self.place]
        assert isinstance(mention, Mention)
        self.place += 1
        return self.cast.called(mention)

    def behind_joints(self) -> int:
        place = self.place
        while self.kind_at(place) in _JOINTS:
            place += 1
        return place

    def is_told_in_advance(self) -> bool:
        """Does the subject come last: "to the right of the hat is a cup"?"""
        return self.kind_at(self.place) == "verb" and self.kind_at(self.place + 1) == "thing"

    def begin_clause(self, subjects: list[Unit]) -> None:
        self.subjects, self.objects, self.links = subjects, [], []
        self.put(self.places_in_advance, subjects)
        for relation, others in self.relations_in_advance:
            self.relate([relation], subjects, others)
        self.places_in_advance, self.relations_in_advance = [], []
        if self.sequence and len(subjects) > 1:
            self.link(self.sequence, list(pairwise(subjects)))
            self.sequence = None

    # --- what is said of them

    def read_cue(self, cue: Cue) -> None:
        match cue.kind:
            case "place" if self.subjects:
                self.put(cue.meaning, self.subjects)
            case "place":
                self.places_in_advance += cue.meaning
            case "color":
                for unit in self.subjects:
                    self.cast.paint(unit, cue.meaning[0])
            case "relation":
                self.waiting += cue.meaning
            case "relation_to_it":
                self.relate(cue.meaning, self.subjects, self.it())
            case "alignment":
                self.read_alignment(cue.meaning[0])
            case "sequence":
                self.sequence = cue.meaning[0]
            case "it" if self.waiting:
                self.say_to_it()
            case "next" | "before" if self.waiting:
                forward = cue.kind == "next"
                self.links = [(a, b) if forward else (b, a) for a, b in pairwise(self.subjects)]
                self.say_to_it()
            case "owning" | "there" | "with":
                self.owners = (self.objects or self.subjects) if cue.kind == "with" else self.subjects
                self.subjects, self.objects, self.links = [], [], []
            case "which":
                self.subjects, self.objects = self.objects or self.subjects, []

    def read_alignment(self, predicate: str) -> None:
        """Objects are aligned with what is named next, or with each other."""
        if self.kind_at(self.place) == "with":
            self.place += 1
            self.waiting.append(predicate)
        elif self.kind_at(self.place) == "relation":
            self.waiting.append(predicate)
        else:
            together = self.subjects if len(self.subjects) > 1 else [*self.subjects, *self.objects]
            self.link(predicate, list(combinations(together, 2)))

    def say_to_it(self) -> None:
        relations, self.waiting = self.waiting, []
        if self.links:
            for relation in relations:
                self.link(relation, self.links)
        else:
            self.relate(relations, self.subjects, self.it())

    def it(self) -> list[Unit]:
        """What "it" stands for: what the clause has named last besides its subject, or whose surroundings are told."""
        return self.objects or self.owners

    def put(self, places: Iterable[str], subjects: Sequence[Unit]) -> None:
        self.facts += [Fact(place, (obj,)) for place in places for subject in subjects for obj in subject]

    def relate(self, relations: Iterable[str], subjects: Sequence[Unit], others: Sequence[Unit]) -> None:
        for relation in relations:
            self.link(relation, [(subject, other) for subject in subjects for other in others])

    def link(self, predicate: str, links: Iterable[tuple[Unit, Unit]]) -> None:
        for subject, other in links:
            if subject != other:
                self.facts += [Fact(predicate, (one, two)) for one in subject for two in other]


def _each_once(units: Iterable[Unit]) -> list[Unit]:
    return list(dict.fromkeys(units))
