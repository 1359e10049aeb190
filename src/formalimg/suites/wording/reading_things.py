"""Reading noun phrases: who is spoken of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.suites.wording.description import Claim, Part
from formalimg.suites.wording.lexicon import PARTICULAR, Adjective, Lexicon, Noun, many_of
from formalimg.suites.wording.problem import WordingError
from formalimg.suites.wording.reader import Reader

ARTICLES = ("a", "an", "the", "that particular")


class Core(NamedTuple):
    """A noun phrase without its article."""

    mark: str | None
    measured: bool
    adjectives: tuple[tuple[Adjective, ...], ...]
    noun: Noun


class Known(NamedTuple):
    """A thing that has been introduced, and how it can be called."""

    variable: str
    core: Core


@dataclass
class ThingReader:
    """Reads noun phrases and keeps in mind what has been introduced."""

    reader: Reader
    lexicon: Lexicon
    scope: list[Known]
    given: set[str]

    def starts(self) -> bool:
        """Does a noun phrase come next?"""
        return any(self.reader.sees(article) for article in ARTICLES)

    def definite(self) -> str:
        """The thing that a phrase behind "the" or "that" calls; exactly one must answer to it."""
        core = self.core()
        told = {adjective for group in core.adjectives for adjective in group}
        matches = [
            known.variable
            for known in self.scope
            if known.core.noun is core.noun
            and known.core.mark == core.mark
            and told <= {group[0] for group in known.core.adjectives if len(group) == 1}
        ]
        if len(matches) != 1:
            whom = "nothing" if not matches else "more than one thing"
            raise WordingError(
                f"'the {core.noun.text}' calls {whom} here: introduce each thing once, under its own name"
            )
        return matches[0]

    def introduce(self, core: Core) -> tuple[str, list[Claim]]:
        """A new thing, and what its phrase claims."""
        if core.noun.measure and not core.measured:
            raise WordingError(f"say '{core.noun.measure} {core.noun.text}' where the thing is introduced")
        variable = self._fresh(core.noun)
        self.scope.append(Known(variable, core))
        claims = [Claim(variable, (Part("Is", (core.noun.word,)),))] if core.noun.word else []
        groups = [tuple(Part(a.predicate, (a.word,)) for a in group) for group in core.adjectives]
        return variable, claims + [Claim(variable, parts) for parts in groups]

    def core(self, *, plural: bool = False) -> Core:
        """Ordinal, measure, adjectives and noun."""
        mark = self.reader.take_one_of((PARTICULAR, *self.lexicon.ordinals))
        measured = self._measure(plural)
        fitting = (reading for reading in self._readings((), plural) if measured in (None, reading[1].measure))
        found = next(fitting, None)
        if found is None:
            self.reader.fail("a noun")
        return Core(mark, measured is not None, *found)

    def _readings(
        self, before: tuple[tuple[Adjective, ...], ...], plural: bool
    ) -> Iterator[tuple[tuple[tuple[Adjective, ...], ...], Noun]]:
        """Adjectives and a noun, in every way that the next words allow: "orange" is both. The longest comes first."""
        place = self.reader.place
        group = self._alternatives()
        if group:
            yield from self._readings((*before, group), plural)
            self.reader.place = place
        noun = self.reader.take_meaning(self.lexicon.plurals if plural else self.lexicon.singulars)
        if noun:
            yield before, noun

    def _alternatives(self) -> tuple[Adjective, ...]:
        """One adjective or several: "red or blue"."""
        found: list[Adjective] = []
        place = self.reader.place
        while adjective := self.lexicon.before.get(self.reader.next):
            found.append(adjective)
            place = self.reader.place = self.reader.place + 1
            if not self.reader.take("or"):
                break
        self.reader.place = place
        return tuple(found)

    def _measure(self, plural: bool) -> str | None:
        for measure in self.lexicon.measures:
            if self.reader.take(many_of(measure) if plural else measure):
                return measure
        return None

    def _fresh(self, noun: Noun) -> str:
        stem = (noun.word or noun.text).replace(" ", "_")
        number = 1
        while (name := f"?{stem}" if number == 1 else f"?{stem}_{number}") in self.given:
            number += 1
        self.given.add(name)
        return name
