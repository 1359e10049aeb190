"""Counts, in items of FormalImg's suites, what a reader would not sign: by rules of its own, not by the generator's.

For maintainers, after making items anew: `python tools/count_item_defects.py [SUITE[@VERSION] | SUITE=FILE.jsonl …]`.
Needs z3, as the tests do. The lists here are written from what people know of objects, on purpose without a look at the
data that items are made from: a mistake there must not be repeated here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import z3

from formalimg.benchmarks.loader import load
from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Implies, Value
from formalimg.types import Item

CANVAS, LEAST_SIDE = 1000, 20

SMALL = ["mouse", "pen", "stapler", "glasses", "watch", "keys", "lighter", "fork", "spoon", "apple", "lemon", "donut"]
LARGE = [
    "laptop",
    "keyboard",
    "monitor",
    "backpack",
    "handbag",
    "suitcase",
    "shirt",
    "jeans",
    "hat",
    "pan",
    "cutting_board",
    "pizza",
]
"""Anybody would say that each of the large is larger than each of the small, however they lie."""

LIVING = [
    "person",
    "man",
    "woman",
    "child",
    "cat",
    "dog",
    "bird",
    "horse",
    "fish",
    "elephant",
    "lion",
    "butterfly",
    "plant",
    "tree",
    "flower",
]
VEHICLES = ["car", "bicycle", "bus", "boat"]

SOLID = (
    *LIVING[:-2],
    *[
        "apple",
        "banana",
        "orange",
        "cake",
        "pizza",
        "sandwich",
        "fruit",
        "key",
        "fork",
        "knife",
        "spoon",
        "hammer",
        "screwdriver",
        "rock",
        "ball",
        "rug",
        "mirror",
    ],
    *[
        "table",
        "bench",
        "umbrella",
        "glasses",
        "phone",
        "laptop",
        "keyboard",
        "monitor",
        "headphones",
        "lamp",
        "bicycle",
        "clock",
    ],
    *("toy car", "teddy bear"),
)
"""Nothing can be inside these."""

LENGTHS = {
    **dict.fromkeys(("butterfly", "key"), 6),
    **dict.fromkeys(("apple", "orange", "fruit"), 8),
    **dict.fromkeys(("cup", "glasses", "phone", "sandwich", "toy car"), 14),
    **dict.fromkeys(("fork", "knife", "spoon", "screwdriver", "banana", "bird", "rock", "bowl", "headphones"), 20),
    **dict.fromkeys(("book", "ball", "plate", "fish", "bottle", "clock", "cake", "flower"), 25),
    **dict.fromkeys(("hammer", "hat", "shoes", "pizza", "laptop", "shirt", "teddy bear"), 32),
    **dict.fromkeys(("cat", "pan", "basket", "keyboard", "backpack", "jacket"), 44),
    **dict.fromkeys(("plant", "lamp", "monitor", "dog"), 60),
    **dict.fromkeys(("umbrella", "mirror", "chair", "child"), 95),
    **dict.fromkeys(("desk", "table", "bench", "rug"), 150),
    **dict.fromkeys(("person", "man", "woman", "bicycle", "bookshelf", "refrigerator", "lion"), 180),
    **dict.fromkeys(("sofa", "bed", "wardrobe", "horse"), 210),
    **dict.fromkeys(("car", "boat", "elephant"), 480),
    **dict.fromkeys(("tree",), 800),
    **dict.fromkeys(("bus", "house"), 1100),
}
"""How long objects usually are, in cm."""

LONGER = 1.6
"""What is longer than its container by this factor does not fit, however it is put: a spoon stands in a cup, and an
instruction of the authors has a pizza in a bowl."""


class Claim(NamedTuple):
    """What a formula says of one object of each variable: classes, and atoms of one or two variables."""

    classes: dict[str, str]
    atoms: list[Atom]


def read_claim(formula: Formula) -> Claim:
    claim = Claim({}, [])
    for atom in _spoken(formula):
        if atom.predicate == "Is" and isinstance(atom.arguments[1], Value):
            claim.classes[atom.variables[0]] = atom.arguments[1].text
        claim.atoms.append(atom)
    return claim


def _spoken(formula: Formula) -> Iterator[Atom]:
    """Yield the atoms that hold of some objects together: nothing here is negated, or one of several choices."""
    match formula:
        case Atom():
            yield formula
        case And(parts):
            for part in parts:
                yield from _spoken(part)
        case Exists(_, body) | Forall(_, body):
            yield from _spoken(body)
        case Implies(antecedent, consequent):
            yield from _spoken(antecedent)
            yield from _spoken(consequent)
        case Count(_, _, _, body):
            if formula.range[0] > 0:
                yield from _spoken(body)
        case _:
            raise ValueError(f"unexpected in a default item: {formula}")


# --- contradictory as read


def contradicts_itself(claim: Claim) -> bool:
    """Return whether it cannot be where one row is one height, by linear arithmetic, or where sizes form a ring."""
    solver = z3.Solver()
    for name in {name for atom in claim.atoms for name in atom.variables}:
        for axis in "xy":
            low, high = _edges(name, axis)
            solver.add(low >= 0, high <= CANVAS, high - low >= LEAST_SIDE)
    for atom in claim.atoms:
        solver.add(*_linear(atom.predicate, atom.variables))
    return solver.check() == z3.unsat or _has_ring(claim)


def _edges(name: str, axis: str) -> tuple[z3.ArithRef, z3.ArithRef]:
    return z3.Real(f"{name}.{axis}.low"), z3.Real(f"{name}.{axis}.high")


def _middle(name: str, axis: str) -> z3.ArithRef:
    low, high = _edges(name, axis)
    return (low + high) / 2


def _linear(predicate: str, names: Sequence[str]) -> Iterator[z3.BoolRef]:
    half, third = CANVAS / 2, CANVAS / 3
    match predicate:
        case "OnLeftSide" | "OnTopSide":
            yield _middle(names[0], "x" if predicate == "OnLeftSide" else "y") < half
        case "OnRightSide" | "OnBottomSide":
            yield _middle(names[0], "x" if predicate == "OnRightSide" else "y") > half
        case "InCenter":
            for axis in "xy":
                yield _middle(names[0], axis) > third
                yield _middle(names[0], axis) < 2 * third
        case "LeftOf" | "Above":
            axis = "x" if predicate == "LeftOf" else "y"
            yield _edges(names[0], axis)[1] < _middle(names[1], axis)
        case "RightOf" | "Below":
            axis = "x" if predicate == "RightOf" else "y"
            yield _edges(names[0], axis)[0] > _middle(names[1], axis)
        case "AlignedHorizontally" | "AlignedVertically":
            axis = "y" if predicate == "AlignedHorizontally" else "x"
            yield _middle(names[0], axis) == _middle(names[1], axis)


def _larger_pairs(claim: Claim) -> Iterator[tuple[str, str]]:
    for atom in claim.atoms:
        if atom.predicate in ("LargerThan", "SmallerThan"):
            first, second = atom.variables
            yield (first, second) if atom.predicate == "LargerThan" else (second, first)


def _has_ring(claim: Claim) -> bool:
    pairs = set(_larger_pairs(claim))
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= more
    return any(a == b for a, b in pairs)


# --- against nature, and against the rules of the paper


def compares_against_nature(claim: Claim) -> bool:
    """Return whether something small is called larger than something large."""
    pairs = ((claim.classes[a], claim.classes[b]) for a, b in _larger_pairs(claim))
    return any(large in SMALL and small in LARGE for large, small in pairs)


def shapes_the_shapeless(claim: Claim) -> bool:
    """Return whether a living being or a vehicle has a simple geometric shape."""
    return any(
        atom.predicate == "HasShape" and claim.classes[atom.variables[0]] in (*LIVING, *VEHICLES)
        for atom in claim.atoms
    )


def contains_the_impossible(claim: Claim) -> bool:
    """Return whether something is inside what is solid, or much shorter; also by way of what it is in."""
    inside = [(atom.variables[0], atom.variables[1]) for atom in claim.atoms if atom.predicate == "In"]
    for start, _ in inside:
        chain = [start]
        while outer := next((b for a, b in inside if a == chain[-1] and b not in chain), None):
            chain.append(outer)
        classes = [claim.classes[name] for name in chain]
        if any(cls in SOLID for cls in classes[1:]):
            return True
        if any(
            LENGTHS[cls] > LONGER * LENGTHS[outer] for place, cls in enumerate(classes) for outer in classes[place:]
        ):
            return True
    return False


WORN = ["hat", "shirt", "shoes", "jacket", "glasses", "backpack", "headphones"]
"""What people may have on."""


def rests_on_the_living(claim: Claim) -> bool:
    """Return whether something lies on a person, a pet or a fish that is not worn there and does not perch."""
    bearers = ("person", "man", "woman", "child", "cat", "dog", "bird", "fish")
    pairs = [(claim.classes[a.variables[0]], claim.classes[a.variables[1]]) for a in claim.atoms if a.predicate == "On"]
    return any(bearer in bearers and cls not in (*WORN, "bird", "butterfly") for cls, bearer in pairs)


def parts_neighbors(claim: Claim) -> bool:
    """Return whether two objects are next to each other, and each on, in or held by something else."""
    places = {
        atom.variables[atom.predicate == "Holding"]: atom.variables[atom.predicate != "Holding"]
        for atom in claim.atoms
        if atom.predicate in ("On", "In", "Holding")
    }
    pairs = [[places.get(name) for name in atom.variables] for atom in claim.atoms if atom.predicate == "NextTo"]
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


DEFECTS: dict[str, tuple[tuple[str, Callable[[Claim], bool]], ...]] = {
    "knolling": (("contradictory as read", contradicts_itself), ("sizes against nature", compares_against_nature)),
    "natural": (
        ("shapes", shapes_the_shapeless),
        ("containment", contains_the_impossible),
        ("on the living", rests_on_the_living),
        ("neighbors apart", parts_neighbors),
    ),
}


def main(sources: Sequence[str]) -> None:
    for source in sources:
        suite, _, file = source.partition("=")
        suite, _, version = suite.partition("@")
        items: Sequence[Item[Any]] = load(suite, file or (f"@{version}" if version else None))
        claims = {item.id: read_claim(item.spec.formula) for item in items}
        print(f"{source}: {len(items):,} items, version {items[0].version or 'none'}")
        for name, has_defect in DEFECTS[suite.removesuffix("-counts")]:
            found = [id_ for id_, claim in claims.items() if has_defect(claim)]
            print(f"  {name}: {len(found):,}{': ' * bool(found)}{', '.join(found[:12])}{' …' * (len(found) > 12)}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["knolling", "knolling-counts", "natural"])
