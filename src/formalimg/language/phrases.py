"""Build noun phrases and the properties that follow a verb."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.language.description import ClaimPart, is_relation
from formalimg.language.lexicon import PARTICULAR, PRONOUNS, Pronoun, SuiteLexicon, plural_measure, shorten_place
from formalimg.language.naming import HashRng, ObjectName


class NounPhrase(NamedTuple):
    """A noun phrase, and whether it takes a plural verb."""

    text: str
    is_plural: bool = False


class PropertyPhrase(NamedTuple):
    """A property in English with its kind: class, like, where, size, doing or open."""

    text: str
    kind: str


class Tail(NamedTuple):
    """The object at the end of a phrase, to which a relative clause can be attached."""

    obj: str
    is_plural: bool


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
        self._has_frame = False

    def refer(self, obj: str) -> NounPhrase:
        """Refer to an object: "a red cup" the first time, then "the cup"."""
        name = self.names[obj]
        if obj in self.known:
            article = "that" if name.mark == PARTICULAR else "the"
            adjective = name.distinguishing.before if name.distinguishing else None
            words = [article, name.mark, name.noun.measure if name.mark else None, adjective, name.noun.text]
            return NounPhrase(" ".join(word for word in words if word), name.noun.many and not name.mark)
        if name.number is not None:
            same_noun = [self.names[other_obj] for other_obj in self.known if self.names[other_obj].noun is name.noun]
            before = sum(known_name.number is not None for known_name in same_noun)
            name.mark = self.lexicon.ordinals[name.number + before]
        self.known.add(obj)
        return NounPhrase(with_article(self._core(name)) + self._clause(name))

    def refer_all(self, objects: list[str]) -> NounPhrase:
        """Refer to several objects as a list."""
        phrases = [self.refer(obj) for obj in objects]
        return NounPhrase(join_list([phrase.text for phrase in phrases]), len(phrases) > 1 or phrases[0].is_plural)

    def every(self, obj: str) -> str:
        """Return the phrase for the objects of a rule, such as "every red cup that is not above the plate"."""
        self.known.add(obj)
        self.ruled.add(obj)
        return f"every {self._core(self.names[obj])}{self._clause(self.names[obj])}"

    def all_of(self, obj: str) -> str:
        """Return the plural phrase for the objects of a rule, such as "all red cups"."""
        self.known.add(obj)
        return f"all {self.counted(obj, singular=False)}"

    def counted(self, obj: str, *, singular: bool) -> str:
        """Return the noun of counted objects with adjectives, such as "red cup" or "pairs of black jeans"."""
        name = self.names[obj]
        if singular:
            return self._core(name)
        measure = plural_measure(name.noun.measure) if name.noun.measure else None
        return " ".join([*self._modifiers(name, measure), name.noun.plural])

    def pronoun_name(self, obj: str) -> str:
        """Return the subject pronoun of an object. The object of a rule is treated as singular."""
        name = self.names[obj]
        is_plural = name.noun.many and not name.mark and obj not in self.ruled
        return "they" if is_plural else name.noun.pronoun

    def _core(self, name: ObjectName) -> str:
        marks = [name.mark] if name.mark else []
        return " ".join([*marks, *self._modifiers(name, name.noun.measure), name.noun.text])

    def _modifiers(self, name: ObjectName, measure: str | None) -> list[str]:
        """Return the words before a noun, such as "pair of red" for jeans or "red piece of" for fruit."""
        measures = [measure] if measure else []
        adjectives = [" or ".join(adjective.before or "" for adjective in group) for group in name.adjectives]
        return [*measures, *adjectives] if name.noun.many else [*adjectives, *measures]

    def _clause(self, name: ObjectName) -> str:
        if not name.clause:
            return ""
        return f" {name.noun.who} is {self.join_properties([claim.parts for claim in name.clause])}"

    # --- behind the verb

    def join_properties(
        self, properties: list[tuple[ClaimPart, ...]], referent: str | None = None, *, verb: str | None = None
    ) -> str:
        """Join the properties into a list."""
        phrases = self.render_properties(properties, referent, grouped=verb is not None)
        if len(phrases) == 2 and phrases[0].kind != phrases[1].kind:
            return f"{phrases[0].text} {verb or 'and'} {phrases[1].text}"
        return join_list([phrase.text for phrase in phrases])

    def render_properties(
        self, properties: list[tuple[ClaimPart, ...]], referent: str | None = None, *, grouped: bool
    ) -> list[PropertyPhrase]:
        """Convert properties to phrases. If `grouped`, objects with the same relation share a phrase.

        Also set `tail` to the final object if a relative clause can follow it, and `ends_in_list` to whether the text
        ends with several objects.
        """
        phrases: list[PropertyPhrase] = []
        remaining = list(properties)
        self.tail = None
        for phrase, places in self.lexicon.corners.items():
            pair = [(ClaimPart(name, ()),) for name in places]
            if all(prop in remaining for prop in pair):
                remaining = [prop for prop in remaining if prop not in pair]
                phrases.append(PropertyPhrase(self._place(phrase), "where"))
        remaining.sort(key=lambda prop: len(prop) > 1 or prop[0].predicate != "Is")
        for group in _group_relations(remaining, referent) if grouped else [[prop] for prop in remaining]:
            part = group[0][0]
            tail: Tail | None = None
            kind = self.kind_of(part)
            if len(group) > 1:
                objects = [self.refer(prop[0].rest[0]).text for prop in group]
                text = f"{self.phrase_for(part.predicate)} {join_list(objects)}"
            elif len(group[0]) > 1:
                text, kind = "either " + " or ".join(self.part_text(choice) for choice in group[0]), "open"
            elif not is_relation(part):
                text = self.part_text(part)
            else:
                obj = part.rest[0]
                name = self.names[obj]
                if part.positive and obj != referent and (obj in self.known or not name.clause):
                    tail = Tail(obj, name.noun.many and not name.mark)
                text = self.part_text(part, PRONOUNS[self.pronoun_name(obj)] if obj == referent else None)
                referent = obj
            phrases.append(PropertyPhrase(text, kind))
            self.tail, self.ends_in_list = tail, len(group) > 1
        return phrases

    def kind_of(self, part: ClaimPart) -> str:
        """Return the kind of a property (class, like, where, size or doing)."""
        if part.predicate in self.lexicon.relations:
            return self.lexicon.relations[part.predicate].kind
        if part.predicate in self.lexicon.places:
            return "where"
        return "class" if part.predicate == "Is" else "like"

    def part_text(self, part: ClaimPart, pronoun: Pronoun | None = None) -> str:
        """Convert a single part to text, such as "not red", "above the cup" or "to its left"."""
        negation = "" if part.positive else "not "
        if part.predicate == "Is":
            noun = self.lexicon.nouns[part.rest[0]]
            return negation + with_article(f"{noun.measure} {noun.text}" if noun.measure else noun.text)
        if not part.rest:
            return negation + self._place(self.phrase_for(part.predicate))
        if not is_relation(part):
            return negation + self.lexicon.adjectives[part.predicate, part.rest[0]].after
        near = self.lexicon.relations[part.predicate].near
        if pronoun and near:
            return negation + near.format(it=pronoun.objective, its=pronoun.possessive)
        phrase = self.phrase_for(part.predicate)
        return f"{negation}{phrase} {pronoun.objective if pronoun else self.refer(part.rest[0]).text}"

    def phrase_for(self, predicate: str) -> str:
        """Return the phrase for a relation or position, which is always the same within a text."""
        relation = self.lexicon.relations.get(predicate)
        phrases = relation.phrases if relation else self.lexicon.places[predicate]
        return phrases[self._taste % len(phrases)]

    def _place(self, phrase: str) -> str:
        """Return a place phrase, omitting "of the image" after its first use."""
        is_first, self._has_frame = not self._has_frame, True
        return phrase if is_first else shorten_place(phrase)


def _group_relations(
    properties: list[tuple[ClaimPart, ...]], referent: str | None
) -> list[list[tuple[ClaimPart, ...]]]:
    """Group properties with the same relation, placing groups before alternatives and after single properties.

    Relations to `referent` are not grouped.
    """
    groups: dict[str, list[tuple[ClaimPart, ...]]] = {}
    for prop in properties:
        if len(prop) == 1 and prop[0].positive and is_relation(prop[0]) and prop[0].rest[0] != referent:
            groups.setdefault(prop[0].predicate, []).append(prop)
    shared = [group for group in groups.values() if len(group) > 1]
    alone = [prop for prop in properties if not any(prop in group for group in shared)]
    certain, choices = ([[prop] for prop in alone if (len(prop) > 1) is choice] for choice in (False, True))
    return [*certain, *shared, *choices]
