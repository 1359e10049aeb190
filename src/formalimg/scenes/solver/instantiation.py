"""Instantiate the quantifiers of claims over the object slots of a scene.

A slot is an object of that scene, reserved for a variable that needs one. Over finitely many slots, quantifiers become
finite conjunctions or disjunctions; parts that are already certain are simplified away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple, TypeAlias

from formalimg.logic.syntax import DISTINCT, Value
from formalimg.scenes.solver.inequalities import holds_reflexively
from formalimg.scenes.solver.nnf import (
    AllBut,
    AllOf,
    AnyOf,
    AtomClaim,
    Claim,
    Each,
    Every,
    Many,
    Some,
    atom_claims,
    free_names,
    needs_object,
)
from formalimg.scenes.solver.results import SolverLimitError

MAX_SLOTS = 100  # The maximum objects that counts may ask for
OWN_OBJECT = "is an object of its own"
"""The predicate that a slot is not the same object as an earlier one: objects are counted once."""

OTHER_WORD = ""  # Stands for every word that the formula does not mention
WORD_PREDICATES = {"Is": "class", "Has": "color"}
"""The predicates that are decided by a word of an object, and the kind of the word."""


@dataclass(frozen=True, slots=True, eq=False)
class UndecidedSlot:
    """A reference to a slot that the solver chooses."""


SlotRef: TypeAlias = int | UndecidedSlot
"""What a variable stands for: a slot by its number, or one that is yet to be chosen."""

Binding: TypeAlias = Mapping[str, SlotRef]

Occasion: TypeAlias = tuple[Claim, tuple[SlotRef, ...]]
"""A claim that needs objects, and what its free variables stand for."""


def requirement_key(claim: Claim, binding: Binding) -> Occasion:
    """Return the key for the slots reserved for a claim under a binding."""
    return claim, tuple(binding[name] for name in free_names(claim))


@dataclass
class ObjectSlots:
    """The slots of a scene, their reservations for requirements and their possible words."""

    may_coincide: bool  # whether several slots can turn out to be one object
    count: int = 0  # how many slots there are
    reserved: dict[Occasion, tuple[int, ...]] = field(default_factory=dict)  # the slots reserved for each requirement
    # for each slot, the words of each kind that are still possible
    words: list[dict[str, frozenset[str]]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)  # the slots of the variables that an outermost `exists` binds
    certain: set[int] = field(default_factory=set)  # the slots that are needed whatever the alternatives
    # the words of each kind that the formula mentions
    mentioned: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self) -> int:
        """Add an unconstrained slot and return its number."""
        self.words.append({kind: frozenset([*words, OTHER_WORD]) for kind, words in self.mentioned.items()})
        self.count += 1
        return self.count - 1

    def restrict(self, slot: int, literal: AtomClaim) -> None:
        """Restrict the possible words of a slot according to an atom."""
        kind, word = WORD_PREDICATES[literal.atom.predicate], get_quoted_word(literal)
        possible = self.words[slot][kind]
        self.words[slot][kind] = possible & {word} if literal.holds else possible - {word}


def get_quoted_word(literal: AtomClaim) -> str:
    """Return the quoted word of an atom."""
    word = literal.atom.arguments[-1]
    assert isinstance(word, Value)
    return word.text


def collect_words(claim: Claim) -> dict[str, tuple[str, ...]]:
    """Return the words mentioned in a claim by kind, in alphabetical order."""
    by_kind: dict[str, set[str]] = {kind: set() for kind in WORD_PREDICATES.values()}
    for literal in atom_claims(claim):
        if literal.atom.predicate in WORD_PREDICATES:
            by_kind[WORD_PREDICATES[literal.atom.predicate]].add(get_quoted_word(literal))
    return {kind: tuple(sorted(words)) for kind, words in by_kind.items()}


def build_distinct_slots(claim: Claim, instances: int) -> ObjectSlots:
    """Create distinct slots for a tidy scene, with one for each variable that must have an object."""
    slots = ObjectSlots(False, mentioned=collect_words(claim))
    _reserve_for_claim(claim, {}, slots, instances, certain=True)
    return slots


def build_shared_slots(claim: Claim) -> ObjectSlots:
    """Create slots for a proof, with one for each variable that may need an object. Slots may coincide."""
    slots = ObjectSlots(True, mentioned=collect_words(claim))
    _reserve_for_claim(claim, {}, slots, 1, certain=True)
    return slots


def _reserve_for_claim(
    claim: Claim, binding: dict[str, int], slots: ObjectSlots, instances: int, *, certain: bool
) -> None:
    """Reserve the slots that a claim requires. `certain` indicates that the claim must hold."""
    match claim:
        case AtomClaim(atom) if certain and atom.predicate in WORD_PREDICATES:
            slots.restrict(binding[atom.variables[0]], claim)
        case AllOf(parts):
            for part in parts:
                _reserve_for_claim(part, binding, slots, instances, certain=certain)
        case AnyOf(parts) if slots.may_coincide:  # otherwise a slot might be left over
            for part in parts:
                _reserve_for_claim(part, binding, slots, instances, certain=False)
        case Some(variable, body):
            (slot,) = _reserve_slots(claim, binding, slots, 1)
            if certain:
                slots.certain.add(slot)
                if not free_names(claim) or all(name in slots.names for name in free_names(claim)):
                    slots.names[variable] = slot
            _reserve_for_claim(body, {**binding, variable: slot}, slots, instances, certain=certain)
        case Many(number, variable, body):
            for slot in _reserve_slots(claim, binding, slots, number):
                if certain:
                    slots.certain.add(slot)
                _reserve_for_claim(body, {**binding, variable: slot}, slots, instances, certain=certain)
        case Every(variable, condition, _, consequent, needs_instance) if needs_instance:
            for slot in _reserve_slots(claim, binding, slots, instances):
                if certain:
                    slots.certain.add(slot)
                inner = {**binding, variable: slot}
                _reserve_for_claim(condition, inner, slots, instances, certain=certain)
                _reserve_for_claim(consequent, inner, slots, instances, certain=certain)


def _reserve_slots(claim: Claim, binding: Mapping[str, int], slots: ObjectSlots, number: int) -> tuple[int, ...]:
    key = requirement_key(claim, binding)
    if key not in slots.reserved:
        if number > 1 and slots.count + number > MAX_SLOTS:
            raise SolverLimitError(
                f"the formula may need {slots.count + number:,} objects: the solver places up to {MAX_SLOTS}"
            )
        slots.reserved[key] = tuple(slots.add() for _ in range(number))
    return slots.reserved[key]


_MAX_PARTS = 150_000


class _TooLargeError(Exception):
    """Raised if an instantiated claim would have too many parts."""


class GroundAtom(NamedTuple):
    """A predicate, with an optional word, that holds or fails for specific slots."""

    predicate: str
    objects: tuple[SlotRef, ...]
    word: str | None
    holds: bool


@dataclass(frozen=True, slots=True, eq=False)
class Conjunction:
    """A claim that all parts hold."""

    parts: tuple[GroundClaim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AtLeast:
    """A claim that at least `number` of the parts hold."""

    number: int
    parts: tuple[GroundClaim, ...]


GroundClaim: TypeAlias = bool | GroundAtom | Conjunction | AtLeast


def instantiate(claim: Claim, slots: ObjectSlots, instances: int) -> GroundClaim | None:
    """Instantiate a claim over the slots, or return None if the result would have too many parts."""
    try:
        return _Instantiator(slots, instances).instantiate(claim, {})
    except _TooLargeError:
        return None


class _Instantiator:
    def __init__(self, slots: ObjectSlots, instances: int) -> None:
        self.slots = slots
        self.instances = instances
        self.known: dict[tuple[Claim, tuple[SlotRef, ...]], GroundClaim] = {}
        self.parts = 0

    def instantiate(self, claim: Claim, binding: Binding) -> GroundClaim:
        if isinstance(claim, AtomClaim):
            return self.literal(claim, binding)
        key = (claim, tuple(binding[name] for name in free_names(claim)))
        if key not in self.known:
            self.known[key] = self.fresh(claim, binding)
        return self.known[key]

    def fresh(self, claim: Claim, binding: Binding) -> GroundClaim:
        match claim:
            case AllOf(parts):
                return self.all_of([self.instantiate(part, binding) for part in parts])
            case AnyOf(parts):
                return self.at_least(1, [self.instantiate(part, binding) for part in parts])
            case Each(variable, body):
                return self.all_of(self.for_each(variable, body, binding))
            case Some(variable, body):
                return self.some(claim, variable, body, binding)
            case Many(number, variable, body):
                return self.many(claim, number, variable, body, binding)
            case AllBut(number, variable, body):
                left_out = [
                    self.at_least(1, [self.own(slot, False), part])
                    for slot, part in self.bodies(variable, body, binding)
                ]
                return self.at_least(self.slots.count - number, left_out)
            case Every(variable, condition, exception, consequent, needs_instance):
                rule = [
                    self.at_least(
                        1, [self.instantiate(part, {**binding, variable: slot}) for part in (exception, consequent)]
                    )
                    for slot in range(self.slots.count)
                ]
                if needs_instance:
                    rule.append(self.met(claim, variable, condition, binding))
                return self.all_of(rule)
            case AtomClaim():
                raise AssertionError("atoms are instantiated at once")

    def some(self, claim: Claim, variable: str, body: Claim, binding: Binding) -> GroundClaim:
        reserved = self.slots.reserved.get(requirement_key(claim, binding))
        if reserved is not None:
            return self.instantiate(body, {**binding, variable: reserved[0]})
        if needs_object(body):  # trying each slot for each of several variables would be too many
            return self.instantiate(body, {**binding, variable: UndecidedSlot()})
        return self.at_least(1, self.for_each(variable, body, binding))

    def many(self, claim: Claim, number: int, variable: str, body: Claim, binding: Binding) -> GroundClaim:
        reserved = self.slots.reserved.get(requirement_key(claim, binding))
        if reserved is None:
            counted = [self.all_of([self.own(slot, True), part]) for slot, part in self.bodies(variable, body, binding)]
            return self.at_least(number, counted)
        parts = [self.instantiate(body, {**binding, variable: slot}) for slot in reserved]
        return self.all_of([*parts, *(self.distinct(pair, True) for pair in combinations(reserved, 2))])

    def own(self, slot: int, holds: bool) -> GroundClaim:
        """Return the claim that a slot is (or is not) an object distinct from earlier slots."""
        return GroundAtom(OWN_OBJECT, (slot,), None, holds) if self.slots.may_coincide and slot else holds

    def distinct(self, objects: tuple[SlotRef, ...], holds: bool) -> GroundClaim:
        decided = not self.slots.may_coincide and all(isinstance(obj, int) for obj in objects)
        return holds if decided else GroundAtom(DISTINCT, objects, None, holds)

    def met(self, claim: Claim, variable: str, condition: Claim, binding: Binding) -> GroundClaim:
        reserved = self.slots.reserved.get(requirement_key(claim, binding))
        if reserved is not None:
            return self.all_of([self.instantiate(condition, {**binding, variable: slot}) for slot in reserved])
        number = 1 if self.slots.may_coincide else self.instances
        return self.at_least(number, self.for_each(variable, condition, binding))

    def for_each(self, variable: str, body: Claim, binding: Binding) -> list[GroundClaim]:
        return [part for _, part in self.bodies(variable, body, binding)]

    def bodies(self, variable: str, body: Claim, binding: Binding) -> list[tuple[int, GroundClaim]]:
        return [(slot, self.instantiate(body, {**binding, variable: slot})) for slot in range(self.slots.count)]

    def literal(self, literal: AtomClaim, binding: Binding) -> GroundClaim:
        predicate = literal.atom.predicate
        objects = tuple(binding[name] for name in literal.atom.variables)
        if len(objects) == 2:
            if objects[0] is objects[1] or objects[0] == objects[1]:
                return (predicate != DISTINCT and holds_reflexively(predicate)) == literal.holds
            if predicate == DISTINCT:
                return self.distinct(objects, literal.holds)
            return GroundAtom(predicate, objects, None, literal.holds)
        if len(literal.atom.arguments) == 1 and objects:
            return GroundAtom(predicate, objects, None, literal.holds)
        word = get_quoted_word(literal)
        if predicate in WORD_PREDICATES and isinstance(objects[0], int):
            possible = self.slots.words[objects[0]][WORD_PREDICATES[predicate]]
            if word not in possible:
                return not literal.holds
            if len(possible) == 1:
                return literal.holds
        return GroundAtom(predicate, objects, word, literal.holds)

    def all_of(self, parts: list[GroundClaim]) -> GroundClaim:
        open_parts = [part for part in parts if part is not True]
        if any(part is False for part in open_parts):
            return False
        self.count(len(open_parts))
        return (open_parts[0] if len(open_parts) == 1 else Conjunction(tuple(open_parts))) if open_parts else True

    def at_least(self, number: int, parts: list[GroundClaim]) -> GroundClaim:
        number -= sum(part is True for part in parts)
        open_parts = [part for part in parts if not isinstance(part, bool)]
        if number <= 0:
            return True
        if len(open_parts) <= number:
            return self.all_of(list(open_parts)) if len(open_parts) == number else False
        self.count(len(open_parts))
        return AtLeast(number, tuple(open_parts))

    def count(self, parts: int) -> None:
        self.parts += parts
        if self.parts > _MAX_PARTS:
            raise _TooLargeError
