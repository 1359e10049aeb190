"""Objects that an image must show, how many, in which colour and place, and which not: as a spec, and as formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula

OBJECT_COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")

RELATIONS = ("left of", "right of", "above", "below")

MAX_COUNT = 100
"""More objects than this are asked for by a slip only."""

MAX_REQUIREMENTS = 50


@dataclass(frozen=True)
class IncludedObjects:
    """Objects that an image must show."""

    label: str  # their class
    count: int  # how many; more are no fault, unless they are excluded
    color: str = ""  # the colour of all of them; empty if any will do
    relation: str = ""  # where they are, as seen from the target; empty if anywhere
    # the place of the target among the included objects, before their own; None without a relation
    target: int | None = None


@dataclass(frozen=True)
class ExcludedObjects:
    """Objects that an image must not show: `count` of a class, or more."""

    label: str
    count: int


@dataclass(frozen=True)
class ObjectSpec:
    """What an image must show and must not show."""

    tag: str  # the task; `counting` has a higher threshold for detections
    include: tuple[IncludedObjects, ...]  # what must be there, all of it
    exclude: tuple[ExcludedObjects, ...] = ()  # what must not be there, none of it

    @property
    def object_classes(self) -> tuple[str, ...]:
        """The classes to look for, each once."""
        included, excluded = (one.label for one in self.include), (one.label for one in self.exclude)
        return tuple(dict.fromkeys((*included, *excluded)))

    @property
    def stated_classes(self) -> tuple[str, ...]:
        """The classes that train and test items may not have in common."""
        return self.object_classes

    @property
    def stated_relations(self) -> list[str]:
        """The relations between objects."""
        return [one.relation for one in self.include if one.relation]

    def to_metadata(self) -> dict[str, Any]:
        """Return the spec as the fields of a published line, without the prompt."""
        include = []
        for one in self.include:
            entry: dict[str, Any] = {"class": one.label, "count": one.count}
            if one.color:
                entry["color"] = one.color
            if one.target is not None:
                entry["position"] = [one.relation, one.target]
            include.append(entry)
        fields: dict[str, Any] = {"tag": self.tag, "include": include}
        if self.exclude:
            fields["exclude"] = [{"class": one.label, "count": one.count} for one in self.exclude]
        return fields


_PREDICATES = {"left of": "LeftOf", "right of": "RightOf", "above": "Above", "below": "Below"}


class TranslatedClause(NamedTuple):
    """One conjunct of the formula of an item."""

    text: str  # the closed formula
    kind: str  # object, count, attribute or relation
    about: tuple[str, ...]  # the words it is about

    @property
    def formula(self) -> Formula:
        """The clause as a formula."""
        return parse(self.text)


def translate(spec: ObjectSpec) -> tuple[TranslatedClause, ...]:
    """Return what an item asks for as closed formulas, all of which must hold.

    - One object is `exists`, and several are `at-least`; where one more is excluded, the number is `exactly` it.
    - A colour is `Has`. Any object of the class may have it, not only the most confident one.
    - A place is `LeftOf`, `RightOf`, `Above` or `Below` of this package, to some object that fits the target.
    - What is excluded otherwise is `at-most`.
    - An object that others are placed by has no clause of its own, where theirs says that it is there.
    """
    implied = {one.target for one in spec.include if one.target is not None}
    exact = [_exact_number(one, spec.exclude) for one in spec.include]
    clauses = [
        _clause(spec, place, exact=exact[place] is not None)
        for place, one in enumerate(spec.include)
        if place not in implied or one.count > 1 or exact[place] is not None
    ]
    for absent in spec.exclude:
        if absent not in exact:
            text = f"(at-most {absent.count - 1} ?x (Is ?x '{absent.label}'))"
            clauses.append(TranslatedClause(text, "count", (absent.label,)))
    return tuple(clauses)


def to_formula(spec: ObjectSpec) -> Formula:
    """Return what an item asks for as one formula."""
    clauses = translate(spec)
    return clauses[0].formula if len(clauses) == 1 else parse(f"(and {' '.join(clause.text for clause in clauses)})")


def _exact_number(asked: IncludedObjects, exclude: tuple[ExcludedObjects, ...]) -> ExcludedObjects | None:
    """Return what is excluded so that the number is exact: one more of the same class, whatever its looks."""
    if asked.color or asked.relation:
        return None
    return next((one for one in exclude if (one.label, one.count) == (asked.label, asked.count + 1)), None)


def _clause(spec: ObjectSpec, place: int, *, exact: bool) -> TranslatedClause:
    asked = spec.include[place]
    how = f"exactly {asked.count}" if exact else "exists" if asked.count == 1 else f"at-least {asked.count}"
    about: tuple[str, ...] = (asked.label,)
    kind = "count" if exact or asked.count > 1 else "object"
    if asked.color:
        kind, about = "attribute", (asked.color, asked.label)
    if asked.target is not None:
        kind, about = "relation", (asked.relation, asked.label, spec.include[asked.target].label)
    return TranslatedClause(f"({how} ?x {_all_of(_said(spec, place, 'x'))})", kind, about)


def _said(spec: ObjectSpec, place: int, name: str) -> list[str]:
    """Return what is said of one object, which the variable `name` stands for."""
    asked = spec.include[place]
    parts = [f"(Is ?{name} '{asked.label}')"]
    if asked.color:
        parts.append(f"(Has ?{name} '{asked.color}')")
    if asked.target is not None:
        other = f"{name}{asked.target}"  # it grows from target to target, so that no name is there twice
        target = [*_said(spec, asked.target, other), f"({_PREDICATES[asked.relation]} ?{name} ?{other})"]
        parts.append(f"(exists ?{other} {_all_of(target)})")
    return parts


def _all_of(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})"
