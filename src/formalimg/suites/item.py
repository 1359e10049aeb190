"""What a suite is made of: items, and what FormalImg's items ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from formalimg.logic import And, Atom, Formula, Value, atoms
from formalimg.scenes import Scene

Spec_co = TypeVar("Spec_co", covariant=True)


@dataclass(frozen=True)
class Item(Generic[Spec_co]):
    """One instruction of a suite.

    Attributes:
        suite: the benchmark it belongs to.
        id: its name in the suite; fit to be a file name.
        level: how hard it is (K for FormalImg).
        prompt: the words sent to the image model.
        spec: what the image must show, in the suite's own terms.
        tags: words to select and group items by.
        version: version of the suite; empty for data that carries none, such as the published folders.
    """

    suite: str
    id: str
    level: int
    prompt: str
    spec: Spec_co
    tags: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True)
class FormulaSpec:
    """What an item of FormalImg asks for: a formula, perhaps with a scene that proves it can be satisfied.

    Attributes:
        formula: the logic of the prompt.
        witness: a scene that satisfies the formula, if one is known.
        style: the style of image asked for; None if any will do.
    """

    formula: Formula
    witness: Scene | None = None
    style: str | None = None

    @classmethod
    def of(cls, formula: Formula, witness: Scene | None = None) -> FormulaSpec:
        """The spec of a formula, with the style that the formula demands outright."""
        return cls(formula, witness, demanded_style(formula))

    @cached_property
    def object_classes(self) -> tuple[str, ...]:
        """The classes that the formula speaks of, sorted; a grounder has to look for these."""
        named = (
            atom.arguments[1] for atom in atoms(self.formula) if atom.predicate == "Is" and len(atom.arguments) == 2
        )
        return tuple(sorted({word.text for word in named if isinstance(word, Value)}))


def demanded_style(formula: Formula) -> str | None:
    """The style that a formula demands outright: a conjunct `(IsStyle '…')` at its top."""
    match formula:
        case Atom("IsStyle", (Value(word),)):
            return word
        case And(parts):
            return next((style for style in map(demanded_style, parts) if style is not None), None)
    return None


def id_order(name: str) -> tuple[bool, int, str]:
    """Sorts ids: numbers first and by value, then names."""
    return (False, int(name), name) if is_number(name) else (True, 0, name)


def is_number(name: str) -> bool:
    """Is an id a plain number, as published ids are? `07` is not."""
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")


def in_order(items: Iterable[Item[Spec_co]]) -> list[Item[Spec_co]]:
    """The items, sorted by suite and id."""
    return sorted(items, key=lambda item: (item.suite, id_order(item.id)))
