"""Objects of a scene with boxes, classes and attributes, and the published grounding format.

The format is `{"objects": [{"label", "color", "box_2d": [xmin, ymin, xmax, ymax]}]}`. Optional keys extend it to
annotated natural scenes: `material`, `shape` and `state` on an object, and `"relations": [["On", 0, 1], …]` beside the
objects. Nothing is repaired silently: a scene that is not entirely valid raises an error that lists every problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.errors import FormalimgError

CANVAS = 1000  # Width and height of the canvas; x points right, y points down, the origin is the top left corner
MIN_SIDE = 20  # The smallest side of a box that counts as an object


class Box(NamedTuple):
    """A bounding box on the canvas."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    @property
    def center_x(self) -> float:
        """The x coordinate of the centre."""
        return (self.xmin + self.xmax) / 2

    @property
    def center_y(self) -> float:
        """The y coordinate of the centre."""
        return (self.ymin + self.ymax) / 2

    @property
    def area(self) -> float:
        """The area of the box (width times height)."""
        return (self.xmax - self.xmin) * (self.ymax - self.ymin)

    def __str__(self) -> str:
        return "[" + " ".join(f"{number:g}" for number in self) + "]"


NO_WORD = "other"  # The word of detectors where no word of the vocabulary fits


ATTRIBUTE_PREDICATES = {"HasColor": "color", "HasMaterial": "material", "HasShape": "shape", "HasState": "state"}
"""The kind of attribute of each attribute predicate."""

