"""Reading what stands behind a verb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from formalimg.suites.wording.description import Part
from formalimg.suites.wording.lexicon import PRONOUNS, Lexicon
from formalimg.suites.wording.reader import Reader
from formalimg.suites.wording.reading_things import ARTICLES

_IT = sorted({pronoun.it for pronoun in PRONOUNS.values()})
_ITS = sorted({pronoun.its for pronoun in PRONOUNS.values()})

Sayings = list[tuple[Part, ...]]


@dataclass
class SayingReader:
    """Reads lists of sayings. `thing` reads the noun phrase of an object, `kind` one that only says a class."""

    reader: Reader
    lexicon: Lexicon
    thing: Callable[[], str]
    kind: Callable[[], str]

    def starts(self) -> bool:
        """Does a saying come next, other than "a cup"? Behind "either", a thing begins a clause of its own."""
        place = self.reader.place
        found = self.reader.take("not")
        found = found or (self.reader.take("either") and self.reader.next not in ("the", "that"))
        found = found or self.reader.take_meaning(self.lexicon.corner_phrases) is not None
        found = found or self.reader.take_meaning(self.lexicon.said) is not None or self._near_form() is not None
        found = found or self.reader.take_meaning(self.lexicon.after) is not None
        self.reader.place = place
        return found

    def sayings(self, it: str | None = None, *, verbs: tuple[str, ...] = ()) -> Sayings:
        """A list of sayings. "It" is the given thing at first, then the one that was named last.

        Where verbs are given, they may be repeated in the list: "is red and is above the cup"; and a relation may be
        to several things: "is above the cup and the plate".
        """
        found: Sayings = []
        while True:
            corner = self.reader.take_meaning(self.lexicon.corner_phrases)
            if corner:
                found += [(Part(place, ()),) for place in corner]
            elif self.reader.take("either"):
                found.append(tuple(self._alternatives()))
            else:
                part = self.part(it)
                found.append((part,))
                if part.rest and part.rest[0].startswith("?"):
                    it = part.rest[0]
                    found += self._further_objects(part) if verbs else []
            place = self.reader.place
            joint = self.reader.take_one_of((",", "and"))
            if joint == "and":
                self.reader.take_one_of(verbs)
            if joint is None or not self.starts():
                self.reader.place = place
                return found

    def _further_objects(self, part: Part) -> Sayings:
        """More things that the same relation is to."""
        found: Sayings = []
        while part.positive and any(self.reader.sees(f"and {article}") for article in ARTICLES):
            self.reader.take("and")
            found.append((Part(part.predicate, (self.thing(),)),))
        return found

    def part(self, it: str | None) -> Part:
        """One part: "not red", "above the cup", "to its left"."""
        positive = not self.reader.take("not")
        if self.reader.take_one_of(("a", "an")):
            return Part("Is", (self.kind(),), positive)
        near = self._near_form()
        if near:
            return Part(near, (self._called(it),), positive)
        predicate = self.reader.take_meaning(self.lexicon.said)
        if predicate is not None and predicate in self.lexicon.places:
            return Part(predicate, (), positive)
        if predicate is not None:
            thing = self._called(it) if self.reader.take_one_of(_IT) else self.thing()
            return Part(predicate, (thing,), positive)
        adjective = self.reader.take_meaning(self.lexicon.after)
        if adjective is None:
            self.reader.fail("an attribute, a place or a relation")
        return Part(adjective.predicate, (adjective.word,), positive)

    def relation(self) -> str:
        """The phrase of a relation, without its object."""
        predicate = self.reader.take_meaning(self.lexicon.said)
        if predicate is None or predicate not in self.lexicon.relations:
            self.reader.fail("a relation")
        return predicate

    def _alternatives(self) -> list[Part]:
        parts = [self.part(None)]
        while self.reader.take("or"):
            parts.append(self.part(None))
        return parts

    def _near_form(self) -> str | None:
        """The relation of a form such as "to its left"."""
        for name, relation in self.lexicon.relations.items():
            if relation.near and "{its}" in relation.near:
                forms = [relation.near.format(its=its) for its in _ITS]
                if self.reader.take_one_of(forms):
                    return name
        return None

    def _called(self, it: str | None) -> str:
        if it is None:
            self.reader.fail("a thing that the pronoun can stand for")
        return it
