"""Parse English prompts into formulas.

The grammar covers the output of `realize`, including that of earlier versions. "A cup" introduces an object and "the
cup" refers to it; a sentence with "every" begins a rule. The following sentences belong to the rule as long as each
refers to one of its objects or says "in each case"; the objects that a rule introduces are local to it.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, pairwise
from typing import NamedTuple

from formalimg.language.description import (
    ClaimPart,
    CountedObjects,
    Description,
    DescriptionBlock,
    Disjunction,
    ObjectClaim,
    Rule,
    is_relation,
    to_formula,
)
from formalimg.language.lexicon import (
    BOUNDS,
    NONE,
    PRONOUNS,
    SuiteLexicon,
    WordingError,
    is_singular,
    lexicon,
    number_of,
)
from formalimg.language.phrase_parser import MAX_DEPTH, NounPhraseCore, NounPhraseParser, PropertyParser, TokenReader
from formalimg.language.prose_lexicon import prose_lexicon
from formalimg.language.prose_parser import parse_prose
from formalimg.language.sentences import NAMED_BEFORE, NEXT_NAMED, SHOWS
from formalimg.logic.syntax import Formula

_PRESENCE = (*(f"the image {also}{verb}" for verb in SHOWS for also in ("", "also ")), "there is", "there are")


def parse_prompt(text: str, suite: str) -> Formula:
    """Parse a prompt produced by `realize` into its formula.

    Raises:
        WordingError: if the text is not in that language; the message says where and what was expected.
    """
    return parse_with(text, lexicon(suite))


def parse_with(text: str, words: SuiteLexicon) -> Formula:
    """Parse a prompt with the given lexicon, like `parse_prompt`."""
    parser = _PromptParser(text, words)
    parser.parse_text()
    return to_formula(Description(parser.style, parser.top))


class PromptReading(NamedTuple):
    """The formula of a text, and whether the text follows the grammar of `realize`."""

    formula: Formula
    own: bool


def understand(text: str, suite: str, classes: tuple[str, ...] = ()) -> PromptReading:
    """Parse a prompt with the grammar of `realize`, falling back to common patterns of plain English.

    In plain English "the cup is to the left of the fork" and "the fork is to the right of the cup" mean the same; in
    the language of `realize`, the first is LeftOf and the second RightOf.

    Args:
        text: the prompt.
        suite: `knolling` or `natural`.
        classes: further classes, whose nouns are their names.

    Raises:
        WordingError: if the text cannot be parsed, or can be parsed in two ways.
    """
    try:
        return PromptReading(parse_with(text, prose_lexicon(suite, classes).words), own=True)
    except WordingError:
        return PromptReading(parse_prose(text, suite, classes), own=False)


class _PromptParser:
    """Recursive-descent parser for prompts. Sentences that mention an object of the open rule continue the rule."""

    def __init__(self, text: str, words: SuiteLexicon) -> None:
        self.reader = TokenReader(text)
        self.words = words
        self.style: str | None = None
        self.top = self.block = DescriptionBlock()
        self.rule: Rule | None = None
        self.open_rule: Rule | None = None
        self.outside = 0  # how many objects of the scope are outside of the open rule
        self.subject: str | None = None  # the only subject of the clause before, which a pronoun can stand for
        self.depth = 0
        self.is_counting = False
        self.may_introduce = True  # in a count only after "each", since "a plate" could be one for all
        self.noun_phrases = NounPhraseParser(self.reader, words)
        self.predicates = PropertyParser(self.reader, words, self.parse_object, self.parse_class)

    # --- sentences

    def parse_text(self) -> None:
        self.reader.take_one_of((*self.words.openings.values(), *self.words.earlier_openings))
        while not self.reader.done:
            self.parse_sentence()
            self.reader.expect(".")
        if not (self.style or self.top.objects or self.top.rules or self.top.counts):
            raise WordingError("the text says nothing: write at least one sentence about the image")

    def parse_sentence(self) -> None:
        is_style_only = self.reader.take("this is")
        style = self.reader.take_meaning(self.words.style_phrases)
        if style is None and is_style_only:
            self.reader.fail("a style")
        if style is None:
            self.parse_rule_or_clause()
            return
        if self.style is not None:
            raise WordingError("the text names two styles: leave one out")
        self.style = style
        if is_style_only:
            return
        if self.reader.expect("of", "in which") == "of":
            self.parse_presence()
        else:
            self.parse_rule_or_clause()

    def parse_rule_or_clause(self) -> None:
        if self.reader.take_one_of(self.words.connectives):
            self.reader.expect(",")
        if self.continues_rule():
            self.rule = self.open_rule
        else:
            if self.open_rule:
                self.noun_phrases.scope = dict(list(self.noun_phrases.scope.items())[: self.outside])
            self.rule, self.outside = None, len(self.noun_phrases.scope)
        self.block = self.rule.body if self.rule else self.top
        if self.reader.take("for every"):
            variable = self.begin_rule(self.noun_phrases.parse_core())
            self.reader.take(",")
            self.subject = variable
            self.parse_clause()
        elif self.reader.take("every"):
            self.parse_predicate([self.begin_rule(self.noun_phrases.parse_core())])
        elif self.reader.take("all"):
            self.parse_predicate([self.begin_rule(self.noun_phrases.parse_core(plural=True))])
            self.subject = None
        else:
            self.parse_clause()
        while self.reader.take_one_of((", and", ", while", "; and", ";")):
            self.parse_clause()
        self.open_rule, self.rule, self.block = self.rule, None, self.top

    def continues_rule(self) -> bool:
        """Return whether a sentence continues the open rule, either explicitly or by mentioning one of its objects."""
        if self.reader.take(f"{self.words.each_case} ,"):
            if self.open_rule is None:
                self.reader.fail("a sentence with 'every' before it")
            return True
        if self.open_rule is None or self.reader.next in ("every", "all") or self.reader.sees("for every"):
            return False
        rule_objects = {self.open_rule.variable, *self.open_rule.body.objects}
        if self.reader.next in PRONOUNS:
            return self.subject in rule_objects
        return bool(rule_objects & self.called_objects())

    def called_objects(self) -> set[str]:
        """Return the objects referenced in the rest of the sentence, without consuming it."""
        objects: set[str] = set()
        start = self.reader.position
        end = self.reader.words.index(".", start) if "." in self.reader.words[start:] else start
        for position in range(start, end):
            if self.reader.words[position] == "the":
                self.reader.position = position + 1
                with suppress(WordingError):
                    objects.add(self.noun_phrases.parse_definite())
        self.reader.position = start
        return objects

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
        subject, self.subject = self.subject, None
        if self.reader.take_one_of(_PRESENCE):
            self.parse_presence()
        elif self.reader.take("either"):
            claims = [self.parse_simple_clause()]
            while self.reader.take("or"):
                claims.append(self.parse_simple_clause())
            self.block.disjunctions.append(Disjunction(tuple(claims)))
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
            referent = self.rule.variable if self.rule else None
            self.add_claims(objects, self.predicates.parse_properties(referent, verbs=("is", "are")))
        if self.reader.take("with"):
            self.parse_neighbors(objects)

    def parse_simple_clause(self) -> ObjectClaim:
        subject = self.parse_object()
        self.reader.expect("is", "are")
        return ObjectClaim(subject, (self.predicates.parse_part(None),))

    def parse_pronoun(self, subject: str | None) -> str:
        """Parse a pronoun that refers to the subject of the previous clause."""
        if subject is None or subject not in self.noun_phrases.scope:
            self.reader.fail("a subject: the pronoun stands for none, because the sentence before has not one subject")
        noun = self.noun_phrases.scope[subject].noun
        self.reader.expect(*dict.fromkeys([noun.pronoun, *(["they"] if noun.many else [])]))
        return subject

    def parse_predicate(self, subjects: list[str]) -> None:
        if self.reader.take("are arranged"):
            self.parse_ordering(subjects)
        elif self.reader.take("are each"):
            self.parse_chain(subjects)
        elif self.reader.take("together form one"):
            groups = {entry.group: name for name, entry in self.words.relations.items() if entry.group}
            self.relate(list(combinations(subjects, 2)), groups[self.reader.expect(*groups)])
        else:
            self.parse_verb_phrase(subjects)
        self.subject = subjects[0] if len(subjects) == 1 else None

    def parse_verb_phrase(self, subjects: list[str]) -> None:
        """Parse a verb and its complements, including a relative clause about the last object."""
        if self.reader.take_one_of(("has", "have", "also has", "also have")):
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

    def parse_verb(self, subjects: list[str]) -> None:
        """Parse "is", or a verb such as "lies" before a place if it cannot be a state of the subject."""
        self.reader.take("also")
        if self.reader.take_one_of(("is", "are")):
            self.reader.take("also")
            return
        scope = self.noun_phrases.scope
        can_be_state = any(scope[s].noun.word in (*self.words.living, None) for s in subjects if s in scope)
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
        is_forward = True
        while True:
            predicate = self.predicates.parse_relation()
            if not self.reader.take("it"):
                is_forward = self.reader.expect("the next", "the one before") == "the next"
            self.relate(links if is_forward else [(second, first) for first, second in links], predicate)
            position = self.reader.position
            if self.reader.take_one_of((",", "and")) is None or not self.predicates.starts():
                self.reader.position = position
                return

    def parse_chain(self, objects: list[str]) -> None:
        """Parse a chain such as "vertically aligned with the next one named", which implies no order."""
        predicate = self.predicates.parse_relation()
        is_next = self.reader.expect(NEXT_NAMED, NAMED_BEFORE) == NEXT_NAMED
        self.relate([pair if is_next else pair[::-1] for pair in pairwise(objects)], predicate)

    def relate(self, pairs: list[tuple[str, str]], predicate: str) -> None:
        for first, second in pairs:
            self.add_claims([first], [(ClaimPart(predicate, (second,)),)])

    def parse_neighbors(self, subjects: list[str]) -> None:
        """Parse objects positioned relative to a subject, such as "a cup to its left and a plate below it"."""
        if len(subjects) > 1:
            self.reader.fail("one subject, so that 'it' can stand for it")
        self.parse_objects(by=subjects[0])

    # --- counts

    def count_starts(self) -> bool:
        return any(self.reader.sees(words) for words in ("not exactly", "not at least", NONE, *BOUNDS))

    def parse_count(self, *, as_subject: bool) -> None:
        """Parse the number of objects of a kind. Objects introduced in the count are scoped to it."""
        positive = not self.reader.take("not")
        words = self.reader.expect(NONE, *BOUNDS)
        bound, number = BOUNDS.get(words, "exactly"), 0
        if words != NONE:
            parsed = number_of(self.reader.next)
            if parsed is None:
                self.reader.fail("a number")
            self.reader.position += 1
            number = parsed
        core = self.noun_phrases.parse_core(plural=not is_singular(bound, number))
        outer, scope = self.block, dict(self.noun_phrases.scope)
        variable, claims = self.noun_phrases.introduce(core)
        self.noun_phrases.scope = dict(scope)  # "the cup" is never one of those that are counted
        self.block, self.is_counting, self.may_introduce = DescriptionBlock(claims=claims), True, False
        if as_subject:
            self.reader.expect("is", "are")
            self.add_claims([variable], self.predicates.parse_properties())
        else:
            self.parse_counted_properties(variable, singular=is_singular(bound, number))
        if not self.block.claims:
            self.reader.fail("what the counted objects are like")
        outer.counts.append(CountedObjects(bound, number, variable, self.block, positive))
        self.block, self.noun_phrases.scope = outer, scope
        self.is_counting, self.may_introduce = False, True

    def parse_counted_properties(self, variable: str, *, singular: bool) -> None:
        """Parse the properties after a counted noun, such as "that are red" or "to the left of the plate"."""
        has_clause = bool(self.reader.take_one_of(("that is", "that are", "who is", "who are")))
        self.may_introduce = has_clause and (singular or self.reader.take("each"))
        if has_clause or self.predicates.starts():
            self.add_claims([variable], self.predicates.parse_properties())
            has_clause = True
        self.may_introduce = True
        while self.reader.take_one_of(("and which", "and that") if has_clause else ("which", "that")):
            obj = self.parse_object()
            self.reader.expect("is", "are")
            positive = not self.reader.take("not")
            self.add_claims([obj], [(ClaimPart(self.predicates.parse_relation(), (variable,), positive),)])
            has_clause = True

    # --- objects

    def parse_objects(self, by: str | None = None) -> list[str]:
        """Parse a list of objects. If `by` is given, each object is followed by its position relative to it."""
        objects = []
        while True:
            objects.append(self.parse_object())
            if by:
                self.add_claims(objects[-1:], [(self.predicates.parse_part(by),)])
            position = self.reader.position
            if self.reader.take_one_of((",", "and")) is None or not self.noun_phrases.starts():
                self.reader.position = position
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
        self.block.claims += [ObjectClaim(subject, prop) for subject in subjects for prop in properties]
