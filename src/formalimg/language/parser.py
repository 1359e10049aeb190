"""Parser: from an English prompt back to its formula; the grammar of sentences and clauses.

The grammar reads exactly the language that `realize` writes. "A cup" introduces an object and "the cup" calls it; a
sentence with "every" is a rule, and what it introduces belongs to the rule and ends with the sentence.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from formalimg.language.counts import BOUNDS, NONE, is_singular, number_of
from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    Description,
    DescriptionBlock,
    Disjunction,
    ObjectClaim,
    Rule,
    to_formula,
)
from formalimg.language.lexicon import SuiteLexicon, WordingError, lexicon
from formalimg.language.phrase_parser import MAX_DEPTH, NounPhraseCore, NounPhraseParser, PropertyParser, TokenReader
from formalimg.language.prose_lexicon import prose_lexicon
from formalimg.language.prose_parser import parse_prose
from formalimg.logic.syntax import Formula

_PRESENCE = (
    "the image shows",
    "the image contains",
    "the image also shows",
    "the image also contains",
    "there is",
    "there are",
)


def parse_prompt(text: str, suite: str) -> Formula:
    """Parse a prompt in the English of `realize` into its formula.

    Raises:
        WordingError: if the text is not in that language; it says where and what was expected.
    """
    return parse_with(text, lexicon(suite))


def parse_with(text: str, words: SuiteLexicon) -> Formula:
    """Parse a prompt in the English of these words; as `parse_prompt` does."""
    parser = _PromptParser(TokenReader(text), words)
    parser.parse_text()
    return to_formula(Description(parser.style, parser.top))


class PromptReading(NamedTuple):
    """The formula of a text, and whether the text is in the language of `realize`."""

    formula: Formula
    own: bool


def understand(text: str, suite: str, classes: tuple[str, ...] = ()) -> PromptReading:
    """Read a prompt: in the language of `realize`, or else in the patterns of plain English that are known.

    In plain English "the cup is to the left of the fork" and "the fork is to the right of the cup" say the same; in the
    language of `realize`, the first is LeftOf and the second RightOf.

    Args:
        text: the prompt.
        suite: `knolling` or `natural`.
        classes: further classes, whose nouns are their names.

    Raises:
        WordingError: if the text is not understood, or can be understood in two ways.
    """
    try:
        return PromptReading(parse_with(text, prose_lexicon(suite, classes).words), own=True)
    except WordingError:
        return PromptReading(parse_prose(text, suite, classes), own=False)


class _PromptParser:
    """Recursive descent over one text."""

    def __init__(self, reader: TokenReader, words: SuiteLexicon) -> None:
        self.reader = reader
        self.words = words
        self.style: str | None = None
        self.top = self.block = DescriptionBlock()
        self.rule: Rule | None = None
        self.depth = 0
        self.is_counting = False
        self.may_introduce = True  # in a count only after "each", since "a plate" could be one for all
        self.noun_phrases = NounPhraseParser(reader, words, [], set())
        self.predicates = PropertyParser(reader, words, self.parse_object, self.parse_class)

    # --- sentences

    def parse_text(self) -> None:
        self.reader.take_one_of(self.words.openings.values())
        while not self.reader.done:
            self.parse_sentence()
            self.reader.expect(".")
        if not (self.style or self.top.objects or self.top.rules or self.top.counts):
            raise WordingError("the text says nothing: write at least one sentence about the image")

    def parse_sentence(self) -> None:
        whole = self.reader.take("this is")
        style = self.reader.take_meaning(self.words.style_phrases)
        if style is None and whole:
            self.reader.fail("a style")
        if style is None:
            self.parse_rule_or_clause()
            return
        if self.style is not None:
            raise WordingError("the text names two styles: leave one out")
        self.style = style
        if whole:
            return
        if self.reader.expect("of", "in which") == "of":
            self.parse_presence()
        else:
            self.parse_rule_or_clause()

    def parse_rule_or_clause(self) -> None:
        scope, self.block = list(self.noun_phrases.scope), self.top
        if self.reader.take("for every"):
            self.begin_rule(self.noun_phrases.parse_core())
            self.reader.take(",")
            self.parse_clause()
            self.parse_more_clauses()
        elif self.reader.take("every"):
            self.parse_predicate([self.begin_rule(self.noun_phrases.parse_core())])
            self.parse_more_clauses()
        elif self.reader.take("all"):
            subject = self.begin_rule(self.noun_phrases.parse_core(plural=True))
            self.parse_predicate([subject])
        else:
            self.parse_clause()
            self.parse_more_clauses()
        if self.rule:
            self.noun_phrases.scope[:] = scope
        self.rule, self.block = None, self.top

    def parse_more_clauses(self) -> None:
        while self.reader.take(", and") or self.reader.take("; and") or self.reader.take(";"):
            self.parse_clause()

    def begin_rule(self, core: NounPhraseCore) -> str:
        """Begin a rule about every object of a kind; the rest of the sentence belongs to it."""
        variable, guard = self.noun_phrases.introduce(core._replace(measured=True))
        self.rule = Rule(variable, guard, DescriptionBlock())
        guard += self.parse_relative_clause(variable)
        self.top.rules.append(self.rule)
        self.block = self.rule.body
        return variable

    # --- clauses

    def parse_clause(self) -> None:
        if self.reader.take_one_of(_PRESENCE):
            self.parse_presence()
        elif self.reader.take("either"):
            self.parse_disjunction()
        elif self.count_starts():
            self.parse_count(as_subject=True)
        elif self.noun_phrases.starts():
            self.parse_predicate(self.parse_objects())
        else:
            properties = self.predicates.parse_properties()
            self.reader.expect("is", "are")
            self.add_claims(self.parse_objects(), properties)

    def parse_presence(self) -> None:
        """Parse objects that are present, their properties, and their neighbors; or a count."""
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
        claims = [self.parse_simple_clause()]
        while self.reader.take("or"):
            claims.append(self.parse_simple_clause())
        self.block.disjunctions.append(Disjunction(tuple(claims)))

    def parse_simple_clause(self) -> ObjectClaim:
        subject = self.parse_object()
        self.reader.expect("is", "are")
        return ObjectClaim(subject, (self.predicates.parse_part(None),))

    def parse_predicate(self, subjects: list[str]) -> None:
        """Parse what follows the subjects: a verb and its complements."""
        if self.reader.take("are arranged in this order , each"):
            self.parse_ordering(subjects)
        elif self.reader.take("together form one"):
            self.parse_group(subjects)
        elif self.reader.take_one_of(("has", "have")):
            self.parse_neighbors(subjects)
        else:
            self.reader.expect("is", "are")
            self.reader.take("also")
            properties = self.predicates.parse_properties(verbs=("is", "are"))
            self.add_claims(subjects, properties)
            if self.reader.take_one_of((", which is", ", which are", ", who is", ", who are")):
                self.add_claims(list(properties[-1][-1].rest), self.predicates.parse_properties())
            if self.reader.take_one_of(("and has", "and have", ", and has", ", and have")):
                self.parse_neighbors(subjects)

    def parse_ordering(self, objects: list[str]) -> None:
        forward = True
        links = list(pairwise(objects))
        while True:
            predicate = self.predicates.parse_relation()
            if not self.reader.take("it"):
                forward = self.reader.expect("the next", "the one before") == "the next"
            for first, second in links if forward else [(second, first) for first, second in links]:
                self.add_claims([first], [(ClaimPart(predicate, (second,)),)])
            place = self.reader.place
            if self.reader.take_one_of((",", "and")) is None or not self.predicates.starts():
                self.reader.place = place
                return

    def parse_group(self, objects: list[str]) -> None:
        shape = self.reader.expect(*(r.group for r in self.words.relations.values() if r.group))
        predicate = next(r.predicate for r in self.words.relations.values() if r.group == shape)
        for place, first in enumerate(objects):
            for second in objects[place + 1 :]:
                self.add_claims([first], [(ClaimPart(predicate, (second,)),)])

    def parse_neighbors(self, subjects: list[str]) -> None:
        """Parse objects relative to a subject: "a cup to its left and a plate below it"."""
        if len(subjects) > 1:
            self.reader.fail("one subject, so that 'it' can stand for it")
        self.parse_objects(by=subjects[0])

    # --- counts

    def count_starts(self) -> bool:
        return any(self.reader.sees(words) for words in ("not exactly", "not at least", NONE, *BOUNDS))

    def parse_count(self, *, as_subject: bool) -> None:
        """Parse how many objects of a kind there are, or have a property; what is introduced ends with it."""
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
        number = number_of(self.reader.next)
        if number is None:
            self.reader.fail("a number")
        self.reader.place += 1
        return number

    def parse_counted_properties(self, variable: str, *, singular: bool) -> None:
        """Parse what follows a counted noun: "that are red and that the plate is above", "to the left of the plate"."""
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
        """Parse a list of objects; each may be followed by its position relative to an object called "it"."""
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
        core = self.noun_phrases.parse_core()
        if core.noun.word is None or core.adjectives or core.mark:
            self.reader.fail("a class of objects")
        return core.noun.word

    def parse_relative_clause(self, variable: str) -> list[ObjectClaim]:
        if not self.reader.take_one_of(("that is", "who is")):
            return []
        return [ObjectClaim(variable, prop) for prop in self.predicates.parse_properties()]

    def add_claims(self, subjects: list[str], properties: list[tuple[ClaimPart, ...]]) -> None:
        self.block.claims += [ObjectClaim(subject, prop) for subject in subjects for prop in properties]
