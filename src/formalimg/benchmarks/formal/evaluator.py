"""Verdicts of the published FormalImg evaluator, computed on objects as a model wrote them.

Unlike verdicts on a `Scene`, labels and colours count as written; boxes may leave the canvas or have swapped corners
(their area is then 0); conjuncts are hoisted out of each `exists` whose variable they do not mention; and an object
that crashes the evaluator, such as a box of three numbers, fails the image if the search reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from formalimg._util.strict_json import dumps_storable
from formalimg.judges.base import MAX_OBJECTS, Grounding
from formalimg.judges.scene_judge import judge_grounding
from formalimg.logic.syntax import (
    DISTINCT,
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    atoms,
    children,
    map_children,
    subformulas,
)
from formalimg.logic.variables import free_variables
from formalimg.scenes.objects import CANVAS, Box, SceneError, SceneObject
from formalimg.scenes.rules import ALIGNMENT, BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene
from formalimg.types import Part, Unscored, Verdict

SYNTAX_ERROR = "Syntax Error"  # What the published evaluator says of everything that it fails on
_MAX_STEPS = 400_000
"""Steps of the plain search through odd objects; published formulas take about a tenth of it at most."""

_KINDS = ("color", "material", "shape")


class _TooManySteps(Exception):  # noqa: N818  # never leaves this module
    """Raised if the search takes too many steps."""


def judge_objects(formula: Formula, objects: object) -> Verdict | Unscored:
    """Return the verdict of the published evaluator on a formula.

    Its evidence has the objects under `scene` if they form a valid one, otherwise under `objects` as written.
    """
    if isinstance(objects, list) and len(objects) > MAX_OBJECTS:
        detail = f"{len(objects):,} objects were found, the limit is {MAX_OBJECTS:,}: look at the answers"
        return Unscored("not understood", detail)
    if _counts_objects(formula):
        return Unscored(
            "not understood", "the published evaluator knows neither counts nor distinct: use another judge"
        )
    hoisted = hoist_conjuncts(formula)
    scene = plain_scene(objects)
    if scene is not None and _is_published(hoisted):
        verdict = judge_grounding(hoisted, Grounding(scene))
        try:
            Scene.from_json(scene.to_json())
        except SceneError:
            return replace(verdict, evidence=_as_written(verdict.evidence, objects))
        return verdict
    evidence = _as_written({}, objects)
    try:
        passed = _Search(objects).holds(hoisted, {})
        explanation = "decided object by object, because some of them are not as they should be"
    except _TooManySteps:
        return Unscored("not understood", "some objects are odd, and deciding with them takes too many steps", evidence)
    except Exception as error:  # the evaluator catches everything, and so must this
        passed, explanation = False, f"{SYNTAX_ERROR} ({type(error).__name__})"
    predicates = tuple(sorted({atom.predicate for atom in atoms(formula)}))
    part = Part(str(hoisted), "formula", float(passed), about=predicates, reason=explanation)
    return Verdict(passed, (part,), {**evidence, "explanation": explanation})


def _as_written(evidence: Mapping[str, object], objects: object) -> dict[str, object]:
    stored = {name: value for name, value in evidence.items() if name != "scene"}
    try:
        dumps_storable(objects)
    except (TypeError, ValueError):  # NaN; the raw answers have it
        return stored
    return {**stored, "objects": objects}


@lru_cache(maxsize=4096)
def hoist_conjuncts(formula: Formula) -> Formula:
    """Return the formula with conjuncts moved out of each `exists` whose variable they do not mention.

    An `exists` over a conjunction that never mentions its variable disappears, and no longer requires an object.
    """
    match formula:
        case Exists(variable, body):
            inner = hoist_conjuncts(body)
            if not isinstance(inner, And):
                return Exists(variable, inner)
            bound = [part for part in inner.parts if _mentions_variable(part, variable.name)]
            free = [part for part in inner.parts if not _mentions_variable(part, variable.name)]
            if not bound and not free:
                return formula
            if bound:
                free.append(Exists(variable, bound[0] if len(bound) == 1 else And(tuple(bound))))
            return free[0] if len(free) == 1 else And(tuple(free))
        case Iff():
            return formula
    return map_children(formula, hoist_conjuncts)


def plain_scene(objects: object) -> Scene | None:
    """Return objects as a scene with unchanged labels, colours and boxes; None if any object is odd.

    An object is odd if the published evaluator may crash on it, or if the corners of its box are swapped.
    """
    if not isinstance(objects, list):
        return None
    scene_objects = [_plain_object(entry) for entry in objects]
    return Scene.of([obj for obj in scene_objects if obj is not None]) if None not in scene_objects else None


def _plain_object(entry: object) -> SceneObject | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("label"), str):
        return None
    box = entry.get("box_2d")
    if not isinstance(box, list) or len(box) != 4 or not all(type(edge) in (int, float) for edge in box):
        return None
    if not all(abs(edge) < 1e9 for edge in box) or box[0] > box[2] or box[1] > box[3]:
        return None
    words = {kind: entry[kind] for kind in _KINDS if isinstance(entry.get(kind), str)}
    return SceneObject(entry["label"], Box(*box), **words)


def _mentions_variable(formula: Formula, name: str) -> bool:
    if isinstance(formula, Atom):
        return name in formula.variables
    if isinstance(formula, Exists | Forall) and formula.variable.name == name:
        return True
    return any(_mentions_variable(part, name) for part in children(formula))


@lru_cache(maxsize=4096)
def _counts_objects(formula: Formula) -> bool:
    return any(
        isinstance(part, Count) or (isinstance(part, Atom) and part.predicate == DISTINCT)
        for part in subformulas(formula)
    )


@lru_cache(maxsize=4096)
def _is_published(formula: Formula) -> bool:
    return (
        not free_variables(formula)
        and not any(isinstance(part, Iff) for part in subformulas(formula))
        and all(tuple(map(type, atom.arguments)) == _SIGNATURES.get(atom.predicate) for atom in atoms(formula))
    )


_SIGNATURES: Mapping[str, tuple[type, ...]] = {
    "Is": (Variable, Value),
    "Has": (Variable, Value),
    **dict.fromkeys(UNARY_RULES, (Variable,)),
    **dict.fromkeys(BINARY_RULES, (Variable, Variable)),
}


class _Search:
    """The published search over objects in order, which fails wherever the published evaluator fails."""

    def __init__(self, objects: Any) -> None:
        self._objects: Sequence[Any] = objects
        self._steps = 0
        if len(objects) > 1:  # the published evaluator compares all pairs, and may fail on them
            boxes = [obj.get("box_2d") for obj in objects]
            for number, box in enumerate(boxes):
                for second in boxes[number + 1 :]:
                    self._count()
                    if box and second:
                        _measure_overlap(box, second)

    def _count(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise _TooManySteps

    def holds(self, formula: Formula, bound: Mapping[str, Any]) -> bool:
        """Return whether a formula holds for the objects, given those bound to its free variables."""
        self._count()
        match formula:
            case And(parts):
                return all(self.holds(part, bound) for part in parts)
            case Or(parts):
                return any(self.holds(part, bound) for part in parts)
            case Not(part):
                return not self.holds(part, bound)
            case Implies(first, second):
                return not self.holds(first, bound) or self.holds(second, bound)
            case Exists(variable, body):
                return any(self.holds(body, {**bound, variable.name: obj}) for obj in self._objects)
            case Forall(variable, body):
                return self._holds_for_all(variable.name, body, bound)
            case Atom(predicate, arguments):
                values = [
                    bound[argument.name] if isinstance(argument, Variable) else argument.text for argument in arguments
                ]
                return _RULES[predicate](*values)
        raise KeyError(f"the published evaluator does not know {type(formula).__name__}")

    def _holds_for_all(self, name: str, body: Formula, bound: Mapping[str, Any]) -> bool:
        triggered = False
        for obj in self._objects:
            inner = {**bound, name: obj}
            if isinstance(body, Implies) and not self.holds(body.antecedent, inner):
                continue
            if not self.holds(body.consequent if isinstance(body, Implies) else body, inner):
                return False
            triggered = True
        return triggered


# The rules, on objects as they were written: what they cannot compare raises, as it does in the published evaluator.


def _box_center(obj: Any) -> tuple[float, float]:
    box = obj["box_2d"]
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _box_area(box: Any) -> float:
    width, height = box[2] - box[0], box[3] - box[1]
    return (width if width > 0 else 0) * (height if height > 0 else 0)


def _measure_overlap(first: Any, second: Any) -> None:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width > 0 and height > 0:
        _box_area(first), _box_area(second)


def _require_labels(holds: bool, *objects: Any) -> bool:
    if not holds:
        for obj in objects:
            obj["label"]
    return holds


def _in_center(obj: Any) -> bool:
    x, y = _box_center(obj)
    third = CANVAS / 3
    return _require_labels(third < x < 2 * third and third < y < 2 * third, obj)


_HALF = CANVAS / 2

_RULES: Mapping[str, Callable[..., bool]] = {
    "Is": lambda a, word: bool(a.get("label") == word),
    "Has": lambda a, word: word in [a.get(kind) for kind in _KINDS],
    "OnLeftSide": lambda a: _require_labels(_box_center(a)[0] < _HALF, a),
    "OnRightSide": lambda a: _require_labels(_box_center(a)[0] > _HALF, a),
    "OnTopSide": lambda a: _require_labels(_box_center(a)[1] < _HALF, a),
    "OnBottomSide": lambda a: _require_labels(_box_center(a)[1] > _HALF, a),
    "InCenter": _in_center,
    "LeftOf": lambda a, b: _require_labels(a["box_2d"][2] < _box_center(b)[0], a, b),
    "RightOf": lambda a, b: _require_labels(a["box_2d"][0] > _box_center(b)[0], a, b),
    "Above": lambda a, b: _require_labels(a["box_2d"][3] < _box_center(b)[1], a, b),
    "Below": lambda a, b: _require_labels(a["box_2d"][1] > _box_center(b)[1], a, b),
    "AlignedHorizontally": lambda a, b: abs(_box_center(a)[1] - _box_center(b)[1]) < ALIGNMENT,
    "AlignedVertically": lambda a, b: abs(_box_center(a)[0] - _box_center(b)[0]) < ALIGNMENT,
    "LargerThan": lambda a, b: _require_labels(_box_area(a["box_2d"]) > _box_area(b["box_2d"]), a, b),
    "SmallerThan": lambda a, b: _require_labels(_box_area(a["box_2d"]) < _box_area(b["box_2d"]), a, b),
}
