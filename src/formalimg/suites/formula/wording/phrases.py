"""Noun phrases and what is said behind the verb."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.suites.formula.wording.description import Part, is_relation
from formalimg.suites.formula.wording.lexicon import PARTICULAR, PRONOUNS, Lexicon, Pronoun, many_of
from formalimg.suites.formula.wording.naming import Chance, Name


class Phrase(NamedTuple):
    """A noun phrase, and whether it takes "are"."""

    text: str
    many: bool = False


class Said(NamedTuple):
    """Something said of a subject, and its kind: class, like, where, size, doing or open."""

    text: str
    kind: str


def listed(items: list[str]) -> str:
    """The items as a list: "a", "a and b", "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def with_article(text: str) -> str:
    """The text behind "a" or "an"."""
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


class Phrasing:
    """Puts names and parts into words, and keeps in mind which things have been introduced."""

    def __init__(self, lexicon: Lexicon, names: dict[str, Name], chance: Chance) -> None:
        self.lexicon = lexicon
        self.names = names
        self.chance = chance
        self.known: set[str] = set()
        self.ruled: set[str] = set()
        self._taste = chance.below(2)

    def thing(self, thing: str) -> Phrase:
        """The thing as it is called here: "a red cup" the first time, then "the cup"."""
        name = self.names[thing]
        if thing in self.known:
            return self._definite(name)
        if name.number is not None:
            others = [self.names[other] for other in self.known if self.names[other].noun is name.noun]
            before = sum(other.number is not None for other in others)
            name.mark = self.lexicon.ordinals[name.number + before]
        self.known.add(thing)
        return Phrase(with_article(self._core(name)) + self._clause(name))

    def things(self, things: list[str]) -> Phrase:
        """Several things in a list."""
        phrases = [self.thing(thing) for thing in things]
        return Phrase(listed([phrase.text for phrase in phrases]), len(phrases) > 1 or phrases[0].many)

    def every(self, thing: str) -> str:
        """The phrase for every thing of a rule: "every red cup that is not above the plate"."""
        self.known.add(thing)
        self.ruled.add(thing)
        return f"every {self._core(self.names[thing])}{self._clause(self.names[thing])}"

    def all_of(self, thing: str) -> str:
        """The same in the plural: "all red cups"."""
        self.known.add(thing)
        name = self.names[thing]
        counted = [many_of(name.noun.measure)] if name.noun.measure else []
        return " ".join(["all", *counted, *self._adjectives(name), name.noun.plural])

    def pronoun(self, thing: str) -> Pronoun:
        """The pronoun for a thing; the thing of a rule is one pair, not many jeans."""
        name = self.names[thing]
        many = name.noun.many and not name.mark and thing not in self.ruled
        return PRONOUNS["they" if many else name.noun.pronoun]

    def _core(self, name: Name) -> str:
        words = [name.mark, name.noun.measure, *self._adjectives(name), name.noun.text]
        return " ".join(word for word in words if word)

    def _adjectives(self, name: Name) -> list[str]:
        return [" or ".join(adjective.before or "" for adjective in group) for group in name.adjectives]

    def _clause(self, name: Name) -> str:
        if not name.clause:
            return ""
        return f" {name.noun.who} is {self.sayings([claim.parts for claim in name.clause])}"

    def _definite(self, name: Name) -> Phrase:
        article = "that" if name.mark == PARTICULAR else "the"
        telling = name.telling.before if name.telling else None
        words = [article, name.mark, name.noun.measure if name.mark else None, telling, name.noun.text]
        return Phrase(" ".join(word for word in words if word), name.noun.many and not name.mark)

    # --- behind the verb

    def sayings(self, sayings: list[tuple[Part, ...]], it: str | None = None, *, verb: str | None = None) -> str:
        """What is said, as a list.

        Args:
            sayings: each one part, or several of which one holds.
            it: what a pronoun stands for at first; then it stands for the thing named last.
            verb: the words between two sayings of different kinds, such as "and is"; None inside a noun phrase.
        """
        if verb is not None and _same_relation(sayings, it):
            first, second = (saying[0] for saying in sayings)
            return f"{self.part(first)} and {self.thing(second.rest[0]).text}"
        spoken: list[Said] = []
        left = list(sayings)
        for corner in self.lexicon.corners:
            pair = [(Part(place, ()),) for place in corner.places]
            if all(saying in left for saying in pair):
                left = [saying for saying in left if saying not in pair]
                spoken.append(Said(corner.phrase, "where"))
        for saying in left:
            if len(saying) > 1:
                spoken.append(Said("either " + " or ".join(self.part(part) for part in saying), "open"))
            elif not is_relation(saying[0]):
                spoken.append(Said(self.part(saying[0]), self._kind_of(saying[0])))
            else:
                thing = saying[0].rest[0]
                pronoun = self.pronoun(thing) if thing == it else None
                spoken.append(Said(self.part(saying[0], pronoun), self._kind_of(saying[0])))
                it = thing
        spoken.sort(key=lambda said: said.kind != "class")
        if len(spoken) == 2 and spoken[0].kind != spoken[1].kind:
            return f"{spoken[0].text} {verb or 'and'} {spoken[1].text}"
        return listed([said.text for said in spoken])

    def _kind_of(self, part: Part) -> str:
        if part.predicate in self.lexicon.relations:
            return self.lexicon.relations[part.predicate].kind
        if part.predicate in self.lexicon.places:
            return "where"
        return "class" if part.predicate == "Is" else "like"

    def part(self, part: Part, pronoun: Pronoun | None = None) -> str:
        """One part: "not red", "above the cup", "to its left"."""
        denied = "" if part.positive else "not "
        if part.predicate == "Is":
            return denied + with_article(self._class(part.rest[0]))
        if not part.rest:
            return denied + self.phrase_for(part.predicate)
        if not is_relation(part):
            return denied + self.lexicon.adjectives[part.predicate, part.rest[0]].after
        relation = self.lexicon.relations[part.predicate]
        if pronoun and relation.near:
            return denied + relation.near.format(it=pronoun.it, its=pronoun.its)
        return f"{denied}{self.phrase_for(part.predicate)} {pronoun.it if pronoun else self.thing(part.rest[0]).text}"

    def phrase_for(self, predicate: str) -> str:
        """The phrase of a relation or place: always the same in one text, so that no difference seems meant."""
        relation = self.lexicon.relations.get(predicate)
        phrases = relation.phrases if relation else self.lexicon.places[predicate]
        return phrases[self._taste % len(phrases)]

    def _class(self, word: str) -> str:
        noun = self.lexicon.nouns[word]
        return f"{noun.measure} {noun.text}" if noun.measure else noun.text


def _same_relation(sayings: list[tuple[Part, ...]], it: str | None) -> bool:
    """Are these two things that the subject is to in the same way: "above the cup and the plate"?"""
    parts = [saying[0] for saying in sayings if len(saying) == 1 and saying[0].positive and is_relation(saying[0])]
    if len(sayings) != 2 or len(parts) != 2 or it in (parts[0].rest[0], parts[1].rest[0]):
        return False
    return parts[0].predicate == parts[1].predicate
