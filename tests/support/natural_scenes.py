"""Scenes that fulfil formulas of the Natural suite, and the same with one object wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.syntax import Atom, Formula, Value, Variable, atoms
from formalimg.logic.variables import rename_apart
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES, Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation
from tests.support.scripted_chat import Known

_NOTHING = "other"


def fulfilling(formula: Formula) -> Known:
    """An image with one object for each variable, which is and has and does all that is said of it."""
    found = list(atoms(rename_apart(formula)))
    names = list(dict.fromkeys(name for atom in found for name in atom.variables))
    columns = _columns(found, names)
    objects = [_obj(name, columns[name], found) for name in names]
    relations = [
        SceneRelation(atom.predicate, *map(names.index, atom.variables))
        for atom in found
        if len(atom.variables) == 2 and atom.predicate not in ("LeftOf", "RightOf")
    ]
    return Known(Scene.of(objects, relations), FormulaSpec.of(formula).style)


def broken(known: Known) -> Iterator[tuple[str, Known]]:
    """The same image in ways that cannot be right, each with what was done to it."""
    scene = known.scene
    relations = scene.relations or frozenset()
    yield "another style", replace(known, style="charcoal drawing")
    yield "nothing in it", replace(known, scene=Scene.of([], []))
    yield "all look otherwise", replace(known, scene=Scene(tuple(_faded(obj) for obj in scene.objects), relations))
    yield (
        "one object is another",
        replace(known, scene=Scene((replace(scene.objects[0], label="whale"), *scene.objects[1:]), relations)),
    )
    yield "nothing stands to anything", replace(known, scene=Scene.of(scene.objects, []))


def _faded(obj: SceneObject) -> SceneObject:
    return replace(obj, color=_NOTHING, material=_NOTHING, shape=_NOTHING, states=(_NOTHING,))


def _obj(name: str, column: int, found: list[Atom]) -> SceneObject:
    words: dict[str, list[str]] = {}
    for atom in found:
        match atom.arguments:
            case (Variable(of), Value(word)) if of == name:
                words.setdefault(ATTRIBUTE_PREDICATES.get(atom.predicate, "class"), []).append(word)
    left = 20 + 80 * column
    box = Box(left, 100, left + 40, 200)
    [color], [material], [shape] = (words.get(kind, [_NOTHING]) for kind in ("color", "material", "shape"))
    return SceneObject(words["class"][0], box, color, material, shape, tuple(words.get("state", [_NOTHING])))


def _columns(found: list[Atom], names: list[str]) -> dict[str, int]:
    """Places from left to right in which everything is where it should be."""
    pairs = {
        atom.variables if atom.predicate == "LeftOf" else atom.variables[::-1]
        for atom in found
        if atom.predicate in ("LeftOf", "RightOf")
    }
    columns: dict[str, int] = {}
    while len(columns) < len(names):
        free = [
            name
            for name in names
            if name not in columns and not any(right == name and left not in columns for left, right in pairs)
        ]
        assert free, "what is left of what goes round in a circle"
        columns[free[0]] = len(columns)
    return columns
