"""Synthesis of Knolling formulas: objects laid out flat, related by geometric rules (section 2.2, appendix A)."""

from __future__ import annotations

import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from formalimg.benchmarks.formal.synthesis.geometry import GeometricFacts, find_redundant
from formalimg.benchmarks.formal.synthesis.skeleton import Skeleton, draw_counted_skeleton, draw_skeleton
from formalimg.logic.syntax import Atom, Formula, Value, Variable
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.rules import AS_READ, BINARY_RULES, UNARY_RULES

_TRIES_PER_RELATION = 12

_COLOR_WEIGHT = 0.75
"""A colour goes with everything and is never given up; drawn less often, it is said about as often as the rest."""

_ABOUT_THE_SAME = 1.25
"""Up to this factor, nature has no order of two sizes, and either object may be called the larger one."""

_MORE_RELATIONS, _PROPERTIES = 0.2, 0.42
"""How many relations beyond those that connect the variables, and properties, there are for each variable.

Chosen so that formulas are about as long as the published ones of their level.
"""

_SAME_PAIR: tuple[frozenset[str], ...] = (
    frozenset({"LeftOf", "RightOf", "AlignedVertically"}),
    frozenset({"Above", "Below", "AlignedHorizontally"}),
    frozenset({"LargerThan", "SmallerThan"}),
)
"""Of these, at most one is said of the same two objects: more would be odd to read, even where the rules allow it."""

_SIZES = {"LargerThan": 1, "SmallerThan": -1}  # The order in which their variables are from large to small
_ALIGNED = frozenset({"AlignedHorizontally", "AlignedVertically"})

_WITHOUT_HAVE = _ALIGNED | _SIZES.keys()
"""Said of "every cup" with the cup as the subject: it cannot have something smaller as it has something above it."""

_SAME_THING: tuple[frozenset[str], ...] = (
    frozenset({"Has"}),
    frozenset({"OnLeftSide", "OnRightSide", "InCenter"}),
    frozenset({"OnTopSide", "OnBottomSide", "InCenter"}),
)
"""Of these, at most one is said of the same object."""


def draw_knolling(level: int, rng: random.Random, *, counting: bool = False) -> Formula | None:
    """Sample a formula of the given level, optionally with counts; None if the draw is rejected.

    It forms a single component, contains nothing that follows from its other parts as people read them, and never calls
    an object larger than one that is larger by nature.
    """
    words = vocabulary("knolling").words
    skeleton = (draw_counted_skeleton if counting else draw_skeleton)(level, rng.sample(words["class"], level), rng)
    if skeleton is None:
        return None
    atoms: list[Atom] = []
    geometry = GeometricFacts(reading=AS_READ)
    for candidates in [*_draw_ties(skeleton, rng), *_draw_extras(skeleton, rng)]:
        for atom in candidates:
            if not _speaks_anew(atom, atoms) or _is_crowding(atom, atoms, skeleton):
                continue
            if atom.predicate in _SIZES and _is_smaller_by_nature(atom.variables[:: _SIZES[atom.predicate]], skeleton):
                continue
            if geometry.allows(atom) and not geometry.implies(atom):
                geometry.add(atom)
                atoms.append(atom)
                break
    aligned = Counter(frozenset(atom.variables) for atom in atoms if atom.predicate in _ALIGNED)
    needed = {frozenset(atom.variables) for atom in atoms if len(atom.variables) == 2}
    if (
        not _hangs_together(skeleton.names, needed)
        or find_redundant(atoms, AS_READ)
        or not skeleton.says_something_of_each(atoms)
        or max(aligned.values(), default=0) > 1  # they could only be in one place
        or any(_is_odd_count(name, atoms, skeleton) for name in skeleton.amounts)
    ):
        return None
    return skeleton.formula(atoms)


def _draw_ties(skeleton: Skeleton, rng: random.Random) -> Iterator[Iterator[Atom]]:
    """Yield, for each variable but the first, relations that connect it to an earlier one."""
    names = skeleton.names
    for position in range(1, len(names)):
        nearest = position - 1 if rng.random() < 0.5 else rng.randrange(position)
        if skeleton.forall_at is not None and skeleton.forall_at < position:
            nearest = max(nearest, skeleton.forall_at)  # what exists for each instance is about the instance
        nearest = min(nearest, len(skeleton.plain) - 1)
        if skeleton.forall_at and names[position] in skeleton.amounts:
            nearest = min(nearest, skeleton.forall_at - 1)  # nothing is counted for each instance
        yield _draw_relations(names[position], names[nearest], skeleton, rng)


