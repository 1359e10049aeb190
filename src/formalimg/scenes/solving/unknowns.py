"""The unknowns of a scene to come: words, orders, chosen objects, and places that are one object.

All are made when first asked for, so that what the formula does not speak of stays free.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, Any

from formalimg.scenes.rules import Measure
from formalimg.scenes.solving.bodies import Body, Expression, Grid, Layout, free_bodies, neat_bodies
from formalimg.scenes.solving.expanding import Placed
from formalimg.scenes.solving.ordering import Closure
from formalimg.scenes.solving.places import LOOKS, OTHER, Chosen, Places, Shadow

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_LARGEST_AREA, _LARGEST_LENGTH = 1_000_000, 2000  # lengths are doubled


class Unknowns:
    """The unknowns of so many places in a layout."""

    def __init__(
        self, model: cp_model.CpModel, places: Places, layout: Layout, closure: Closure, chance: random.Random
    ) -> None:
        self.model = model
        self.places = places
        self.closure = closure
        self.words: dict[tuple[Chosen, str], dict[str, Any]] = {}
        self.styles: dict[str, Any] = {}
        self.choices: dict[Shadow, list[Any]] = {}
        self.ranks: dict[tuple[Chosen, Measure], Any] = {}
        self.shadow_measures: dict[tuple[Shadow, Measure], Any] = {}
        self.same: dict[tuple[int, int], Any] = {}
        self.own: list[Any] = [None] * places.count
        self.separations: dict[tuple[int, int, int], Any] = {}
        if places.may_coincide:
            self.let_coincide()
        if isinstance(layout, Grid):
            self.bodies: list[Body] = neat_bodies(model, layout, places.count, chance)
        else:
            self.bodies = free_bodies(model, layout, self.own, chance)
            self.keep_apart(layout.gap)

    # --- words

    def word_literal(self, fact: Placed) -> Any:
        """The literal that a fact about words is so; None if it is about something else."""
        if fact.word is None:
            return None
        if fact.objects:
            literals = self.words_of(fact.objects[0], LOOKS[fact.predicate])
            literal = literals[fact.word] if fact.word in literals else self.model.new_constant(False)
        else:
            literal = self.style_literal(fact.word)
        return literal if fact.holds else literal.negated()

    def words_of(self, obj: Chosen, kind: str) -> dict[str, Any]:
        """For each word that an object may have, the literal that it has it."""
        key = (obj, kind)
        if key not in self.words:
            if isinstance(obj, Shadow):
                self.words[key] = self.shadow_words(obj, kind)
            else:
                possible = [w for w in (*self.places.mentioned[kind], OTHER) if w in self.places.words[obj][kind]]
                literals = {word: self.model.new_bool_var("") for word in possible}
                self.model.add_exactly_one(list(literals.values()))
                if kind == "color" and OTHER in literals:  # leaves more colours to choose from
                    self.model.add_hint(literals[OTHER], True)
                self.words[key] = literals
        return self.words[key]

    def style_literal(self, word: str) -> Any:
        """The literal that the image has a style; it has one at most."""
        if word not in self.styles:
            literal = self.model.new_bool_var("")
            for other in self.styles.values():
                self.model.add_bool_or([literal.negated(), other.negated()])
            self.styles[word] = literal
        return self.styles[word]

    # --- objects that are chosen among the places

    def choice(self, shadow: Shadow) -> list[Any]:
        """For each place, the literal that a shadow is there."""
        if shadow not in self.choices:
            literals = [self.model.new_bool_var("") for _ in range(self.places.count)]
            self.model.add_exactly_one(literals)
            self.choices[shadow] = literals
        return self.choices[shadow]

    def shadow_words(self, shadow: Shadow, kind: str) -> dict[str, Any]:
        """The words of the place that a shadow is at."""
        literals = {word: self.model.new_bool_var("") for word in (*self.places.mentioned[kind], OTHER)}
        for place, chosen in enumerate(self.choice(shadow)):
            theirs = self.words_of(place, kind)
            for word, literal in literals.items():
                if word in theirs:
                    self.model.add(literal == theirs[word]).only_enforce_if(chosen)
                else:
                    self.model.add_implication(chosen, literal.negated())
        return literals

    def measure(self, obj: Chosen, measure: Measure) -> Expression:
        """A measure of an object; lengths are doubled."""
        if isinstance(obj, int):
            return self.bodies[obj].measure(measure)
        key = (obj, measure)
        if key not in self.shadow_measures:
            variable = self.model.new_int_var(0, _LARGEST_AREA if measure == "area" else _LARGEST_LENGTH, "")
            for place, chosen in enumerate(self.choice(obj)):
                self.model.add(variable == self.bodies[place].measure(measure)).only_enforce_if(chosen)
            self.shadow_measures[key] = variable
        return self.shadow_measures[key]

    def rank(self, obj: Chosen, order: Measure) -> Any:
        """The number of an object in an order."""
        key = (obj, order)
        if key not in self.ranks:
            variable = self.ranks[key] = self.model.new_int_var(0, self.places.count - 1, "")
            if isinstance(obj, Shadow):
                for place, chosen in enumerate(self.choice(obj)):
                    self.model.add(variable == self.rank(place, order)).only_enforce_if(chosen)
        return self.ranks[key]

    # --- places that are one object

    def let_coincide(self) -> None:
        """Each place is an object of its own, or the same object as an earlier place that is."""
        for place in range(self.places.count):
            earlier = [one for one in range(place) if self.could_be_same(one, place)]
            if not earlier:
                continue
            self.own[place] = self.model.new_bool_var("")
            self.model.add_hint(self.own[place], place in self.places.certain)
            for one in earlier:
                literal = self.same[one, place] = self.model.new_bool_var("")
                if self.own[one] is not None:
                    self.model.add_implication(literal, self.own[one])
            self.model.add_exactly_one([self.own[place], *(self.same[one, place] for one in earlier)])

    def keep_apart(self, gap: int) -> None:
        """Of two different objects one lies before the other, across or down; facts can exclude some of these ways."""
        edges: tuple[tuple[Measure, Measure], ...] = (("xmax", "xmin"), ("ymax", "ymin"))
        for one, other in combinations(range(self.places.count), 2):
            ways = []
            for axis, (end, start) in enumerate(edges):
                for first, second in ((one, other), (other, one)):
                    literal = self.separations[axis, first, second] = self.model.new_bool_var("")
                    apart = self.bodies[second].measure(start) - self.bodies[first].measure(end) >= 2 * gap
                    self.model.add(apart).only_enforce_if(literal)
                    ways.append(literal)
            copies = [own.negated() for own in (self.own[one], self.own[other]) if own is not None]
            self.model.add_bool_or([*ways, *copies])

    def could_be_same(self, one: int, other: int) -> bool:
        """Is it not yet certain that two places are different objects?"""
        if self.closure.tells_apart(one, other):
            return False
        return all(self.places.words[one][kind] & self.places.words[other][kind] for kind in LOOKS.values())

    def link_coincident(self) -> None:
        """Whatever is known of one place is known of those that coincide with it; to be called last."""
        edges: tuple[Measure, ...] = ("xmin", "ymin", "xmax", "ymax")
        for (one, other), same in self.same.items():
            for edge in edges:
                left, right = self.bodies[one].measure(edge), self.bodies[other].measure(edge)
                self.model.add(left == right).only_enforce_if(same)
            for order in {order: None for obj, order in self.ranks if obj in (one, other)}:
                self.model.add(self.rank(one, order) == self.rank(other, order)).only_enforce_if(same)
            for kind in LOOKS.values():
                if self.speaks_of_words(one, kind) or self.speaks_of_words(other, kind):
                    self.link_words(self.words_of(one, kind), self.words_of(other, kind), same)

    def speaks_of_words(self, place: int, kind: str) -> bool:
        """Does it matter which word of a kind the place has?"""
        return (place, kind) in self.words or len(self.places.words[place][kind]) <= len(self.places.mentioned[kind])

    def link_words(self, ours: dict[str, Any], theirs: dict[str, Any], same: Any) -> None:
        """Both have the same word, if they are the same."""
        for word in {**ours, **theirs}:
            if word in ours and word in theirs:
                self.model.add(ours[word] == theirs[word]).only_enforce_if(same)
            else:
                self.model.add_implication(same, (ours if word in ours else theirs)[word].negated())
