"""The reader baseline: an image model that follows simple instructions and fails on long ones.

A sentence is parsed from mentions and cues to spatial facts, left to right, without looking back. An object that opens
a clause is its subject, and the following words describe it; a relation waits for the next named object. "Not" and "or"
are ignored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from random import Random

from formalimg.models.builtin.mentions import (
    EntityTracker,
    ObjectGroup,
    ObjectMention,
    PromptToken,
    TextCue,
    TokenParser,
    find_tokens,
)
from formalimg.models.builtin.placement import PlacementFact, best_box, fact_holds
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene

_CLAUSE_OPENERS = ("verb", "owning", "place", "relation", "relation_to_it", "alignment", "color")


def parse_sentence(tokens: Sequence[PromptToken], entities: EntityTracker) -> list[PlacementFact]:
    """Return the facts of a sentence, adding its objects and their colours to `entities`."""
    parser = _SentenceParser(tokens, entities)
    parser.parse()
    return list(dict.fromkeys(parser.facts))


class _SentenceParser(TokenParser):
    def __init__(self, tokens: Sequence[PromptToken], entities: EntityTracker) -> None:
        super().__init__(tokens)
        self.entities = entities
        self.facts: list[PlacementFact] = []
        self.subjects: list[ObjectGroup] = []
        self.objects: list[ObjectGroup] = []  # the objects of the clause besides its subjects
        self.owners: list[ObjectGroup] = []  # whose surroundings are described: "it" in "has a cup to its left"
        self.possessors: list[ObjectGroup] = []  # the subjects of "has", of which the next sentence may go on
        self.pending: list[str] = []  # relations whose second object has not been mentioned yet
        self.places_before_subject: list[str] = []
        self.relations_before_subject: list[tuple[str, list[ObjectGroup]]] = []
        """What comes before its subject: "on the left are a cup and a plate"."""
        self.links: list[tuple[ObjectGroup, ObjectGroup]] = []
        """Each object of an ordered list with the one it is compared to."""
        self.sequence: str | None = None

    def parse(self) -> None:
        super().parse()
        self.entities.topic = self.possessors or self.subjects or self.entities.topic

    # --- objects

    def parse_objects(self) -> None:
        """Parse a list of objects as the subjects of a new clause or as the objects of a relation."""
        named = [self.take_object()]
        while (after := self.after_joints(self.position)) > self.position and self.kind_at(after) == "object":
            self.position = after
            named.append(self.take_object())
        opens = self.kind_at(self.position) in _CLAUSE_OPENERS
        if not self.pending:
            self.begin_clause(list(dict.fromkeys(named)))
            return
        first, rest = named[:1], list(dict.fromkeys(named[1:]))
        relations, self.pending = self.pending, []
        if not self.subjects or (not rest and self.precedes_subject()):
            self.relations_before_subject += [(relation, first) for relation in relations]
        else:
            self.relate(relations, self.subjects, first)
        self.objects = first
        if rest and opens:
            self.begin_clause(rest)
        elif rest:
            self.relate(relations, self.subjects, rest)
            self.objects = rest[-1:]

    def take_object(self) -> ObjectGroup:
        mention = self.tokens[self.position]
        assert isinstance(mention, ObjectMention)
        self.position += 1
        return self.entities.resolve(mention)

    def precedes_subject(self) -> bool:
        """Return whether the subject follows the relation: "to the right of the hat is a cup"."""
        return self.kind_at(self.position) == "verb" and self.kind_at(self.position + 1) == "object"

    def begin_clause(self, subjects: list[ObjectGroup]) -> None:
        self.subjects, self.objects, self.links = subjects, [], []
        if self.kind_at(self.position) == "verb":
            self.possessors = []
        self.put(self.places_before_subject, subjects)
        for relation, partners in self.relations_before_subject:
            self.relate([relation], subjects, partners)
        self.places_before_subject, self.relations_before_subject = [], []
        self.order_subjects()

    def order_subjects(self) -> None:
        """Relate each subject to the next if the clause has several subjects and a sequence."""
        if self.sequence and len(self.subjects) > 1:
            self.link(self.sequence, list(pairwise(self.subjects)))
            self.sequence = None

    # --- cues

    def parse_cue(self, cue: TextCue) -> None:
        sign = cue.kind
        match sign:
            case "place" if self.subjects:
                self.put(cue.meaning, self.subjects)
            case "place":
                self.places_before_subject += cue.meaning
            case "color":
                for group in self.subjects:
                    self.entities.paint(group, cue.meaning[0])
            case "relation":
                self.pending += cue.meaning
            case "relation_to_it":
                self.relate(cue.meaning, self.subjects, self.it())
            case "alignment":
                self.parse_alignment(cue.meaning[0])
            case "sequence":
                self.sequence = cue.meaning[0]
                self.order_subjects()
            case "it" if self.pending:
                self.relate_to_it()
            case "it" if not self.subjects:
                self.subjects = self.entities.topic
            case "for" if self.kind_at(self.position) == "object":
                self.owners = [self.take_object()]
                self.subjects, self.objects, self.links = [], [], []
            case "next" | "before" if self.pending:
                forward = sign == "next"
                self.links = [(a, b) if forward else (b, a) for a, b in pairwise(self.subjects)]
                self.relate_to_it()
            case "owning" | "there" | "with":
                self.owners = (self.objects if sign == "with" else []) or self.subjects or self.owners
                self.possessors = self.subjects if sign == "owning" else []
                self.subjects, self.objects, self.links = [], [], []
            case "which":
                self.subjects, self.objects = self.objects or self.subjects, []

    def parse_alignment(self, predicate: str) -> None:
        """Align objects with the next mention or with each other."""
        if self.kind_at(self.position) == "with":
            self.position += 1
            self.pending.append(predicate)
        elif self.kind_at(self.position) == "relation":
            self.pending.append(predicate)
        else:
            together = self.subjects if len(self.subjects) > 1 else [*self.subjects, *self.objects]
            self.link(predicate, list(combinations(together, 2)))

    def relate_to_it(self) -> None:
        relations, self.pending = self.pending, []
        if self.links:
            for relation in relations:
                self.link(relation, self.links)
        else:
            self.relate(relations, self.subjects, self.it())

    def it(self) -> list[ObjectGroup]:
        """Return the referents of "it": the last objects of the clause except its subjects, else the owners."""
        return self.objects or self.owners

    def put(self, places: Iterable[str], subjects: Sequence[ObjectGroup]) -> None:
        self.facts += [
            PlacementFact(predicate, (obj,)) for predicate in places for subject in subjects for obj in subject
        ]

    def relate(
        self, relations: Iterable[str], subjects: Sequence[ObjectGroup], partners: Sequence[ObjectGroup]
    ) -> None:
        for relation in relations:
            self.link(relation, [(subject, partner) for subject in subjects for partner in partners])

    def link(self, predicate: str, links: Iterable[tuple[ObjectGroup, ObjectGroup]]) -> None:
        for subject, partner in links:
            if subject != partner:
                self.facts += [PlacementFact(predicate, (first, second)) for first in subject for second in partner]


DEFAULT_MEMORY = 12  # how many facts are kept. It does for most instructions up to K = 3, and not for long ones.
_SEVERAL = 2  # how many objects are drawn for "every fork"


def compose_scene(prompt: str, seed: int = 0, *, memory: int = DEFAULT_MEMORY) -> Scene:
    """Return the scene that the reader composes from a prompt; empty if nothing in it can be drawn.

    Each sentence is parsed and laid out once. Only the latest facts are kept, so later objects are placed and moved
    without regard to earlier facts.
    """
    rng = Random(f"{seed} {prompt}")
    entities = EntityTracker(several=_SEVERAL)
    layout = ReaderLayout(deque(maxlen=memory), rng)
    for sentence in find_tokens(prompt):
        facts = parse_sentence(sentence, entities)
        layout.labels.update((obj, entity.label) for obj, entity in entities)
        layout.add(facts)
    for obj in layout.labels:
        layout.place(obj)
    return entities.scene(layout.boxes, rng)


@dataclass
class ReaderLayout:
    """A layout under construction. Objects are never removed, and the layout is never restarted."""

    memory: deque[PlacementFact]  # the latest facts; older ones are forgotten, and no longer taken into account
    rng: Random  # decides between equally good boxes
    labels: dict[int, str] = field(default_factory=dict)  # the classes of all objects
    boxes: dict[int, Box] = field(default_factory=dict)  # the boxes of the objects that have been placed

    def add(self, facts: list[PlacementFact]) -> None:
        """Place the new objects of a sentence, then repair violated facts."""
        self.memory.extend(facts)
        for fact in facts:
            for obj in fact.objects:
                self.place(obj)
        for fact in facts:
            if fact in self.memory and self._fails(fact):
                self._repair(fact)

    def place(self, obj: int) -> None:
        """Place an object where most facts in memory hold; skip it if there is no free box."""
        if obj in self.boxes:
            return
        box = best_box(self.labels[obj], obj, self._facts_about(obj), self.boxes, self.rng)
        if box is not None:
            self.boxes[obj] = box

    def _repair(self, fact: PlacementFact) -> None:
        """Move one object to satisfy a fact, then repair each disturbed neighbouring fact once."""
        for obj in fact.objects:
            disturbed = self._move(obj, fact)
            if disturbed is not None:
                for neighbour in disturbed:
                    for partner in neighbour.objects:
                        if self._fails(neighbour):
                            self._move(partner, neighbour, gain=1)
                return

    def _move(self, obj: int, fact: PlacementFact, gain: int = 0) -> list[PlacementFact] | None:
        """Move an object so that a fact holds and the number of its violated facts drops by at least `gain`.

        Returns the facts that are violated after the move, or None if the object is not moved.
        """
        facts = self._facts_about(obj)
        before = sum(map(self._fails, facts))
        previous = self.boxes[obj]
        box = best_box(self.labels[obj], obj, [*facts, fact], self.boxes, self.rng)
        if box is None:
            return None
        self.boxes[obj] = box
        failing = [neighbour for neighbour in facts if self._fails(neighbour)]
        if self._fails(fact) or len(failing) > before - gain:
            self.boxes[obj] = previous
            return None
        return failing

    def _facts_about(self, obj: int) -> list[PlacementFact]:
        """Return the facts in memory that relate an object to placed objects."""
        return [
            fact
            for fact in self.memory
            if obj in fact.objects and all(partner in self.boxes for partner in fact.objects if partner != obj)
        ]

    def _fails(self, fact: PlacementFact) -> bool:
        return all(obj in self.boxes for obj in fact.objects) and not fact_holds(fact, self.boxes)
