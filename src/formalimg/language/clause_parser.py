"""Parse clauses about objects, predicates, lists and counts."""

from __future__ import annotations

from itertools import combinations, pairwise

from formalimg.language.counts import BOUNDS, NONE, is_singular, number_of
from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    DescriptionBlock,
    Disjunction,
    ObjectClaim,
    Rule,
    is_relation,
)
from formalimg.language.lexicon import PRONOUNS, SuiteLexicon
from formalimg.language.phrase_parser import MAX_DEPTH, NounPhraseCore, NounPhraseParser, PropertyParser, TokenReader
from formalimg.language.sentences import NAMED_BEFORE, NEXT_NAMED, SHOWS

_PRESENCE = (
    *(f"the image {also}{verb}" for verb in SHOWS for also in ("", "also ")),
    "there is",
    "there are",
)


class ClauseParser:
    """Recursive-descent parser for the clauses of a text."""

    def __init__(self, reader: TokenReader, words: SuiteLexicon) -> None:
        self.reader = reader
        self.words = words
        self.style: str | None = None
        self.top = self.block = DescriptionBlock()
        self.rule: Rule | None = None
        self.subject: str | None = None  # the only subject of the clause before, which a pronoun can stand for
        self.depth = 0
        self.is_counting = False
        self.may_introduce = True  # in a count only after "each", since "a plate" could be one for all
        self.noun_phrases = NounPhraseParser(reader, words, [], set())
        self.predicates = PropertyParser(reader, words, self.parse_object, self.parse_class)

    def begin_rule(self, core: NounPhraseCore) -> str:
        """Begin a rule about every object described by a noun phrase. The rule extends to the end of the sentence."""
        variable, guard = self.noun_phrases.introduce(core._replace(measured=True))
        self.rule = Rule(variable, guard, DescriptionBlock())
        guard += self.parse_relative_clause(variable)
        self.top.rules.append(self.rule)
        self.block = self.rule.body
        return variable

    # --- clauses

    def parse_clause(self) -> None:
        """Parse one clause."""
        subject, self.subject = self.subject, None
        if self.reader.take_one_of(_PRESENCE):
            self.parse_presence()
        elif self.reader.take("either"):
            self.parse_disjunction()
        elif self.count_starts():
            self.parse_count(as_subject=True)
        elif self.reader.next in PRONOUNS:
            self.parse_predicate([self.parse_pronoun(subject)])
        elif self.noun_phrases.starts():
            self.parse_predicate(self.parse_objects())
        else:
            properties = self.predicates.parse_properties()
            self.reader.expect("is", "are")
            self.add_claims(self.parse_objects(), properties)

    def parse_presence(self) -> None:
        """Parse the objects that the image shows with their properties and neighbours, or a count."""
        if self.count_starts():
            self.parse_count(as_subject=False)
            return
        objects = self.parse_objects()
        if self.predicates.starts():
            self.add_claims(
                objects,
                self.predicates.parse_properties(self.rule.variable if self.rule else None, verbs=("is", "are")),
            )
        if self.reader.take("with"):
            self.parse_neighbors(objects)

    def parse_disjunction(self) -> None:
        """Parse two or more clauses after "either"."""
        claims = [self.parse_simple_clause()]
        while self.reader.take("or"):
            claims.append(self.parse_simple_clause())
        self.block.disjunctions.append(Disjunction(tuple(claims)))

    def parse_simple_clause(self) -> ObjectClaim:
        """Parse a clause with a subject, "is" and a single property."""
        subject = self.parse_object()
        self.reader.expect("is", "are")
        return ObjectClaim(subject, (self.predicates.parse_part(None),))

    def parse_pronoun(self, subject: str | None) -> str:
        """Parse a pronoun that refers to the subject of the previous clause."""
        noun = next((known.core.noun for known in self.noun_phrases.scope if known.variable == subject), None)
        if subject is None or noun is None:
            self.reader.fail("a subject: the pronoun stands for none, because the sentence before has not one subject")
        self.reader.expect(*dict.fromkeys([noun.pronoun, *(["they"] if noun.many else [])]))
        return subject

    def parse_predicate(self, subjects: list[str]) -> None:
        """Parse the verb and complements that follow the subjects."""
        if self.reader.take("are arranged"):
            self.parse_ordering(subjects)
        elif self.reader.take("are each"):
            self.parse_chain(subjects)
        elif self.reader.take("together form one"):
            self.parse_group(subjects)
        else:
            self.parse_verb_phrase(subjects)
        self.subject = subjects[0] if len(subjects) == 1 else None

    def parse_verb_phrase(self, subjects: list[str]) -> None:
        """Parse a verb and its complements, including a relative clause about the last object."""
        if self.takes_have():
            self.parse_neighbors(subjects)
            return
        self.parse_verb(subjects)
        properties = self.predicates.parse_properties(verbs=("is", "are"))
        self.add_claims(subjects, properties)
        if self.reader.take_one_of((", which", ", who")):
            if not is_relation(properties[-1][-1]):
                self.reader.fail("a relative clause only after an object")
            self.parse_verb_phrase([properties[-1][-1].rest[0]])
        elif self.reader.take_one_of(("and has", "and have", ", and has", ", and have")):
            self.parse_neighbors(subjects)

    def takes_have(self) -> bool:
        """Consume "has" or one of its variants if present."""
        return self.reader.take_one_of(("has", "have", "also has", "also have")) is not None

    def parse_verb(self, subjects: list[str]) -> None:
        """Parse "is", or a verb such as "lies" before a place if it cannot be a state of the subject."""
        self.reader.take("also")
        if self.reader.take_one_of(("is", "are")):
            self.reader.take("also")
            return
        can_be_state = any(
            known.core.noun.word in (*self.words.living, None)
            for known in self.noun_phrases.scope
            if known.variable in subjects
        )
        self.reader.expect("is", "are", *(() if can_be_state else (*self.words.verbs, *self.words.verbs.values())))
        if not self.predicates.starts_place():
            self.reader.fail("a place")

    def parse_ordering(self, objects: list[str]) -> None:
        """Parse an order such as "from left to right" or "in this order, each to the left of the next"."""
        links = list(pairwise(objects))
        direction = self.reader.take_meaning(self.words.sweeps)
        if direction is None:
            self.reader.expect("in this order , each")
        else:
            self.relate(links, direction)
            if not self.reader.take(", each"):
                return
        forward = True
        while True:
            predicate = self.predicates.parse_relation()
            if not self.reader.take("it"):
                forward = self.reader.expect("the next", "the one before") == "the next"
            self.relate(links if forward else [(second, first) for first, second in links], predicate)
            place = self.reader.place
            if self.reader.take_one_of((",", "and")) is None or not self.predicates.starts():
                self.reader.place = place
                return

    def parse_chain(self, objects: list[str]) -> None:
        """Parse a chain such as "vertically aligned with the next one named", which implies no order."""
        predicate = self.predicates.parse_relation()
        is_next = self.reader.expect(NEXT_NAMED, NAMED_BEFORE) == NEXT_NAMED
        self.relate([pair if is_next else pair[::-1] for pair in pairwise(objects)], predicate)

    def relate(self, pairs: list[tuple[str, str]], predicate: str) -> None:
        """Add a claim for each pair that its first object is related to its second."""
        for first, second in pairs:
            self.add_claims([first], [(ClaimPart(predicate, (second,)),)])

    def parse_group(self, objects: list[str]) -> None:
        """Parse the shape that the objects form together."""
        shape = self.reader.expect(*(r.group for r in self.words.relations.values() if r.group))
        predicate = next(r.predicate for r in self.words.relations.values() if r.group == shape)
        self.relate(list(combinations(objects, 2)), predicate)

    def parse_neighbors(self, subjects: list[str]) -> None:
        """Parse objects positioned relative to a subject, such as "a cup to its left and a plate below it"."""
        if len(subjects) > 1:
            self.reader.fail("one subject, so that 'it' can stand for it")
        self.parse_objects(by=subjects[0])

    # --- counts

    def count_starts(self) -> bool:
        """Return whether the next words begin a count."""
        return any(self.reader.sees(words) for words in ("not exactly", "not at least", NONE, *BOUNDS))

    def parse_count(self, *, as_subject: bool) -> None:
        """Parse the number of objects of a kind. Objects introduced in the count are scoped to it."""
        positive = not self.reader.take("not")
        words = self.reader.expect(NONE, *BOUNDS)
        bound, number = BOUNDS.get(words, "exactly"), 0 if words == NONE else self.parse_number()
        core = self.noun_phrases.parse_core(plural=not is_singular(bound, number))
        outer, scope = self.block, list(self.noun_phrases.scope)
        variable, claims = self.noun_phrases.introduce(core)
        self.noun_phrases.scope[:] = scope  # "the cup" is never one of those that are counted
        self.block, self.is_counting, self.may_introduce = DescriptionBlock(claims=claims), True, False
        if as_subject:
            self.reader.expect("is", "are")
            self.add_claims([variable], self.predicates.parse_properties())
        else:
            self.parse_counted_properties(variable, singular=is_singular(bound, number))
        if not self.block.claims:
            self.reader.fail("what the counted objects are like")
        outer.counts.append(CountedObjects(bound, number, variable, self.block, positive))
        self.block, self.noun_phrases.scope[:] = outer, scope
        self.is_counting, self.may_introduce = False, True

    def parse_number(self) -> int:
        """Parse number words or digits."""
        number = number_of(self.reader.next)
        if number is None:
            self.reader.fail("a number")
        self.reader.place += 1
        return number

    def parse_counted_properties(self, variable: str, *, singular: bool) -> None:
        """Parse the properties after a counted noun, such as "that are red" or "to the left of the plate"."""
        said = bool(self.reader.take_one_of(("that is", "that are", "who is", "who are")))
        self.may_introduce = said and (singular or self.reader.take("each"))
        if said or self.predicates.starts():
            self.add_claims([variable], self.predicates.parse_properties())
            said = True
        self.may_introduce = True
        while self.reader.take_one_of(("and which", "and that") if said else ("which", "that")):
            other = self.parse_object()
            self.reader.expect("is", "are")
            positive = not self.reader.take("not")
            self.add_claims([other], [(ClaimPart(self.predicates.parse_relation(), (variable,), positive),)])
            said = True

    # --- objects

    def parse_objects(self, by: str | None = None) -> list[str]:
        """Parse a list of objects. If `by` is given, each object is followed by its position relative to it."""
        objects = []
        while True:
            objects.append(self.parse_object())
            if by:
                self.add_claims(objects[-1:], [(self.predicates.parse_part(by),)])
            place = self.reader.place
            if self.reader.take_one_of((",", "and")) is None or not self.noun_phrases.starts():
                self.reader.place = place
                return objects

    def parse_object(self) -> str:
        """Parse an object. "a cup" introduces one, "every cup" begins a rule and "the cup" refers to a known object."""
        if self.may_introduce and self.reader.take_one_of(("a", "an")):
            variable, claims = self.noun_phrases.introduce(self.noun_phrases.parse_core())
            self.block.objects.append(variable)
            self.block.claims += claims
            if self.depth == MAX_DEPTH:
                self.reader.fail("no further object inside one phrase")
            self.depth += 1
            more = self.parse_relative_clause(variable)
            self.depth -= 1
            self.block.claims += more  # of a rule, if "every" stands in the relative clause
            return variable
        if self.reader.take("every") and self.rule is None and not self.is_counting:
            return self.begin_rule(self.noun_phrases.parse_core())
        self.reader.expect("the", "that")
        return self.noun_phrases.parse_definite()

    def parse_class(self) -> str:
        """Parse the noun of a class without adjectives or ordinals."""
        core = self.noun_phrases.parse_core()
        if core.noun.word is None or core.adjectives or core.mark:
            self.reader.fail("a class of objects")
        return core.noun.word

    def parse_relative_clause(self, variable: str) -> list[ObjectClaim]:
        """Parse a relative clause such as "that is red" if present."""
        if not self.reader.take_one_of(("that is", "who is")):
            return []
        return [ObjectClaim(variable, prop) for prop in self.predicates.parse_properties()]

    def add_claims(self, subjects: list[str], properties: list[tuple[ClaimPart, ...]]) -> None:
        """Add each property as a claim about each subject."""
        self.block.claims += [ObjectClaim(subject, prop) for subject in subjects for prop in properties]