ATTRIBUTE_KINDS = tuple(ATTRIBUTE_PREDICATES.values())  # The kinds of attributes, in display order


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object in a scene, with its class, box and attributes.

    A colour, material or shape of None or "other" is outside the vocabulary.
    """

    label: str
    box: Box
    color: str | None = None
    material: str | None = None
    shape: str | None = None
    states: tuple[str, ...] = ()

    def attributes(self) -> list[tuple[str, str]]:
        """Return the attributes as pairs of kind (`color`, `material`, `shape` or `state`) and word."""
        words = [] if self.color is None else [("color", self.color)]
        if self.material is not None:
            words.append(("material", self.material))
        if self.shape is not None:
            words.append(("shape", self.shape))
        if self.states:
            words.extend(("state", state) for state in self.states)
        return words

    def values(self, kind: str) -> list[str]:
        """Return the attribute words of the given kind."""
        return [word for word_kind, word in self.attributes() if word_kind == kind]

    def describe(self) -> str:
        """Return a description of the object, such as "red cup"."""
        words = [self.color, self.material, self.shape, *self.states]
        return " ".join([*[word for word in words if word is not None and word != NO_WORD], self.label])


_PLAIN = frozenset({"label", "color", "box_2d"})
_NUMBERS = frozenset({int, float})


class SceneError(FormalimgError, ValueError):
    """Raised if a scene cannot be read. `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "; ".join(self.problems[:3]) + (f"; and {len(problems) - 3} more" if len(problems) > 3 else "")
        )

    def __reduce__(self) -> tuple[type[SceneError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


def read_grounding(data: object) -> tuple[list[SceneObject], list[tuple[str, int, int]] | None]:
    """Parse the objects and any relations of a scene in the grounding format."""
    if not isinstance(data, dict) or "objects" not in data:
        raise SceneError(['a scene is an object with "objects": [{"label", "color", "box_2d"}, …]'])
    entries = data["objects"]
    if entries is None:
        raise SceneError(['"objects" is null: whoever made this scene could not read the image'])
    if not isinstance(entries, list):
        raise SceneError(['"objects" must be a list'])
    problems: list[str] = []
    objects: list[SceneObject] = []
    for number, entry in enumerate(entries):
        obj = _plain_object(entry) or _read_object(entry, f"objects[{number}]", problems)
        if obj is not None:
            objects.append(obj)
    relations = _read_relations(data.get("relations"), len(objects), problems)
    if problems:
        raise SceneError(problems)
    return objects, relations


def write_grounding(
    objects: Iterable[SceneObject], relations: Iterable[tuple[str, int, int]] | None
) -> dict[str, object]:
    """Return the objects and relations as data in the grounding format."""
    entries = []
    for obj in objects:
        entry: dict[str, object] = {"label": obj.label, "color": obj.color, "box_2d": list(obj.box)}
        if obj.material is not None:
            entry["material"] = obj.material
        if obj.shape is not None:
            entry["shape"] = obj.shape
        if obj.states:
            entry["state"] = list(obj.states)
        entries.append(entry)
    data: dict[str, object] = {"objects": entries}
    if relations is not None:
        data["relations"] = [list(relation) for relation in sorted(relations)]
    return data


def _plain_object(entry: object) -> SceneObject | None:
    """Parse an object with only a label, colour and box. Return None if the entry requires full validation.

    Nearly all objects have this form, and full validation takes three times as long.
    """
    if type(entry) is not dict or entry.keys() != _PLAIN:
        return None
    label, color, numbers = entry["label"], entry["color"], entry["box_2d"]
    if type(label) is not str or not label or not (color is None or (type(color) is str and color)):
        return None
    if type(numbers) is not list or len(numbers) != 4 or not _NUMBERS.issuperset(map(type, numbers)):
        return None
    xmin, ymin, xmax, ymax = numbers
    if not (0 <= xmin <= xmax <= CANVAS and 0 <= ymin <= ymax <= CANVAS):
        return None
    return SceneObject(label, Box(xmin, ymin, xmax, ymax), color)


def _read_object(entry: object, location: str, problems: list[str]) -> SceneObject | None:
    if not isinstance(entry, dict):
        problems.append(f'{location} must be an object with "label", "color" and "box_2d"')
        return None
    label = entry.get("label")
    if not isinstance(label, str) or not label:
        problems.append(f"{location} has no label")
        label = "thing"
    location = f"{location} ({label[:40]})"
    words = {
        kind: _read_word(entry.get(kind), f"{location}: {kind}", problems) for kind in ("color", "material", "shape")
    }
    box = _read_box(entry.get("box_2d"), location, problems)
    states = _read_states(entry.get("state"), location, problems)
    return None if box is None else SceneObject(label, box, **words, states=states)


def _read_word(word: object, location: str, problems: list[str]) -> str | None:
    if word is None or isinstance(word, str):
        return word or None
    problems.append(f"{location} must be a word or null")
    return None


def _read_states(states: object, location: str, problems: list[str]) -> tuple[str, ...]:
    listed = states if isinstance(states, list) else [] if states is None else [states]
    words = [state for state in listed if isinstance(state, str)]
    if len(words) == len(listed):
        return tuple(filter(None, words))  # an empty word is no word, as for colours
    problems.append(f"{location}: state must be a word or a list of words")
    return ()


def _read_box(numbers: object, location: str, problems: list[str]) -> Box | None:
    if numbers is None:
        problems.append(f"{location} has no box_2d")
        return None
    if not isinstance(numbers, list | tuple) or len(numbers) != 4 or not all(map(_is_number, numbers)):
        problems.append(f"{location}: box_2d must be four numbers [xmin, ymin, xmax, ymax]")
        return None
    box = Box(*numbers)
    outside = [number for number in numbers if not 0 <= number <= CANVAS]
    if outside:
        problems.append(f"{location}: box_2d {box} leaves the canvas of 0 to {CANVAS}")
    elif box.xmin > box.xmax or box.ymin > box.ymax:
        problems.append(f"{location}: box_2d {box} has its corners swapped, it must be [xmin, ymin, xmax, ymax]")
    else:
        return box
    return None


def _is_number(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < 1e9


def _read_relations(entries: object, count: int, problems: list[str]) -> list[tuple[str, int, int]] | None:
    if entries is None:
        return None
    if not isinstance(entries, list):
        problems.append('"relations" must be a list such as [["On", 0, 1]]')
        return None
    relations: list[tuple[str, int, int]] = []
    for number, entry in enumerate(entries):
        match entry:
            case [str(predicate), int(first), int(second)] if _is_place(first, count) and _is_place(second, count):
                relations.append((predicate, first, second))
            case _:
                problems.append(f'relations[{number}] must be ["Predicate", first, second] with numbers of objects')
    return relations


def _is_place(number: int, count: int) -> bool:
    return 0 <= number < count and not isinstance(number, bool)
