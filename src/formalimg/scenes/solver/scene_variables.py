"""CP-SAT variables for the words, ranks, boxes and identities of objects in a scene.

Variables are created on first use, so that properties that the formula does not mention stay free.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, Any

from formalimg.scenes.measures import Measure
from formalimg.scenes.solver.inequalities import OrderClosure
from formalimg.scenes.solver.instantiation import (
    OTHER_WORD,
    OWN_OBJECT,
    WORD_PREDICATES,
    GroundAtom,
    ObjectSlots,
    SlotRef,
    UndecidedSlot,
)
from formalimg.scenes.solver.layout import BoxVariables, Expression, GridLayout, Layout, free_boxes, grid_boxes

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


_LARGEST_AREA, _LARGEST_LENGTH = 1_000_000, 2000  # lengths are doubled


class SceneVariables:
    """Solver variables for the slots of a scene in a layout."""

    def __init__(
        self, model: cp_model.CpModel, slots: ObjectSlots, layout: Layout, closure: OrderClosure, rng: random.Random
    ) -> None:
        self.model = model
        self.slots = slots
        self.closure = closure
        self.words: dict[tuple[SlotRef, str], dict[str, Any]] = {}
        self.styles: dict[str, Any] = {}
        self.choices: dict[UndecidedSlot, list[Any]] = {}
        self.ranks: dict[tuple[SlotRef, Measure], Any] = {}
        self.undecided_measures: dict[tuple[UndecidedSlot, Measure], Any] = {}
        self.identities: dict[SlotRef, Any] = {}
        self.same: dict[tuple[int, int], Any] = {}
        self.own: list[Any] = [None] * slots.count
        self.separations: dict[tuple[int, int, int], Any] = {}
        if slots.may_coincide:
            self.allow_coincidence()
        if isinstance(layout, GridLayout):
            self.boxes: list[BoxVariables] = grid_boxes(model, layout, slots.count, rng)
        else:
            self.boxes = free_boxes(model, layout, self.own, rng)
            self.add_separations(layout.gap)

    # --- words

    def word_literal(self, atom: GroundAtom) -> Any:
        """Return the literal equivalent to an atom about a word, or None for other atoms."""
        if atom.word is None:
            return None
        if atom.objects:
            literals = self.words_of(atom.objects[0], WORD_PREDICATES[atom.predicate])
            literal = literals[atom.word] if atom.word in literals else self.model.new_constant(False)
        else:
            literal = self.style_literal(atom.word)
        return literal if atom.holds else literal.negated()

    def words_of(self, obj: SlotRef, kind: str) -> dict[str, Any]:
        """Return the literals for each possible word of an object."""
        key = (obj, kind)
        if key not in self.words:
            if isinstance(obj, UndecidedSlot):
                self.words[key] = self.undecided_words(obj, kind)
            else:
                possible = [w for w in (*self.slots.mentioned[kind], OTHER_WORD) if w in self.slots.words[obj][kind]]
                literals = {word: self.model.new_bool_var("") for word in possible}
                self.model.add_exactly_one(list(literals.values()))
                if kind == "color" and OTHER_WORD in literals:  # leaves more colours to choose from
                    self.model.add_hint(literals[OTHER_WORD], True)
                self.words[key] = literals
        return self.words[key]

    def style_literal(self, word: str) -> Any:
        """Return the literal for a style. At most one style literal can be true."""
        if word not in self.styles:
            literal = self.model.new_bool_var("")
            for other_style in self.styles.values():
                self.model.add_bool_or([literal.negated(), other_style.negated()])
            self.styles[word] = literal
        return self.styles[word]

    # --- objects that are chosen among the slots

    def choice(self, undecided: UndecidedSlot) -> list[Any]:
        """Return the literals that select a slot for an undecided slot, one for each candidate."""
        if undecided not in self.choices:
            literals = [self.model.new_bool_var("") for _ in range(self.slots.count)]
            self.model.add_exactly_one(literals)
            self.choices[undecided] = literals
        return self.choices[undecided]

    def undecided_words(self, undecided: UndecidedSlot, kind: str) -> dict[str, Any]:
        """Return the word literals for the slot that is selected for an undecided slot."""
        literals = {word: self.model.new_bool_var("") for word in (*self.slots.mentioned[kind], OTHER_WORD)}
        for slot, chosen in enumerate(self.choice(undecided)):
            theirs = self.words_of(slot, kind)
            for word, literal in literals.items():
                if word in theirs:
                    self.model.add(literal == theirs[word]).only_enforce_if(chosen)
                else:
                    self.model.add_implication(chosen, literal.negated())
        return literals

    def measure(self, obj: SlotRef, measure: Measure) -> Expression:
        """Return the expression for a measure of an object. Lengths are doubled."""
        if isinstance(obj, int):
            return self.boxes[obj].measure(measure)
        key = (obj, measure)
        if key not in self.undecided_measures:
            variable = self.model.new_int_var(0, _LARGEST_AREA if measure == "area" else _LARGEST_LENGTH, "")
            for slot, chosen in enumerate(self.choice(obj)):
                self.model.add(variable == self.boxes[slot].measure(measure)).only_enforce_if(chosen)
            self.undecided_measures[key] = variable
        return self.undecided_measures[key]

    def rank(self, obj: SlotRef, order: Measure) -> Any:
        """Return the variable for the rank of an object in an order."""
        key = (obj, order)
        if key not in self.ranks:
            variable = self.ranks[key] = self.model.new_int_var(0, self.slots.count - 1, "")
            if isinstance(obj, UndecidedSlot):
                for slot, chosen in enumerate(self.choice(obj)):
                    self.model.add(variable == self.rank(slot, order)).only_enforce_if(chosen)
        return self.ranks[key]

    # --- slots that are one object

    def allow_coincidence(self) -> None:
        """Allow each slot to be a distinct object or to coincide with an earlier one."""
        for slot in range(self.slots.count):
            earlier = [candidate for candidate in range(slot) if self.could_be_same(candidate, slot)]
            if not earlier:
                continue
            self.own[slot] = self.model.new_bool_var("")
            self.model.add_hint(self.own[slot], slot in self.slots.certain)
            for candidate in earlier:
                literal = self.same[candidate, slot] = self.model.new_bool_var("")
                if self.own[candidate] is not None:
                    self.model.add_implication(literal, self.own[candidate])
            self.model.add_exactly_one([self.own[slot], *(self.same[candidate, slot] for candidate in earlier)])

    def own_literal(self, atom: GroundAtom) -> Any:
        """Return the literal for whether a slot is a distinct object, or None for other atoms."""
        if atom.predicate != OWN_OBJECT:
            return None
        (slot,) = atom.objects
        assert isinstance(slot, int)
        literal = self.own[slot]
        if literal is None:  # certainly one
            return self.model.new_constant(atom.holds)
        return literal if atom.holds else literal.negated()

    def identity(self, obj: SlotRef) -> Any:
        """Return an expression for the number of the object that a slot represents."""
        if obj not in self.identities:
            if isinstance(obj, int):
                earlier = [first * same for (first, second), same in self.same.items() if second == obj]
                self.identities[obj] = sum(earlier) + obj * self.own[obj] if earlier else obj
            else:
                variable = self.identities[obj] = self.model.new_int_var(0, self.slots.count - 1, "")
                for slot, chosen in enumerate(self.choice(obj)):
                    self.model.add(variable == self.identity(slot)).only_enforce_if(chosen)
        return self.identities[obj]

    def add_separations(self, gap: int) -> None:
        """Require distinct objects to be separated along at least one axis.

        Atoms may exclude some of these separations.
        """
        edges: tuple[tuple[Measure, Measure], ...] = (("xmax", "xmin"), ("ymax", "ymin"))
        for earlier, later in combinations(range(self.slots.count), 2):
            alternatives = []
            for axis, (end, start) in enumerate(edges):
                for first, second in ((earlier, later), (later, earlier)):
                    literal = self.separations[axis, first, second] = self.model.new_bool_var("")
                    apart = self.boxes[second].measure(start) - self.boxes[first].measure(end) >= 2 * gap
                    self.model.add(apart).only_enforce_if(literal)
                    alternatives.append(literal)
            copies = [
                own_literal.negated() for own_literal in (self.own[earlier], self.own[later]) if own_literal is not None
            ]
            self.model.add_bool_or([*alternatives, *copies])

    def could_be_same(self, first: int, second: int) -> bool:
        """Return whether two slots may represent the same object."""
        if self.closure.are_distinct(first, second):
            return False
        return all(self.slots.words[first][kind] & self.slots.words[second][kind] for kind in WORD_PREDICATES.values())

    def link_coincident(self) -> None:
        """Equate the boxes, ranks and words of coinciding slots. Must be called last."""
        edges: tuple[Measure, ...] = ("xmin", "ymin", "xmax", "ymax")
        for (earlier, later), same in self.same.items():
            for edge in edges:
                first_edge, second_edge = self.boxes[earlier].measure(edge), self.boxes[later].measure(edge)
                self.model.add(first_edge == second_edge).only_enforce_if(same)
            for order in {order: None for obj, order in self.ranks if obj in (earlier, later)}:
                self.model.add(self.rank(earlier, order) == self.rank(later, order)).only_enforce_if(same)
            for kind in WORD_PREDICATES.values():
                if self.constrains_words(earlier, kind) or self.constrains_words(later, kind):
                    self.link_words(self.words_of(earlier, kind), self.words_of(later, kind), same)

    def constrains_words(self, slot: int, kind: str) -> bool:
        """Return whether the word of this kind is constrained for the slot."""
        return (slot, kind) in self.words or len(self.slots.words[slot][kind]) <= len(self.slots.mentioned[kind])

    def link_words(self, ours: dict[str, Any], theirs: dict[str, Any], same: Any) -> None:
        """Require two slots to have the same word if they represent the same object."""
        for word in {**ours, **theirs}:
            if word in ours and word in theirs:
                self.model.add(ours[word] == theirs[word]).only_enforce_if(same)
            else:
                self.model.add_implication(same, (ours if word in ours else theirs)[word].negated())
