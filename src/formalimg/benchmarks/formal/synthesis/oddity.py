"""Checks for Natural scenes that the ontology allows but a reader would find odd."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from formalimg.language.ontology.knowledge import ontology
from formalimg.logic.syntax import Atom, Exists, Forall, Formula, Value, atoms, subformulas
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES

PLACED = ("On", "In", "Holding")  # Relations that say where an object is


class Support(NamedTuple):
    """The bearer of an object, and how the object is placed: on, in or held by it."""

    predicate: str
    bearer: str


class ReadScene:
    """The scene that a reader imagines for a formula whose variables have been renamed apart.

    Attributes:
        classes: what each object is.
        relations: the atoms about two objects.
        foralls: the variable of each `forall`, with the objects that exist for each of its instances.
    """

    def __init__(self, formula: Formula) -> None:
        statements = list(atoms(formula))
        self.classes = {
            atom.variables[0]: atom.arguments[1].text
            for atom in statements
            if atom.predicate == "Is" and isinstance(atom.arguments[1], Value)
        }
        self.relations = [atom for atom in statements if len(atom.variables) == 2]
        self.attributes = [atom for atom in statements if atom.predicate in ATTRIBUTE_PREDICATES]
        self.foralls = {
            part.variable.name: {inner.variable.name for inner in subformulas(part) if isinstance(inner, Exists)}
            for part in subformulas(formula)
            if isinstance(part, Forall)
        }

    @cached_property
    def supports(self) -> Mapping[str, Support]:
        """The support of each object that has one."""
        return {load_of(atom): Support(atom.predicate, bearer_of(atom)) for atom in self._said(*PLACED)}

    def find_oddity(self) -> str | None:
        """Return why a reader would find the scene odd; None if nothing is odd."""
        checks = {
            "odd state": self._has_odd_state(),
            "odd bearer": self._has_odd_bearer(),
            "held chain": self._holds_in_chains(),
            "apart": any(not self._can_be_beside(*atom.variables) for atom in self._said("NextTo")),
            "odd every": any(self._is_odd_every(*forall) for forall in self.foralls.items()),
        }
        return next((reason for reason, is_odd in checks.items() if is_odd), None)

    def _said(self, *predicates: str) -> Iterator[Atom]:
        return (atom for atom in self.relations if atom.predicate in predicates)

    def _has_odd_state(self) -> bool:
        for atom in self.attributes:
            _, word = atom.arguments
            classes = _read_data()["states"].get(word.text) if isinstance(word, Value) else None
            if classes is not None and (not classes or self.classes[atom.variables[0]] in classes):
                return True
        return False

    def _has_odd_bearer(self) -> bool:
        """Return whether an object rests on an unsuitable bearer or is in an implausible location."""
        for atom in self._said(*PLACED):
            bearer, cls = self.classes[bearer_of(atom)], self.classes[load_of(atom)]
            if (atom.predicate, bearer, cls) in _read_kept_out() or (
                atom.predicate == "On" and not _can_bear(bearer, cls)
            ):
                return True
        return False

    def _holds_in_chains(self) -> bool:
        """Return whether a held object bears another, or a held animal holds an object."""
        for support in self.supports.values():
            outer = self.supports.get(support.bearer)
            if outer and outer.predicate == "Holding":
                is_child = self.classes[support.bearer] == "child" and outer.bearer not in self.supports
                if support.predicate == "On" or (support.predicate == "Holding" and not is_child):
                    return True
        return False

    def _can_be_beside(self, first: str, second: str) -> bool:
        first_support, second_support = self.supports.get(first), self.supports.get(second)
        if first_support is None or second_support is None:
            support, free = first_support or second_support, second if first_support else first
            return support is None or self._may_share(support, self.classes[free])
        return first_support == second_support and first_support.predicate != "Holding"

    def _may_share(self, support: Support, cls: str) -> bool:
        """Return whether an object can be imagined on the same support as an object beside it."""
        container = self.classes[support.bearer]
        is_roomy = support.predicate == "On" or container in _read_data()["rooms"]
        if support.predicate == "Holding" or not is_roomy or _is_living(container):
            return False
        return ontology().can(support.predicate, cls, container) and (
            support.predicate == "In" or _can_bear(container, cls)
        )

    def _is_odd_every(self, universal: str, inner: set[str]) -> bool:
        """Return whether "every" is combined with a statement that makes sense for single objects only.

        An object that exists for each instance must be related only to that instance; objects that may be several
        cannot be held or worn by one person; and a place that contains all instances needs room for at least two.
        """
        for atom in self.relations:
            names = set(atom.variables)
            if names & inner and universal not in names:
                return True
            if atom.predicate in PLACED and universal in names:
                bearer, is_each_its_own = bearer_of(atom), bool(names & inner)
                if bearer == universal and not is_each_its_own:
                    return True
                if bearer != universal and (atom.predicate == "Holding" or _is_living(self.classes[bearer])):
                    return True
                if bearer != universal and not is_each_its_own and not self._has_room_for_two(universal, bearer):
                    return True
        return False

    def _has_room_for_two(self, universal: str, bearer: str) -> bool:
        obj, container = (ontology().entry(self.classes[name]) for name in (universal, bearer))
        if container.category == "clothing":
            return False
        return 2 * obj.size.length * obj.size.across <= container.size.length * container.size.across


def speaks_of_one_after_every(prompt: str) -> bool:
    """Return whether a sentence without "every" follows one with it, and so implies a single object."""
    words = [set(sentence.lower().replace(",", "").split()) for sentence in prompt.split(". ")]
    has_every = [not sentence.isdisjoint(("every", "all")) for sentence in words]
    return any(earlier and not later for earlier, later in pairwise(has_every))


def load_of(atom: Atom) -> str:
    """Return the object that a relation places."""
    return atom.variables[1] if atom.predicate == "Holding" else atom.variables[0]


def bearer_of(atom: Atom) -> str:
    """Return the object that a relation makes the bearer or container of another."""
    return atom.variables[0] if atom.predicate == "Holding" else atom.variables[1]


def _is_living(cls: str) -> bool:
    return ontology().entry(cls).category in ("people", "animals")


def _can_bear(bearer: str, cls: str) -> bool:
    only = _read_bearers().get(bearer)
    if only is None or cls in only:
        return True
    return bearer not in _read_data()["unclothed"] and ontology().wears(bearer, cls)


@cache
def _read_bearers() -> Mapping[str, frozenset[str]]:
    return {bearer: frozenset(group["only"]) for group in _read_data()["bears"] for bearer in group["bearers"]}


@cache
def _read_kept_out() -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (predicate, container, obj)
        for group in _read_data()["kept_out"]
        for predicate in group["predicates"]
        for container in group["places"]
        for obj in group["objects"]
    )


@cache
def _read_data() -> Mapping[str, Any]:
    text = (files("formalimg.benchmarks.formal.synthesis") / "oddity.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
