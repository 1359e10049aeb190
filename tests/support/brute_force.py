"""The definition of truth, written down as plainly as can be: the oracle for everything that is clever.

The geometry is spelt out again from the published rules, so that a slip in ours would show.
"""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or, Value, Variable
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.scene import Scene


def truth(formula: Formula, scene: Scene, *, strict: bool, style: str | None = None) -> bool:
    """Does the formula hold? By trying every assignment."""
    return _truth(formula, scene, {}, strict, style)


def _truth(formula: Formula, scene: Scene, binding: dict[str, SceneObject], strict: bool, style: str | None) -> bool:
    def holds(formula: Formula, **more: SceneObject) -> bool:
        return _truth(formula, scene, {**binding, **more}, strict, style)

    match formula:
        case Atom("IsStyle", (Value(word),)):
            return word == style
        case Atom(predicate, arguments):
            return atom_truth(predicate, [binding[a.name] if isinstance(a, Variable) else a.text for a in arguments])
        case Not(body):
            return not holds(body)
        case And(parts):
            return all(holds(part) for part in parts)
        case Or(parts):
            return any(holds(part) for part in parts)
        case Implies(antecedent, consequent):
            return not holds(antecedent) or holds(consequent)
        case Iff(left, right):
            return holds(left) == holds(right)
        case Exists(Variable(name), body):
            return any(holds(body, **{name: obj}) for obj in scene.objects)
        case Forall(Variable(name), body):
            everywhere = all(holds(body, **{name: obj}) for obj in scene.objects)
            if not strict:
                return everywhere
            if isinstance(body, Implies):
                return everywhere and any(holds(body.antecedent, **{name: obj}) for obj in scene.objects)
            return everywhere and len(scene.objects) > 0
        case Count(bound, number, Variable(name), body):
            return count_truth(bound, number, sum(holds(body, **{name: obj}) for obj in scene.objects))
    raise AssertionError(formula)


def number_found(count: Count, scene: Scene, binding: Mapping[str, int], *, strict: bool, style: str | None) -> int:
    """How many objects make the body of a count true, if its free variables stand for these objects?"""
    bound = {name: scene.objects[obj] for name, obj in binding.items()}
    name = count.variable.name
    return sum(_truth(count.body, scene, {**bound, name: obj}, strict, style) for obj in scene.objects)


def count_truth(bound: str, number: int, found: int) -> bool:
    """Is this number of objects what a count asks for?"""
    return {"exactly": found == number, "at-least": found >= number, "at-most": found <= number}[bound]


def atom_truth(predicate: str, arguments: list[SceneObject | str]) -> bool:
    """Does a predicate hold of these objects and words? Objects that look the same are still different ones."""
    if predicate == "distinct":
        return len({id(obj) for obj in arguments}) == len(arguments)
    first, second = (*arguments, None)[:2]
    assert isinstance(first, SceneObject)
    x1, y1, x2, y2 = first.box
    cx, cy = (x1 + x2) / 2, (y1 + y2) / 2
    if predicate == "Is":
        return first.label == second
    if predicate == "Has":
        return first.color == second
    if second is None:
        sides = {
            "OnLeftSide": cx < 500,
            "OnRightSide": cx > 500,
            "OnTopSide": cy < 500,
            "OnBottomSide": cy > 500,
            "InCenter": 1000 < 3 * cx < 2000 and 1000 < 3 * cy < 2000,
        }
        return sides[predicate]
    assert isinstance(second, SceneObject)
    u1, v1, u2, v2 = second.box
    other_cx, other_cy = (u1 + u2) / 2, (v1 + v2) / 2
    area, other_area = (x2 - x1) * (y2 - y1), (u2 - u1) * (v2 - v1)
    relations = {
        "LeftOf": x2 < other_cx,
        "RightOf": x1 > other_cx,
        "Above": y2 < other_cy,
        "Below": y1 > other_cy,
        "AlignedHorizontally": abs(cy - other_cy) < 100,
        "AlignedVertically": abs(cx - other_cx) < 100,
        "LargerThan": area > other_area,
        "SmallerThan": area < other_area,
    }
    return relations[predicate]
