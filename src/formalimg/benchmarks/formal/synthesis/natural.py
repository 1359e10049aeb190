"""Synthesis of Natural formulas: everyday objects in a style, with plausible attributes and relations."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from formalimg.benchmarks.formal.synthesis.oddity import PLACED, bearer_of, load_of
from formalimg.benchmarks.formal.synthesis.skeleton import Skeleton, draw_skeleton
from formalimg.language.ontology.knowledge import Grip, Top, ontology
from formalimg.language.ontology.plausibility import find_implausible
from formalimg.logic.syntax import And, Atom, Formula, Value, Variable
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES

_RELATION_WEIGHTS = {"LeftOf": 0.8, "RightOf": 0.8, "On": 1.06, "In": 2.51, "Holding": 3.29, "NextTo": 0.8}
_ATTRIBUTE_WEIGHTS = {"HasColor": 0.75, "HasMaterial": 0.98, "HasShape": 1.49, "HasState": 0.71}
"""Chances that make up for how often a draw has to be given up, so that all predicates are said about equally often."""

_ATTRIBUTES = 0.3
"""How many attributes there are for each variable: formulas are about as long as the published ones of their level."""

_BITE = 45  # Animals hold only what is at most this long, in centimetres
_HEAVY = 20  # What weighs more, in kilograms, rests on a chair by way of a rug only if it could stand on the chair
_STYLED = 0.97  # The share of instructions that ask for a style, as in the published ones


def draw_natural(level: int, rng: random.Random, *, styled: bool | None = None) -> Formula | None:
    """Sample a formula of the given level; None if the draw is rejected.

    It forms a single component, without repeated claims or assertions that the ontology considers implausible.
    """
    ties = _draw_ties(level, rng)
    if ties is None:
        return None
    atoms = [atom for _, atom in ties if atom is not None]
    skeleton = draw_skeleton(level, [cls for cls, _ in ties], rng)
    if skeleton.pattern == "exists-forall":
        places = [replace(skeleton, forall_at=position) for position in range(1, level)]
        skeleton = rng.choice([place for place in places[:-1] if place.says_something_of_each(atoms)] + places[-1:])
    atoms += _draw_attributes(skeleton, rng)
    if level == 1 and not atoms:
        return None
    if not skeleton.says_something_of_each(atoms) or _is_in_many_places(skeleton, atoms):
        return None
    if _speaks_of_every_akin(skeleton) or not is_possible_together(atoms):
        return None
    formula = skeleton.formula(atoms)
    if find_implausible(formula):
        return None
    if styled is False or (styled is None and rng.random() >= _STYLED):
        return formula
    style = Atom("IsStyle", (Value(rng.choice(vocabulary("natural").words["style"])),))
    return And((style, *(formula.parts if isinstance(formula, And) else (formula,))))


def _is_in_many_places(skeleton: Skeleton, atoms: Sequence[Atom]) -> bool:
    """Return whether a single object is in, on or held by every object of a class."""
    if skeleton.forall_at is None:
        return False
    universal = skeleton.names[skeleton.forall_at]
    single = skeleton.names[: skeleton.forall_at]
    return any(load_of(atom) in single and universal in atom.variables for atom in atoms if atom.predicate in PLACED)


def _speaks_of_every_akin(skeleton: Skeleton) -> bool:
    if skeleton.forall_at is None:
        return False
    universal = skeleton.classes[skeleton.forall_at]
    return any(universal in pair and set(pair) <= set(skeleton.classes) for pair in _read_data()["akin"])


def is_possible_together(atoms: Sequence[Atom]) -> bool:
    """Return whether containers are open and have room for all their contents, and bearers can carry all their load."""
    containers = {atom.variables[1] for atom in atoms if atom.predicate == "In"}
    is_overfull = any(
        Atom("HasState", (Variable(container), Value("closed"))) in atoms
        or not all(_has_room(_class_name(container), _class_name(obj)) for obj in _find_contents(container, atoms))
        for container in containers
    )
    return not is_overfull and not _is_overloaded(atoms)


def _has_room(container: str, cls: str) -> bool:
    inside = ontology().entry(container).inside
    is_open = inside is not None and inside.shallow
    return ontology().fits(cls, container) if is_open else ontology().can("In", cls, container)


def _find_contents(container: str, atoms: Sequence[Atom]) -> set[str]:
    """Return the contents of a container, including objects on, beside, in or held by its contents.

    A person who holds an object in the container may reach in from outside, unless the container is a place for people.
    """
    holds_people = _has_room(_class_name(container), "person")
    contents: set[str] = set()
    for _ in atoms:  # each round goes one step further
        for atom in atoms:
            if len(atom.variables) < 2 or atom.predicate not in (*PLACED, "NextTo"):
                continue
            first, second = atom.variables
            if second == container:
                contents |= {first} if atom.predicate == "In" else set()
            elif first in contents:
                contents.add(second)
            elif second in contents and first != container and (atom.predicate != "Holding" or holds_people):
                contents.add(first)
    return contents


def _is_overloaded(atoms: Sequence[Atom]) -> bool:
    """Return whether an object is too heavy for an indirect bearer, such as a bed on a rug that a woman holds."""
    bearers: dict[str, tuple[str, Grip | Top | None]] = {}
    for atom in atoms:
        if atom.predicate in PLACED:
            obj, bearer = load_of(atom), bearer_of(atom)
            entry = ontology().entry(_class_name(bearer))
            bearers[obj] = bearer, {"On": entry.top, "Holding": entry.holds}.get(atom.predicate)
    for obj in bearers:
        weight, bearer, limit = ontology().entry(_class_name(obj)).size.weight, *bearers[obj]
        for _ in atoms:
            bearer, limit = bearers.get(bearer, (bearer, None))
            if limit is None:
                continue
            if weight > limit.weight or (weight > _HEAVY and _class_name(obj) not in limit.admits):
                return True
    return False


def _class_name(name: str) -> str:
    return name.replace("_", " ")


def _draw_ties(level: int, rng: random.Random) -> list[tuple[str, Atom | None]] | None:
    """Sample the classes of the variables in order, each after the first with a relation to an earlier one."""
    classes = vocabulary("natural").words["class"]
    ties: list[tuple[str, Atom | None]] = [(rng.choices(classes, _class_weights(classes))[0], None)]
    for position in range(1, level):
        classes_so_far = [cls for cls, _ in ties]
        for _ in range(20):
            predicate = rng.choices(list(_RELATION_WEIGHTS), list(_RELATION_WEIGHTS.values()))[0]
            partner = classes_so_far[position - 1 if rng.random() < 0.5 else rng.randrange(position)]
            comes_first = rng.random() < 0.5
            free = [
                cls
                for cls in _find_partners(predicate, partner, comes_first)
                if not any(ontology().is_also(cls, used) or ontology().is_also(used, cls) for used in classes_so_far)
            ]
            if not free:
                continue
            cls = rng.choices(free, _class_weights(free))[0]
            first, second = (cls, partner) if comes_first else (partner, cls)
            if _fits_in(predicate, first, second, [atom for _, atom in ties if atom is not None]):
                ties.append((cls, _make_relation(predicate, first, second)))
                break
        else:
            return None
    return ties


def _fits_in(predicate: str, first: str, second: str, atoms: Sequence[Atom]) -> bool:
    """Return whether a relation is compatible with the others: an object is in one location, a person has two hands."""
    if predicate not in PLACED:
        return True
    atom = _make_relation(predicate, first, second)
    if any(load_of(other) == load_of(atom) for other in atoms if other.predicate in PLACED):
        return False
    if predicate != "Holding":
        return predicate == "On" or _is_inside_fitting(first, second)
    hands = sum(other.predicate == "Holding" and other.variables[0] == atom.variables[0] for other in atoms)
    if ontology().is_also(first, "person"):
        return hands < 2
    return hands < 1 and ontology().entry(second).size.length <= _BITE


def _is_inside_fitting(first: str, second: str) -> bool:
    container = ontology().entry(second)
    is_seat_or_dish = (
        container.inside is not None and container.inside.shallow and container.category in ("furniture", "kitchenware")
    )
    return not (is_seat_or_dish or second in _read_data()["never_inside"] or ontology().wears(first, second))


def _draw_attributes(skeleton: Skeleton, rng: random.Random) -> Iterator[Atom]:
    """Yield compatible random attributes that suit their objects, at most two per object."""
    level = len(skeleton.names)
    attributes: dict[str, list[tuple[str, str]]] = {name: [] for name in skeleton.names}
    for _ in range(max(1, round(level * _ATTRIBUTES + rng.random() - 0.5))):
        for _ in range(12):
            predicate = rng.choices(list(_ATTRIBUTE_WEIGHTS), list(_ATTRIBUTE_WEIGHTS.values()))[0]
            kind = ATTRIBUTE_PREDICATES[predicate]
            position = rng.randrange(level)
            name, cls = skeleton.names[position], skeleton.classes[position]
            words = [
                word
                for word in ontology().words_for(cls, kind)
                if not _is_unsaid(cls, word)
                and all(
                    kind != other_kind and ontology().agree((kind, word), (other_kind, other_word))
                    for other_kind, other_word in attributes[name]
                )
            ]
            if words and len(attributes[name]) < 2:
                word = rng.choice(words)
                attributes[name].append((kind, word))
                yield Atom(predicate, (Variable(name), Value(word)))
                break


def _is_unsaid(cls: str, word: str) -> bool:
    is_living = ontology().entry(cls).category in ("people", "animals")
    return word in _read_data()["unsaid"].get(cls, ()) or (not is_living and word in _read_data()["of_the_living"])


def _make_relation(predicate: str, first: str, second: str) -> Atom:
    return Atom(predicate, (Variable(first.replace(" ", "_")), Variable(second.replace(" ", "_"))))


@cache
def _find_partners(predicate: str, cls: str, other_first: bool) -> tuple[str, ...]:
    return ontology().partners(predicate, cls, "second" if other_first else "first")


@cache
def _read_data() -> Mapping[str, Any]:
    """Return the sampling weight of each class, and the word lists that restrict sampling.

    Few classes can hold or contain objects, so relations would select these too often. The weights, which were fitted
    to many draws, compensate for this, so that all classes occur about equally often.
    """
    text = (files("formalimg.benchmarks.formal.synthesis") / "natural.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _class_weights(classes: Sequence[str]) -> list[float]:
    return [_read_data()["class_weights"][cls] for cls in classes]
