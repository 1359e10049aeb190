"""How the published scripts score raw answers: a small re-implementation from notes on them, for comparison.

Where a script asks again, or leaves a case out of its totals, the result is `ASKED_AGAIN` or `LEFT_OUT`. Formulas are
nested lists here and answers are plain data, so that nothing is shared with the code that is tested.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

ASKED_AGAIN = "asked again"
"""No answer: after the last try a class has no objects (FormalImg), an image is left out, or has a 0 (CF-World)."""
LEFT_OUT = "left out"
"""The script fails on it altogether, and the image is in no total."""


# --- FormalImg, formulas


def nested(text: str) -> Any:
    """A formula as nested lists; words keep their quotes."""
    tokens = re.findall(r"[()]|'[^']*'|[^\s()]+", text)

    def one() -> Any:
        token = tokens.pop(0)
        if token != "(":
            return token
        found = []
        while tokens[0] != ")":
            found.append(one())
        tokens.pop(0)
        return found

    return one()


def mentions(formula: Any, name: str) -> bool:
    return any(mentions(part, name) for part in formula) if isinstance(formula, list) else formula == name


def hoisted(formula: Any) -> Any:
    """What does not speak of the variable of an exists stands in front of it."""
    if not isinstance(formula, list):
        return formula
    if formula[0] != "exists":
        return [formula[0], *map(hoisted, formula[1:])]
    _, name, body = formula
    body = hoisted(body)
    if not isinstance(body, list) or body[0] != "and":
        return ["exists", name, body]
    inside = [part for part in body[1:] if mentions(part, name)]
    outside = [part for part in body[1:] if not mentions(part, name)]
    if not inside and not outside:
        return formula
    if len(inside) > 1:
        outside.append(["exists", name, ["and", *inside]])
    elif inside:
        outside.append(["exists", name, inside[0]])
    return outside[0] if len(outside) == 1 else ["and", *outside]


class Evaluator:
    """Goes through all objects in order; every result is true or not, and vacuous or not."""

    def __init__(self, objects: Any) -> None:
        self.objects = objects
        # Overlaps are measured first, and never found to be too large.
        if len(objects) >= 2:
            for place, one in enumerate(objects):
                for other in objects[place + 1 :]:
                    a, b = one.get("box_2d"), other.get("box_2d")
                    if a and b:
                        across = max(0, min(a[2], b[2]) - max(a[0], b[0]))
                        down = max(0, min(a[3], b[3]) - max(a[1], b[1]))
                        if across * down != 0:
                            _ = area(a), area(b)

    def __call__(self, formula: Any, names: dict[str, Any]) -> tuple[bool, bool]:
        head, *rest = formula
        if head == "and":
            return all(self(part, names)[0] for part in rest), False
        if head == "or":
            return any(self(part, names)[0] for part in rest), False
        if head == "not":
            return not self(rest[0], names)[0], False
        if head == "implies":
            if not self(rest[0], names)[0]:
                return True, True
            return self(rest[1], names)[0], False
        if head == "exists":
            return any(self(rest[1], {**names, rest[0]: obj})[0] for obj in self.objects), False
        if head == "forall":
            triggers = 0
            for obj in self.objects:
                true, vacuous = self(rest[1], {**names, rest[0]: obj})
                if not true:
                    return False, False
                triggers += not vacuous
            return triggers > 0, False
        rule = {"Is": is_a, "Has": has}.get(head) or GEOMETRY[head]
        return rule(*[part.strip("'") if part[0] == "'" else names[part] for part in rest]), False


def area(box: Any) -> Any:
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


def center(obj: Any) -> tuple[Any, Any]:
    box = obj["box_2d"]
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def is_a(obj: Any, word: str) -> bool:
    return bool(obj.get("label") == word)


def has(obj: Any, word: str) -> bool:
    return word in [obj.get("color"), obj.get("material"), obj.get("shape")]


def told(true: Any, *objects: Any) -> bool:
    """Why it is not true is told with the labels of the objects."""
    return bool(true) or not [obj["label"] for obj in objects]


GEOMETRY: dict[str, Any] = {
    "OnLeftSide": lambda a: told(center(a)[0] < 500, a),
    "OnRightSide": lambda a: told(center(a)[0] > 500, a),
    "OnTopSide": lambda a: told(center(a)[1] < 500, a),
    "OnBottomSide": lambda a: told(center(a)[1] > 500, a),
    "InCenter": lambda a: told(all(1000 / 3 < value < 2 * (1000 / 3) for value in center(a)), a),
    "LeftOf": lambda a, b: told(a["box_2d"][2] < center(b)[0], a, b),
    "RightOf": lambda a, b: told(a["box_2d"][0] > center(b)[0], a, b),
    "Above": lambda a, b: told(a["box_2d"][3] < center(b)[1], a, b),
    "Below": lambda a, b: told(a["box_2d"][1] > center(b)[1], a, b),
    "AlignedHorizontally": lambda a, b: abs(center(a)[1] - center(b)[1]) < 100,
    "AlignedVertically": lambda a, b: abs(center(a)[0] - center(b)[0]) < 100,
    "LargerThan": lambda a, b: told(area(a["box_2d"]) > area(b["box_2d"]), a, b),
    "SmallerThan": lambda a, b: told(area(a["box_2d"]) < area(b["box_2d"]), a, b),
}


def holds(formula: str, objects: Any) -> bool:
    """The verdict on objects; whatever the evaluator fails on is a fail."""
    try:
        return Evaluator(objects)(hoisted(nested(formula)), {})[0]
    except Exception:
        return False


# --- FormalImg, answers


def grounded(text: str) -> Any:
    """The objects in the answer to one request."""
    if "```json" in text:
        text = text.split("```json")[1].split("```")[0]
    elif "```" in text:
        text = text.split("```")[1].split("```")[0]
    try:
        return json.loads(text.strip()).get("objects", [])
    except (ValueError, AttributeError):
        return ASKED_AGAIN


def knolling(formula: str, texts: Sequence[str]) -> bool | str:
    """The verdict by the answers of all classes."""
    objects: list[Any] = []
    for text in texts:
        found = grounded(text)
        if isinstance(found, str) and found == ASKED_AGAIN:
            return ASKED_AGAIN
        try:
            objects.extend(found)
        except TypeError:
            return LEFT_OUT
    return holds(formula, objects)


def either(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return ast.literal_eval(text)


def begins(text: str, signs: str) -> bool:
    """Whether a text begins with these signs, blanks between them or not."""
    for sign in signs:
        text = text.lstrip()
        if not text.startswith(sign):
            return False
        text = text[1:]
    return True


def ending(text: str, signs: str) -> int:
    """Where these signs end, with which a text begins."""
    place = -1
    for sign in signs:
        place = text.index(sign, place + 1)
    return place + 1


def in_fence(text: str, *, starts: str, ends: str, last: bool) -> str | None:
    """What a code fence holds, from these signs to the first or last of those before the end of a fence."""
    for place in range(len(text)):
        if not text.startswith("```", place):
            continue
        rest = text[place + 3 :].removeprefix("json").lstrip()
        if begins(rest, starts) and rest[0] == starts[0]:
            close = [at for at, sign in enumerate(rest) if sign == "}" and begins(rest[at:], f"{ends}```")]
            close = [at for at in close if at > rest.index("{")]
            if close:
                at = close[-1 if last else 0]
                return rest[: at + ending(rest[at:], ends)]
    return None


def spanned(text: str, starts: str, ends: str) -> str | None:
    """What stands from the first of these signs to the last of those."""
    first = [at for at, sign in enumerate(text) if sign == starts[0] and begins(text[at:], starts)]
    last = [at for at, sign in enumerate(text) if sign == ends[0] and begins(text[at:], ends)]
    if not first or not last or last[-1] < first[0] + 1 or (len(starts) > 1 and last[-1] <= text.index("{", first[0])):
        return None
    return text[first[0] : last[-1] + ending(text[last[-1] :], ends)]


def natural(text: str, *, paper: bool = False) -> bool | str:
    """The verdict of the judge of natural scenes; in the paper, what says false is false."""
    fenced = in_fence(text, starts="{", ends="}", last=False)
    first, last = text.find("{"), text.rfind("}")
    if fenced is None and (first < 0 or last <= first):
        return ASKED_AGAIN
    try:
        found = either(fenced or text[first : last + 1])
    except (ValueError, SyntaxError, TypeError):
        return ASKED_AGAIN
    if not found or not isinstance(found, dict):
        return LEFT_OUT
    given = found.get("satisfies_constraint", False)
    return bool(given) and not (paper and isinstance(given, str) and given.strip().lower() == "false")


def layout(formula: str, text: str) -> bool:
    """The verdict on a planned layout; what cannot be read fails."""
    text = text.split("</think>")[-1]
    found = in_fence(text, starts="[{", ends="}]", last=True) or spanned(text, "[{", "}]") or spanned(text, "[", "]")
    try:
        assert found
        objects = json.loads(json.dumps(either(found)))
    except Exception:
        objects = None
    return holds(formula, objects)


# --- ConceptMix


def concept_scores(texts: Sequence[str]) -> list[int]:
    """A point for each answer with Yes in it."""
    return [int("Yes" in text) for text in texts]


# --- CF-World


def _json_in(text: str, *, twice: bool) -> Any:
    lines = [line.removeprefix("```json").removeprefix("```").removesuffix("```") for line in text.split("\n")]
    text = "\n".join(lines)
    spans = [(text.find(pair[0]), text.rfind(pair[1]) + 1) for pair in ("{}", "[]")]
    whole = sorted(span for span in spans if 0 <= span[0] < span[1] - 1)
    tries = [text[start:end] for start, end in whole[:1]]
    if twice and "{" in text and "}" in text:
        tries.append(text[text.find("{") : text.rfind("}") + 1])
    for one in tries:
        try:
            return json.loads(one)
        except ValueError:
            pass
    return None


def cf_scores(text: str, count: int, family: str) -> list[float] | str:
    """The score of each question; a script that ends with an error leaves the image out."""
    found = _json_in(text, twice=family == "qwen")
    if not found:
        return ASKED_AGAIN
    try:
        return [(_by_gemini if family == "gemini" else _by_qwen)(found, str(n + 1)) for n in range(count)]
    except (ValueError, TypeError, AttributeError, OverflowError):
        return ASKED_AGAIN if family == "gemini" else LEFT_OUT


def _by_gemini(found: Any, number: str) -> float:
    entry = found.get(number, {}) or found.get(f"Question ID {number}", {})
    return float(entry.get("score", 0.0))


def _by_qwen(found: Any, number: str) -> float:
    entry = found.get(number, {}) or found.get(f"Question ID {number}", {})
    if isinstance(entry, str):
        try:
            entry = json.loads(entry)
        except json.JSONDecodeError:
            return 0.0
    given = entry.get("score", 0.0) if isinstance(entry, dict) else 0.0
    if isinstance(given, dict):
        return float(given.get("score", 0.0))
    try:
        return float(given)
    except (ValueError, TypeError):
        return 0.0


def weighted(scores: Sequence[float], weights: Sequence[float]) -> float:
    """The score of an image: every question with its own weight."""
    return sum(score * weight for score, weight in zip(scores, weights, strict=True)) / sum(weights)