def _draw_extras(skeleton: Skeleton, rng: random.Random) -> Iterator[Iterator[Atom]]:
    """Yield relations and properties beyond those that connect the variables."""
    names = skeleton.names
    level = len(names)
    for _ in range(round(level * _MORE_RELATIONS + rng.random() - 0.5)):
        if level > 1:
            first, second = rng.sample(names, 2)
            if first not in skeleton.amounts or second not in skeleton.amounts:
                yield _draw_relations(first, second, skeleton, rng)
    for _ in range(max(1, round(level * _PROPERTIES + rng.random() - 0.5))):
        yield _draw_properties(names, rng)


def _draw_relations(name: str, partner: str, skeleton: Skeleton, rng: random.Random) -> Iterator[Atom]:
    universal = None if skeleton.forall_at is None else skeleton.names[skeleton.forall_at]
    for _ in range(_TRIES_PER_RELATION):
        first, second = (name, partner) if rng.random() < 0.5 else (partner, name)
        if second in skeleton.amounts:  # "two forks that the plate is above" is hard to read
            first, second = second, first
        predicate = rng.choice(list(BINARY_RULES))
        if second == universal and first not in skeleton.amounts and predicate in _WITHOUT_HAVE:
            first, second = second, first
        yield Atom(predicate, (Variable(first), Variable(second)))


def _draw_properties(names: tuple[str, ...], rng: random.Random) -> Iterator[Atom]:
    colors = vocabulary("knolling").words["color"]
    for _ in range(_TRIES_PER_RELATION):
        variable = Variable(rng.choice(names))
        predicate = rng.choices(["Has", *UNARY_RULES], [_COLOR_WEIGHT] + [1] * len(UNARY_RULES))[0]
        value = (Value(rng.choice(colors)),) if predicate == "Has" else ()
        yield Atom(predicate, (variable, *value))


def _is_smaller_by_nature(pair: Sequence[str], skeleton: Skeleton) -> bool:
    """Return whether the second object of a pair is clearly longer than the first or covers more area."""
    classes = dict(zip(skeleton.names, skeleton.classes, strict=True))
    first, second = (classes[name] for name in pair)
    return any(
        other_length > _ABOUT_THE_SAME * length or other_length * other_width > _ABOUT_THE_SAME * length * width
        for length, width in _class_sizes()[first]
        for other_length, other_width in _class_sizes()[second]
    )


def _is_odd_count(name: str, atoms: Sequence[Atom], skeleton: Skeleton) -> bool:
    """Return whether a count would be confusing to read or demand nothing.

    "Every cup is above exactly two forks" leaves open how many there are; "in one column with the keys and in one
    column with the shoe" is hard to imagine; and any pen is smaller than a cutting board.
    """
    relations = [atom for atom in atoms if name in atom.variables and len(atom.variables) == 2]
    split = len(skeleton.plain) if skeleton.forall_at is None else skeleton.forall_at
    partners = {partner for atom in relations for partner in atom.variables if partner != name}
    sizes = [atom.variables for atom in relations if atom.predicate in _SIZES]
    return (
        any(skeleton.names.index(partner) >= split for partner in partners)
        or sum(atom.predicate in _ALIGNED for atom in relations) > 1
        or any(_is_smaller_by_nature(pair[::step], skeleton) for pair in sizes for step in (1, -1))
    )


def _is_crowding(atom: Atom, atoms: list[Atom], skeleton: Skeleton) -> bool:
    if atom.predicate != "InCenter":
        return False
    name = atom.variables[0]
    is_several = name in skeleton.amounts and skeleton.amounts[name].number > 1
    return is_several or any(other.predicate == "InCenter" for other in atoms)


@cache
def _class_sizes() -> Mapping[str, Sequence[Sequence[float]]]:
    text = (files("formalimg.benchmarks.formal.synthesis") / "knolling.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    other_sizes = tables["other_sizes"]
    return {cls: [size, other_sizes[cls]] if cls in other_sizes else [size] for cls, size in tables["sizes"].items()}


def _speaks_anew(atom: Atom, atoms: list[Atom]) -> bool:
    names = set(atom.variables)
    exclusive = _SAME_PAIR if len(names) == 2 else _SAME_THING
    present = {other.predicate for other in atoms if set(other.variables) == names}
    return not any(atom.predicate in group and group & present for group in exclusive)


def _hangs_together(names: tuple[str, ...], pairs: set[frozenset[str]]) -> bool:
    reached = {names[0]}
    while True:
        more = {name for pair in pairs if pair & reached for name in pair} - reached
        if not more:
            return len(reached) == len(names)
        reached |= more
