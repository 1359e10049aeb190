"""Specs of objects that an image must or must not show, with counts, colours and relations; and their formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula

OBJECT_COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")

RELATIONS = ("left of", "right of", "above", "below")

MAX_COUNT = 100  # More objects than this are asked for by a slip only
MAX_REQUIREMENTS = 50


@dataclass(frozen=True)
class IncludedObjects:
    """Objects that an image must show."""

    label: str  # their class
    count: int  # how many; more are no fault, unless they are excluded
    color: str = ""  # the colour of all of them; empty if any will do
    relation: str = ""  # where they are, as seen from the target; empty if anywhere
    target: int | None = None  # index among the included objects, below their own; None without a relation


@dataclass(frozen=True)
class ExcludedObjects:
    """Objects that an image must not show: `count` or more of a class."""

    label: str
    count: int


@dataclass(frozen=True)
class ObjectSpec:
    """The objects that an image must show and those that it must not show."""

    tag: str  # the task; `counting` has a higher threshold for detections
    include: tuple[IncludedObjects, ...]  # what must be there, all of it
    exclude: tuple[ExcludedObjects, ...] = ()  # what must not be there, none of it

    @property
    def object_classes(self) -> tuple[str, ...]:
        """The classes to detect, without repetition."""
        included, excluded = (entry.label for entry in self.include), (entry.label for entry in self.exclude)
        return tuple(dict.fromkeys((*included, *excluded)))

    @property
    def stated_classes(self) -> tuple[str, ...]:
        """The classes that must not occur in both train and test items."""
        return self.object_classes

    @property
    def stated_relations(self) -> list[str]:
        """The relations between objects."""
        return [entry.relation for entry in self.include if entry.relation]

    def to_metadata(self) -> dict[str, Any]:
        """Return the spec as the fields of a published line, without the prompt."""
        include = []
        for included in self.include:
            entry: dict[str, Any] = {"class": included.label, "count": included.count}
            if included.color:
                entry["color"] = included.color
            if included.target is not None:
                entry["position"] = [included.relation, included.target]
            include.append(entry)
        fields: dict[str, Any] = {"tag": self.tag, "include": include}
        if self.exclude:
            fields["exclude"] = [{"class": excluded.label, "count": excluded.count} for excluded in self.exclude]
        return fields


_PREDICATES = {"left of": "LeftOf", "right of": "RightOf", "above": "Above", "below": "Below"}


class TranslatedClause(NamedTuple):
    """One conjunct of an item's formula."""

    text: str  # the closed formula
    kind: str  # object, count, attribute or relation
    about: tuple[str, ...]  # the words it is about

    @property
    def formula(self) -> Formula:
        """The clause, parsed as a formula."""
        return parse(self.text)


def translate(spec: ObjectSpec) -> tuple[TranslatedClause, ...]:
    """Return the closed formulas that express a spec; all of them must hold.

    - One object becomes `exists`, and several become `at-least`, or `exactly` if one more is excluded.
    - A colour becomes `Has`. Any object of the class may have it, not only the most confident one.
    - A position becomes `LeftOf`, `RightOf`, `Above` or `Below` of this package, relative to some target object.
    - Any other exclusion becomes `at-most`.
    - A reference object has no clause of its own if the clause of a positioned object already requires it.
    """
    implied = {included.target for included in spec.include if included.target is not None}
    exact = [_exact_number(included, spec.exclude) for included in spec.include]
    clauses = [
        _build_clause(spec, index, exact=exact[index] is not None)
        for index, included in enumerate(spec.include)
        if index not in implied or included.count > 1 or exact[index] is not None
    ]
    for absent in spec.exclude:
        if absent not in exact:
            text = f"(at-most {absent.count - 1} ?x (Is ?x '{absent.label}'))"
            clauses.append(TranslatedClause(text, "count", (absent.label,)))
    return tuple(clauses)


def to_formula(spec: ObjectSpec) -> Formula:
    """Return a spec as one formula, the conjunction of its clauses."""
    clauses = translate(spec)
    return clauses[0].formula if len(clauses) == 1 else parse(f"(and {' '.join(clause.text for clause in clauses)})")


def _exact_number(required: IncludedObjects, exclude: tuple[ExcludedObjects, ...]) -> ExcludedObjects | None:
    exact = ExcludedObjects(required.label, required.count + 1)
    return exact if exact in exclude and not (required.color or required.relation) else None


def _build_clause(spec: ObjectSpec, index: int, *, exact: bool) -> TranslatedClause:
    required = spec.include[index]
    quantifier = (
        f"exactly {required.count}" if exact else "exists" if required.count == 1 else f"at-least {required.count}"
    )
    words: tuple[str, ...] = (required.label,)
    kind = "count" if exact or required.count > 1 else "object"
    if required.color:
        kind, words = "attribute", (required.color, required.label)
    if required.target is not None:
        kind, words = "relation", (required.relation, required.label, spec.include[required.target].label)
    return TranslatedClause(f"({quantifier} ?x {_all_of(_build_conjuncts(spec, index, 'x'))})", kind, words)


def _build_conjuncts(spec: ObjectSpec, index: int, name: str) -> list[str]:
    """Return the conjuncts that describe one object, with `name` as its variable."""
    required = spec.include[index]
    parts = [f"(Is ?{name} '{required.label}')"]
    if required.color:
        parts.append(f"(Has ?{name} '{required.color}')")
    if required.target is not None:
        target_name = f"{name}{required.target}"  # it grows from target to target, so that no name occurs twice
        target = [
            *_build_conjuncts(spec, required.target, target_name),
            f"({_PREDICATES[required.relation]} ?{name} ?{target_name})",
        ]
        parts.append(f"(exists ?{target_name} {_all_of(target)})")
    return parts


def _all_of(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})"
