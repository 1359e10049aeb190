"""Parser for drawn worlds that converts a prompt to facts in a single left-to-right pass.

An object that opens a clause is its subject, and the words after a verb describe it; a relation waits for the next
named object. "Not" and "or" are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from formalimg.models.builtin.drawn_world import ReadFact, SceneMention, SceneToken, drawn_lexicon, find_scene_tokens
from formalimg.models.builtin.mentions import JOINTS, MAX_OBJECTS, TextCue, TokenParser

_PREDICATES = ("verb", "owning")


def read_facts(prompt: str, suite_name: str = "natural") -> list[ReadFact]:
    """Return the facts that a prompt states, in reading order and in the vocabulary of the suite."""
    reading = _Reading()
    for sentence in find_scene_tokens(prompt):
        _ClauseParser(sentence, reading).parse()
    names = drawn_lexicon().names.get(suite_name, {})
    facts = dict.fromkeys(
        fact if fact.kind == "object" else fact._replace(value=names.get(fact.value, fact.value))
        for fact in reading.facts
    )
    return [fact for fact in facts if fact.value]


@dataclass
class _Reading:
    """Objects and facts parsed up to the current position."""

    facts: list[ReadFact] = field(default_factory=list)
    named: list[SceneMention] = field(default_factory=list)
    topic: list[int] = field(default_factory=list)  # the subjects of the last clause: what "it" and "they" begin with

    def resolve(self, phrase: SceneMention) -> int | None:
        """Return the object that a noun phrase refers to, adding a new object if no earlier one matches."""
        number = self._antecedent(phrase)
        if number is None:
            if not phrase.label or len(self.named) == MAX_OBJECTS:
                return None
            number = len(self.named)
            self.named.append(phrase)
            self.facts.append(ReadFact("object", phrase.label, (number,)))
            if phrase.several:
                self.facts.append(ReadFact("every", phrase.label, (number,)))
        if phrase.number is not None and not self.has("number", number):
            self.facts.append(ReadFact("number", str(phrase.number), (number,)))
        for attribute in phrase.attributes:
            self.describe(*attribute, [number])
        return number

    def _antecedent(self, phrase: SceneMention) -> int | None:
        """Return the latest object that matches the phrase, or the first object for phrases such as "the first cup"."""
        also = drawn_lexicon().also
        alike = [number for number, earlier in enumerate(self.named) if earlier.label == phrase.label]
        if not alike and (phrase.definite or not phrase.label):
            return next((n for n, earlier in enumerate(self.named) if phrase.text in also.get(earlier.label, ())), None)
        fitting = [number for number in alike if self._may_be(number, phrase)]
        if phrase.definite:
            return (alike[0] if phrase.mark == "first" else (fitting or alike)[-1]) if alike else None
        return fitting[-1] if fitting and not phrase.attributes and phrase.number is None else None

    def _may_be(self, number: int, phrase: SceneMention) -> bool:
        return all(
            fact.value == value
            for kind, value in phrase.attributes
            for fact in self.facts
            if fact.objects == (number,) and fact.kind == kind != "state"
        )

    def has(self, kind: str, number: int) -> bool:
        """Return whether the object has a fact of this kind."""
        return any(fact.kind == kind and fact.objects == (number,) for fact in self.facts)

    def describe(self, kind: str, value: str, objects: Iterable[int]) -> None:
        """Add an attribute to objects without an attribute of this kind; an object may have several states."""
        for number in objects:
            if kind == "state" or not self.has(kind, number):
                self.facts.append(ReadFact(kind, value, (number,)))


class _ClauseParser(TokenParser):
    def __init__(self, tokens: Sequence[SceneToken], reading: _Reading) -> None:
        super().__init__(tokens)
        self.reading = reading
        self.subjects: list[int] = []
        self.main_subjects: list[int] | None = None
        """The subjects of the main clause, while a relative clause is about another object."""
        self.is_aside = False  # whether the relative clause stands behind a comma, so that "and is" goes on with it
        self.described: list[int] = []  # what an attribute is said of: the last object, or after a verb the subjects
        self.last: list[int] = []
        self.owners: list[int] = []  # what "it" is in "has a cup on it", and in "for every cup there is a lid on it"
        self.possessors: list[int] = []  # the subjects of "has", of which the next sentence may go on
        self.pending: list[str] = []  # relations whose second object has not been named yet
        self.finished: list[str] = []  # the relations of the last object, which hold for further ones of a list too
        self.before_subject: list[tuple[str, int]] = []
        """Relations that come before their subject: "on the table is a cup"."""

    def parse(self) -> None:
        super().parse()
        if self.subjects:
            self.reading.topic = self.possessors or self.main_subjects or self.subjects

    # --- objects

    def parse_objects(self) -> None:
        """Parse a noun phrase as the object of a relation or as the subject of a new clause."""
        previous = self.kind_at(self.position - 1)
        topic = previous == "for"
        opens = self.opens_clause(self.position)
        if self.pending and not topic:
            obj = self.take_object()
            if obj is not None:
                self.relate(self.pending, obj)
            self.finished, self.pending = self.pending, []
        elif self.finished and previous in JOINTS and not opens:
            obj = self.take_object()
            if obj is not None:
                self.relate(self.finished, obj)
        elif topic:
            obj = self.take_object()
            self.owners = [] if obj is None else [obj]
        else:
            self.begin_clause(self.take_list())

    def opens_clause(self, index: int) -> bool:
        """Return whether the list of objects at an index is followed by a verb and therefore starts a clause.

        No list names an object twice: "beside a cup and a hat, and the hat is red".
        """
        labels: set[str] = set()
        while isinstance(phrase := self.tokens[index], SceneMention) and phrase.label not in labels:
            labels.add(phrase.label)
            index = self.after_description(index + 1)
            after = self.after_joints(index)
            if after == index or self.kind_at(after) != "object":
                break
            index = after
        return self.kind_at(index) in _PREDICATES

    def after_description(self, index: int) -> int:
        """Return the index after the attributes that follow a noun, including those in a relative clause."""
        if self.kind_at(index) == "which" and self.kind_at(index + 1) == "verb":
            if self.kind_at(index + 2) != "attribute":
                return index
            index += 2
        while self.kind_at(index) == "attribute":
            index += 1
            if self.kind_at(index) == "joint" and self.kind_at(index + 1) == "attribute":
                index += 1
        return index

    def take_list(self) -> list[int]:
        """Consume a list of objects together with the attributes that follow each noun."""
        objects: list[int] = []
        while self.kind_at(self.position) == "object":
            obj = self.take_object()
            objects += [] if obj is None else [obj]
            after = self.after_joints(self.position)
            if after == self.position or self.kind_at(after) != "object":
                break
            self.position = after
        return list(dict.fromkeys(objects))

    def take_object(self) -> int | None:
        phrase = self.tokens[self.position]
        assert isinstance(phrase, SceneMention)
        self.position += 1
        number = self.reading.resolve(phrase)
        self.last = [] if number is None else [number]
        self.described = self.last
        end = self.after_description(self.position)
        for token in self.tokens[self.position : end]:
            if isinstance(token, TextCue) and token.kind == "attribute":
                self.reading.describe(token.meaning[0], token.meaning[1], self.last)
        self.position = end
        return number

    def begin_clause(self, subjects: list[int]) -> None:
        self.subjects, self.main_subjects, self.finished = subjects, None, []
        if self.kind_at(self.position) == "verb":
            self.possessors = []
        for relation, partner in self.before_subject:
            self.add_relation(relation, subjects, [partner])
        self.before_subject = []

    # --- cues

    def parse_cue(self, cue: TextCue) -> None:
        sign = cue.kind
        match sign:
            case "attribute":
                self.reading.describe(cue.meaning[0], cue.meaning[1], self.described)
            case "style" if not any(fact.kind == "style" for fact in self.reading.facts):
                self.reading.facts.append(ReadFact("style", cue.meaning[0]))
            case "relation" if self.subjects or not cue.meaning[0].startswith("-"):
                if self.precedes_subject():
                    self.leave_clause()
                self.pending.append(cue.meaning[0])
            case "relation_to_it":
                self.add_relation(cue.meaning[0], self.subjects, self.it())
            case "it" if self.pending:
                self.relate_to_it()
            case "it" | "they" if self.kind_at(self.position) in _PREDICATES:
                self.begin_clause(self.reading.topic)
                self.described = self.subjects
            case "next" | "before" if self.pending:
                self.link(forward=sign == "next")
            case "verb":
                self.parse_verb()
            case "sequence":
                self.pending.append(cue.meaning[0])
                self.link(forward=True)
            case "owning":
                is_relative = self.kind_at(self.position - 2) == "which"
                self.owners = (self.main_subjects if not is_relative else None) or self.subjects or self.owners
                self.possessors = [] if is_relative else self.owners
                self.subjects, self.main_subjects, self.finished = [], None, []
            case "with" if self.last and not self.pending and self.kind_at(self.position) == "object":
                self.owners, self.subjects, self.main_subjects, self.finished = self.last, [], None, []
            case "which":
                if self.main_subjects is None:
                    self.main_subjects = self.subjects
                self.is_aside = self.kind_at(self.position - 2) == "comma"
                self.subjects, self.described, self.finished = self.last, self.last, []
            case "there" | "while":
                self.leave_clause()

    def leave_clause(self) -> None:
        self.subjects, self.main_subjects, self.finished, self.pending = [], None, [], []

    def precedes_subject(self) -> bool:
        """Return whether a relation after "and" opens a clause with a trailing subject: "and on the bed is a cup"."""
        if self.kind_at(self.position - 2) not in JOINTS or self.kind_at(self.position) != "object":
            return False
        verb = self.after_description(self.position + 1)
        return self.kind_at(verb) == "verb" and self.kind_at(verb + 1) == "object"

    def parse_verb(self) -> None:
        """Start the predicate of a clause, returning to the main subjects after a relative clause."""
        before = self.kind_at(self.position - 2)
        goes_on = before == "joint" and self.is_aside and self.kind_at(self.position - 3) != "comma"
        if self.main_subjects is not None and before != "which" and not goes_on:
            self.subjects, self.main_subjects = self.main_subjects, None
        if not self.subjects and not self.before_subject:
            self.subjects = self.owners
        self.described, self.finished = self.subjects, []

    def it(self) -> list[int]:
        """Return the referents of "it": the owners, else the last object that is not a subject, else the topic."""
        rest = [number for number in self.last if number not in self.subjects]
        return self.owners or rest or [number for number in self.reading.topic if number not in self.subjects]

    def relate_to_it(self) -> None:
        """Relate the subjects to "it", or wait for a trailing subject, as in "beside it is a cup"."""
        relations, self.pending = self.pending, []
        referents = self.it()
        for relation in relations:
            if referents:
                self.add_relation(relation, self.subjects, referents)
            else:
                self.before_subject += [(relation, number) for number in self.subjects]

    def relate(self, relations: Iterable[str], obj: int) -> None:
        """Relate the subjects to an object, or store the relation until a trailing subject is parsed."""
        for relation in relations:
            if self.subjects:
                self.add_relation(relation, self.subjects, [obj])
            else:
                self.before_subject.append((relation, obj))

    def add_relation(self, relation: str, firsts: Iterable[int], seconds: Sequence[int]) -> None:
        backwards = relation.startswith("-")
        for first in firsts:
            for second in seconds:
                if first != second:
                    pair = (second, first) if backwards else (first, second)
                    self.reading.facts.append(ReadFact("relation", relation.removeprefix("-"), pair))

    def link(self, *, forward: bool) -> None:
        """Relate each object of a list to the next or to the previous one."""
        relations, self.pending = self.pending, []
        for relation in relations:
            for first, second in pairwise(self.subjects):
                self.add_relation(relation, [first if forward else second], [second if forward else first])
