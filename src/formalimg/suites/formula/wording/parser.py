"""From an instruction in English back to its formula: the grammar of clauses and sentences.

The grammar reads exactly the language that `realize` writes. "A cup" introduces a thing and "the cup" calls it; a
sentence with "every" is a rule, and what it introduces belongs to the rule and ends with the sentence.
"""

from __future__ import annotations

from itertools import pairwise

from formalimg.logic import Formula
from formalimg.suites.formula.wording.description import Block, Claim, Description, Dispute, Part, Rule, to_formula
from formalimg.suites.formula.wording.lexicon import Lexicon, WordingError, lexicon
from formalimg.suites.formula.wording.phrase_parser import Core, Reader, SayingReader, ThingReader

_PRESENCE = (
    "the image shows",
    "the image contains",
    "the image also shows",
    "the image also contains",
    "there is",
    "there are",
)


def understand(text: str, suite: str) -> Formula:
    """Read an instruction in the English of `realize` and give its formula.

    Raises:
        WordingError: if the text is not in that language; it says where and what was expected.
    """
    reading = _Understanding(Reader(text), lexicon(suite))
    reading.text()
    return to_formula(Description(reading.style, reading.top))


class _Understanding:
    """Reads a text once, from left to right."""

    def __init__(self, reader: Reader, words: Lexicon) -> None:
        self.reader = reader
        self.words = words
        self.style: str | None = None
        self.top = self.block = Block()
        self.rule: Rule | None = None
        self.things = ThingReader(reader, words, [], set())
        self.says = SayingReader(reader, words, self.thing, self.kind)

    # --- sentences

    def text(self) -> None:
        self.reader.take_one_of(self.words.openings.values())
        while not self.reader.done:
            self.sentence()
            self.reader.expect(".")
        if not (self.style or self.top.things or self.top.rules):
            raise WordingError("the words say nothing: write at least one sentence about the image")

    def sentence(self) -> None:
        whole = self.reader.take("this is")
        style = self.reader.take_meaning(self.words.style_phrases)
        if style is None and whole:
            self.reader.fail("a style")
        if style is None:
            self.rule_or_clause()
            return
        if self.style is not None:
            raise WordingError("the words name two styles: leave one out")
        self.style = style
        if whole:
            return
        if self.reader.expect("of", "in which") == "of":
            self.presence()
        else:
            self.rule_or_clause()

    def rule_or_clause(self) -> None:
        scope, self.block = list(self.things.scope), self.top
        if self.reader.take("for every"):
            self.begin_rule(self.things.core())
            self.reader.take(",")
            self.clause()
            self.more_clauses()
        elif self.reader.take("every"):
            self.say_of([self.begin_rule(self.things.core())])
            self.more_clauses()
        elif self.reader.take("all"):
            subject = self.begin_rule(self.things.core(plural=True))
            self.say_of([subject])
        else:
            self.clause()
            self.more_clauses()
        if self.rule:
            self.things.scope[:] = scope
        self.rule, self.block = None, self.top

    def more_clauses(self) -> None:
        while self.reader.take(", and") or self.reader.take("; and") or self.reader.take(";"):
            self.clause()

    def begin_rule(self, core: Core) -> str:
        """A rule about every thing of a kind; from here on, the sentence belongs to it."""
        variable, guard = self.things.introduce(core._replace(measured=True))
        self.rule = Rule(variable, guard, Block())
        guard += self.relative_clause(variable)
        self.top.rules.append(self.rule)
        self.block = self.rule.body
        return variable

    # --- clauses

    def clause(self) -> None:
        if self.reader.take_one_of(_PRESENCE):
            self.presence()
        elif self.reader.take("either"):
            self.dispute()
        elif self.things.starts():
            self.say_of(self.list_of_things())
        else:
            sayings = self.says.sayings()
            self.reader.expect("is", "are")
            self.claim(self.list_of_things(), sayings)

    def presence(self) -> None:
        """Things that are there, what is said of them, and what is by them."""
        things = self.list_of_things()
        if self.says.starts():
            self.claim(things, self.says.sayings(self.rule.variable if self.rule else None, verbs=("is", "are")))
        if self.reader.take("with"):
            self.by_it(things)

    def dispute(self) -> None:
        claims = [self.simple()]
        while self.reader.take("or"):
            claims.append(self.simple())
        self.block.disputes.append(Dispute(tuple(claims)))

    def simple(self) -> Claim:
        subject = self.thing()
        self.reader.expect("is", "are")
        return Claim(subject, (self.says.part(None),))

    def say_of(self, subjects: list[str]) -> None:
        """What stands behind subjects: a verb and all that follows."""
        if self.reader.take("are arranged in this order , each"):
            self.lineup(subjects)
        elif self.reader.take("together form one"):
            self.group(subjects)
        elif self.reader.take_one_of(("has", "have")):
            self.by_it(subjects)
        else:
            self.reader.expect("is", "are")
            self.reader.take("also")
            sayings = self.says.sayings(verbs=("is", "are"))
            self.claim(subjects, sayings)
            if self.reader.take_one_of((", which is", ", which are", ", who is", ", who are")):
                self.claim(list(sayings[-1][-1].rest), self.says.sayings())
            if self.reader.take_one_of(("and has", "and have", ", and has", ", and have")):
                self.by_it(subjects)

    def lineup(self, things: list[str]) -> None:
        forward = True
        links = list(pairwise(things))
        while True:
            predicate = self.says.relation()
            if not self.reader.take("it"):
                forward = self.reader.expect("the next", "the one before") == "the next"
            for first, second in links if forward else [(second, first) for first, second in links]:
                self.claim([first], [(Part(predicate, (second,)),)])
            place = self.reader.place
            if self.reader.take_one_of((",", "and")) is None or not self.says.starts():
                self.reader.place = place
                return

    def group(self, things: list[str]) -> None:
        shape = self.reader.expect(*(r.group for r in self.words.relations.values() if r.group))
        predicate = next(r.predicate for r in self.words.relations.values() if r.group == shape)
        for place, first in enumerate(things):
            for second in things[place + 1 :]:
                self.claim([first], [(Part(predicate, (second,)),)])

    def by_it(self, subjects: list[str]) -> None:
        """Things by a subject: "a cup to its left and a plate below it"."""
        if len(subjects) > 1:
            self.reader.fail("one subject, so that 'it' can stand for it")
        self.list_of_things(by=subjects[0])

    # --- things

    def list_of_things(self, by: str | None = None) -> list[str]:
        """The things of a list; each may be followed by where it is by a thing called "it"."""
        things = []
        while True:
            things.append(self.thing())
            if by:
                self.claim(things[-1:], [(self.says.part(by),)])
            place = self.reader.place
            if self.reader.take_one_of((",", "and")) is None or not self.things.starts():
                self.reader.place = place
                return things

    def thing(self) -> str:
        if self.reader.take_one_of(("a", "an")):
            variable, claims = self.things.introduce(self.things.core())
            self.block.things.append(variable)
            self.block.claims += claims
            more = self.relative_clause(variable)
            self.block.claims += more  # of a rule, if "every" stands in the relative clause
            return variable
        if self.reader.take("every") and self.rule is None:
            return self.begin_rule(self.things.core())
        self.reader.expect("the", "that")
        return self.things.definite()

    def kind(self) -> str:
        core = self.things.core()
        if core.noun.word is None or core.adjectives or core.mark:
            self.reader.fail("a class of things")
        return core.noun.word

    def relative_clause(self, variable: str) -> list[Claim]:
        if not self.reader.take_one_of(("that is", "who is")):
            return []
        return [Claim(variable, saying) for saying in self.says.sayings()]

    def claim(self, subjects: list[str], sayings: list[tuple[Part, ...]]) -> None:
        self.block.claims += [Claim(subject, saying) for subject in subjects for saying in sayings]
