"""Build noun phrases and the properties that follow a verb."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.language.description import ClaimPart, is_relation
from formalimg.language.lexicon import PARTICULAR, PRONOUNS, Pronoun, SuiteLexicon, plural_measure, shorten_place
from formalimg.language.naming import HashRng, ObjectName


class NounPhrase(NamedTuple):
    """A noun phrase, and whether it takes a plural verb."""

    text: str
    many: bool = False


class PropertyPhrase(NamedTuple):
    """A property in English with its kind: class, like, where, size, doing or open."""

    text: str
    kind: str


class Tail(NamedTuple):
    """The object at the end of a phrase, to which a relative clause can be attached."""

    obj: str
    many: bool


def join_list(items: list[str]) -> str:
    """Join items in English: "a", "a and b", "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def with_article(text: str) -> str:
    """Add "a" or "an" before the text."""
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


class PhraseBuilder:
    """Builds phrases from names and claims, and tracks the objects that have been introduced."""

    def __init__(self, lexicon: SuiteLexicon, names: dict[str, ObjectName], rng: HashRng) -> None:
        self.lexicon = lexicon
        self.names = names
        self.rng = rng
        self.known: set[str] = set()
        self.ruled: set[str] = set()
        self.tail: Tail | None = None
        self.ends_in_list = False
        self._taste = rng.below(2)
        self._framed = False

    def refer(self, obj: str) -> NounPhrase:
        """Refer to an object: "a red cup" the first time, then "the cup"."""
        name = self.names[obj]
        if obj in self.known:
            return self._definite(name)
        if name.number is not None:
            others = [self.names[other] for other in self.known if self.names[other].noun is name.noun]
            before = sum(other.number is not None for other in others)
            name.mark = self.lexicon.ordinals[name.number + before]
        self.known.add(obj)
        return NounPhrase(with_article(self._core(name)) + self._clause(name))

    def refer_all(self, objects: list[str]) -> NounPhrase:
        """Refer to several objects as a list."""
        phrases = [self.refer(obj) for obj in objects]
        return NounPhrase(join_list([phrase.text for phrase in phrases]), len(phrases) > 1 or phrases[0].many)

    def every(self, obj: str) -> str:
        """Return the phrase for the objects of a rule, such as "every red cup that is not above the plate"."""
        self.known.add(obj)
        self.ruled.add(obj)
        return f"every {self._core(self.names[obj])}{self._clause(self.names[obj])}"

    def all_of(self, obj: str) -> str:
        """Return the plural phrase for the objects of a rule, such as "all red cups"."""
        self.known.add(obj)
        name = self.names[obj]
        return f"all {self._plural_core(name)}"

    def counted(self, obj: str, *, singular: bool) -> str:
        """Return the noun of counted objects with adjectives, such as "red cup" or "pairs of black jeans"."""
        name = self.names[obj]
        if singular:
            return self._core(name)
        return self._plural_core(name)

    def pronoun(self, obj: str) -> Pronoun:
        """Return the pronoun of an object. The object of a rule is treated as singular."""
        name = self.names[obj]
        many = name.noun.many and not name.mark and obj not in self.ruled
        return PRONOUNS["they" if many else name.noun.pronoun]

    def subject_pronoun(self, obj: str) -> str:
        """Return the subject pronoun of an object."""
        pronoun = self.pronoun(obj)
        return next(name for name, forms in PRONOUNS.items() if forms is pronoun)

    def _core(self, name: ObjectName) -> str:
        marks = [name.mark] if name.mark else []
        return " ".join([*marks, *self._described(name, name.noun.measure), name.noun.text])

    def _plural_core(self, name: ObjectName) -> str:
        measure = plural_measure(name.noun.measure) if name.noun.measure else None
        return " ".join([*self._described(name, measure), name.noun.plural])

    def _described(self, name: ObjectName, measure: str | None) -> list[str]:
        """Return the words before a noun, such as "pair of red" for jeans or "red piece of" for fruit."""
        measures = [measure] if measure else []
        adjectives = self._adjectives(name)
        return [*measures, *adjectives] if name.noun.many else [*adjectives, *measures]

    def _adjectives(self, name: ObjectName) -> list[str]:
        return [" or ".join(adjective.before or "" for adjective in group) for group in name.adjectives]

    def _clause(self, name: ObjectName) -> str:
        if not name.clause:
            return ""
        return f" {name.noun.who} is {self.join_properties([claim.parts for claim in name.clause])}"

    def _definite(self, name: ObjectName) -> NounPhrase:
        article = "that" if name.mark == PARTICULAR else "the"
        adjective = name.distinguishing.before if name.distinguishing else None
        words = [article, name.mark, name.noun.measure if name.mark else None, adjective, name.noun.text]
        return NounPhrase(" ".join(word for word in words if word), name.noun.many and not name.mark)

    # --- behind the verb

    def join_properties(
        self, properties: list[tuple[ClaimPart, ...]], it: str | None = None, *, verb: str | None = None
    ) -> str:
        """Join the properties into a list."""
        rendered = self.render_properties(properties, it, grouped=verb is not None)
        if len(rendered) == 2 and rendered[0].kind != rendered[1].kind:
            return f"{rendered[0].text} {verb or 'and'} {rendered[1].text}"
        return join_list([phrase.text for phrase in rendered])

    def render_properties(
        self, properties: list[tuple[ClaimPart, ...]], it: str | None = None, *, grouped: bool
    ) -> list[PropertyPhrase]:
        """Convert properties to phrases. If `grouped`, objects with the same relation share a phrase.

        Also set `tail` to the final object if a relative clause can follow it, and `ends_in_list` to whether the text
        ends with several objects.
        """
        rendered: list[PropertyPhrase] = []
        left = list(properties)
        self.tail = None
        for corner in self.lexicon.corners:
            pair = [(ClaimPart(place, ()),) for place in corner.places]
            if all(prop in left for prop in pair):
                left = [prop for prop in left if prop not in pair]
                rendered.append(PropertyPhrase(self._place(corner.phrase), "where"))
        left.sort(key=lambda prop: len(prop) > 1 or prop[0].predicate != "Is")
        for prop, *alike in _group_relations(left, it) if grouped else [[prop] for prop in left]:
            part = prop[0]
            tail: Tail | None = None
            if alike:
                objects = [self.refer(other[0].rest[0]).text for other in [prop, *alike]]
                text = f"{self.phrase_for(part.predicate)} {join_list(objects)}"
                rendered.append(PropertyPhrase(text, self.kind_of(part)))
            elif len(prop) > 1:
                rendered.append(PropertyPhrase("either " + " or ".join(self.part_text(part) for part in prop), "open"))
            elif not is_relation(part):
                rendered.append(PropertyPhrase(self.part_text(part), self.kind_of(part)))
            else:
                obj = part.rest[0]
                name = self.names[obj]
                if part.positive and obj != it and (obj in self.known or not name.clause):
                    tail = Tail(obj, name.noun.many and not name.mark)
                pronoun = self.pronoun(obj) if obj == it else None
                rendered.append(PropertyPhrase(self.part_text(part, pronoun), self.kind_of(part)))
                it = obj
            self.tail, self.ends_in_list = tail, bool(alike)
        return rendered

    def kind_of(self, part: ClaimPart) -> str:
        """Return the kind of a property (class, like, where, size or doing)."""
        if part.predicate in self.lexicon.relations:
            return self.lexicon.relations[part.predicate].kind
        if part.predicate in self.lexicon.places:
            return "where"
        return "class" if part.predicate == "Is" else "like"

    def part_text(self, part: ClaimPart, pronoun: Pronoun | None = None) -> str:
        """Convert a single part to text, such as "not red", "above the cup" or "to its left"."""
        denied = "" if part.positive else "not "
        if part.predicate == "Is":
            return denied + with_article(self._class(part.rest[0]))
        if not part.rest:
            return denied + self._place(self.phrase_for(part.predicate))
        if not is_relation(part):
            return denied + self.lexicon.adjectives[part.predicate, part.rest[0]].after
        relation = self.lexicon.relations[part.predicate]
        if pronoun and relation.near:
            return denied + relation.near.format(it=pronoun.it, its=pronoun.its)
        return f"{denied}{self.phrase_for(part.predicate)} {pronoun.it if pronoun else self.refer(part.rest[0]).text}"

    def phrase_for(self, predicate: str) -> str:
        """Return the phrase for a relation or position, which is always the same within a text."""
        relation = self.lexicon.relations.get(predicate)
        phrases = relation.phrases if relation else self.lexicon.places[predicate]
        return phrases[self._taste % len(phrases)]

    def _place(self, phrase: str) -> str:
        """Return a place phrase, omitting "of the image" after its first use."""
        shown, self._framed = self._framed, True
        return shorten_place(phrase) if shown else phrase

    def _class(self, word: str) -> str:
        noun = self.lexicon.nouns[word]
        return f"{noun.measure} {noun.text}" if noun.measure else noun.text


def _group_relations(properties: list[tuple[ClaimPart, ...]], it: str | None) -> list[list[tuple[ClaimPart, ...]]]:
    """Group properties with the same relation, placing groups before alternatives and after single properties.

    Relations to `it` are not grouped.
    """
    groups: dict[str, list[tuple[ClaimPart, ...]]] = {}
    for prop in properties:
        if len(prop) == 1 and prop[0].positive and is_relation(prop[0]) and prop[0].rest[0] != it:
            groups.setdefault(prop[0].predicate, []).append(prop)
    several = [group for group in groups.values() if len(group) > 1]
    alone = [prop for prop in properties if not any(prop in group for group in several)]
    certain, choices = ([[prop] for prop in alone if (len(prop) > 1) is choice] for choice in (False, True))
    return [*certain, *several, *choices]
