"""Scenes of objects with classes, attributes and boxes, against which formulas are verified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from formalimg._util.lazy import lazy_property
from formalimg.logic.syntax import Atom, Value, Variable
from formalimg.logic.vocabulary import Vocabulary, closest_match, vocabulary
from formalimg.logic.world import members
from formalimg.scenes.measures import BoxArrays, Rankings
from formalimg.scenes.objects import ATTRIBUTE_KINDS, ATTRIBUTE_PREDICATES, SceneObject, read_grounding, write_grounding
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from formalimg.scenes.scene_group import SceneGroup


class SceneRelation(NamedTuple):
    """A recorded relation between two objects, such as `SceneRelation("On", 0, 1)`."""

    predicate: str
    first: int
    second: int


RECORDED_PREDICATES = frozenset({"On", "In", "Holding", "NextTo", "Under"})
"""Relations that boxes cannot decide: a scene records them."""

_SIGNATURES: dict[str, tuple[type, ...]] = {
    "Is": (Variable, Value),
    "Has": (Variable, Value),
    **dict.fromkeys(ATTRIBUTE_PREDICATES, (Variable, Value)),
    **dict.fromkeys(UNARY_RULES, (Variable,)),
    **dict.fromkeys([*BINARY_RULES, *RECORDED_PREDICATES], (Variable, Variable)),
}


@dataclass(frozen=True)
class Scene:
    """Objects on a 1000 × 1000 canvas.

    Geometry is decided from boxes, and attributes from the words recorded for each object. Relations that boxes cannot
    decide (`On`, `In`, `Holding`, `NextTo`) are decided from `relations`: None means that these are unknown, so that a
    formula that uses one raises an error instead of failing.
    """

    objects: tuple[SceneObject, ...]
    relations: frozenset[SceneRelation] | None = None

    @classmethod
    def of(cls, objects: Iterable[SceneObject], relations: Iterable[SceneRelation] | None = None) -> Scene:
        """Create a scene from objects and optional relations."""
        return cls(tuple(objects), None if relations is None else frozenset(relations))

    @classmethod
    def from_json(cls, obj: object) -> Scene:
        """Parse the published grounding format: `{"objects": [{"label", "color", "box_2d"}, …]}`.

        Raises:
            SceneError: listing everything that is wrong with the data.
        """
        objects, relations = read_grounding(obj)
        return cls.of(objects, None if relations is None else (SceneRelation(*relation) for relation in relations))

    def to_json(self) -> dict[str, object]:
        """Return the scene in the published grounding format."""
        return write_grounding(self.objects, self.relations)

    def unknown_words(self, suite: str | Vocabulary) -> list[str]:
        """Return a message for each word in the scene that is missing from the vocabulary of the suite."""
        words = vocabulary(suite)
        messages = []
        for number, obj in enumerate(self.objects):
            for kind, value in [("class", obj.label), *obj.attributes()]:
                kind_words = words.words.get(kind, ())
                if value not in kind_words and not (kind != "class" and value == "other"):
                    suggestion = _format_suggestion(value, kind_words)
                    messages.append(f"objects[{number}]: {words.name} has no {kind} '{value}'{suggestion}")
        for name in sorted({relation.predicate for relation in self.relations or ()}.difference(RECORDED_PREDICATES)):
            if name in BINARY_RULES:
                messages.append(f"relations: '{name}' is read from boxes, not from records")
            else:
                messages.append(f"relations: '{name}' decides nothing{_format_suggestion(name, RECORDED_PREDICATES)}")
        return messages

    # --- the World protocol

    def __len__(self) -> int:
        return len(self.objects)

    def objection(self, atom: Atom) -> str | None:
        """Return the reason why this scene cannot decide an atom, or None if it can."""
        name = atom.predicate
        signature = _SIGNATURES.get(name)
        if signature is None:
            near = closest_match(name, _SIGNATURES)
            advice = f"did you mean {near}?" if near else f"it decides {', '.join(_SIGNATURES)}"
            return f"a scene cannot decide {name}: {advice}"
        if tuple(map(type, atom.arguments)) != signature:
            usage = " ".join([name, *("?x" if kind is Variable else "'word'" for kind in signature)])
            return f"{name} is written ({usage})"
        if name in RECORDED_PREDICATES and self.relations is None:
            return f"this scene does not record {name}: boxes cannot decide it, add relations to the scene"
        kind = ATTRIBUTE_PREDICATES.get(name, "color")
        if kind != "color" and self.objects and not any(obj.values(kind) for obj in self.objects):
            return f"this scene records no {kind} of any object, so {name} cannot be decided"
        return None

    @staticmethod
    def always_decides(atom: Atom) -> bool:
        """Return whether every scene can decide an atom, regardless of the data that it records."""
        name = atom.predicate
        fits = tuple(map(type, atom.arguments)) == _SIGNATURES.get(name)
        return fits and name not in RECORDED_PREDICATES and ATTRIBUTE_PREDICATES.get(name, "color") == "color"

    def having(self, predicate: str, value: str | None, among: int = -1) -> int:
        """Return the objects in `among` that satisfy a unary predicate, as a bit set."""
        by_word = self._having.get(predicate)
        if by_word is None:
            rule = UNARY_RULES.get(predicate)
            if rule is not None:
                return rule.objects(among & (1 << len(self.objects)) - 1, self._rankings)
            by_word = self._having[predicate] = self._read(predicate)
        return by_word.get(value, 0) & among

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """Return the objects b of `among` with predicate(a, b) for some a of `firsts`."""
        rule = BINARY_RULES.get(predicate)
        if rule is not None:
            return rule.seconds(firsts, among, self._rankings)
        return among & _find_partners(firsts, self._recorded_seconds.get(predicate, {}))

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """Return the objects a of `among` with predicate(a, b) for some b of `seconds`."""
        rule = BINARY_RULES.get(predicate)
        if rule is not None:
            return rule.firsts(seconds, among, self._rankings)
        return among & _find_partners(seconds, self._recorded_firsts.get(predicate, {}))

    def pairs(self, predicate: str) -> NDArray[np.bool] | None:
        """Return the truth table of a binary predicate, or None if it is only available as sets."""
        rule = BINARY_RULES.get(predicate)
        return None if rule is None else self._arrays.pairs(rule)

    @staticmethod
    def grouped(scenes: Sequence[Scene]) -> SceneGroup | None:
        """Return the scenes as a group for vectorized evaluation."""
        from formalimg.scenes.scene_group import SceneGroup  # here, because it needs numpy

        return SceneGroup([scene.objects for scene in scenes])

    def describe(self, obj: int) -> str:
        """Return a description of an object, such as "red cup #0"."""
        scene_object = self.objects[obj]
        return f"{scene_object.describe()} #{obj}"

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return the evidence, including measurements, that an atom holds or fails for the given objects."""
        name = atom.predicate
        first = self.objects[objects[0]]
        if name == "Is":
            return f"is a {first.label}"
        rule_of_two = BINARY_RULES.get(name)
        if rule_of_two is not None:
            return rule_of_two.evidence(first.box, self.objects[objects[1]].box)
        rule_of_one = UNARY_RULES.get(name)
        if rule_of_one is not None:
            return rule_of_one.evidence(first.box)
        if name in RECORDED_PREDICATES:
            return "recorded" if self.seconds(name, 1 << objects[0], 1 << objects[1]) else "not recorded"
        kinds = _attribute_kinds(name)
        values = [value for kind, value in first.attributes() if kind in kinds]
        return f"is {', '.join(values)}" if values else f"has no {kinds[0]}"

    @lazy_property
    def _having(self) -> dict[str, dict[str | None, int]]:
        """Cache of the objects that satisfy each predicate, by word."""
        return {}

    def _read(self, predicate: str) -> dict[str | None, int]:
        sets: dict[str | None, int] = {}
        bit = 1
        if predicate == "Is":
            for obj in self.objects:
                sets[obj.label] = sets.get(obj.label, 0) | bit
                bit <<= 1
            return sets
        kinds = _attribute_kinds(predicate)
        colors = "color" in kinds
        for obj in self.objects:
            color = obj.color
            if obj.material is None and obj.shape is None and not obj.states:  # nearly all objects are like this
                if colors and color is not None:
                    sets[color] = sets.get(color, 0) | bit
            else:
                for kind, word in obj.attributes():
                    if kind in kinds:
                        sets[word] = sets.get(word, 0) | bit
            bit <<= 1
        return sets

    @lazy_property
    def _recorded_seconds(self) -> dict[str, dict[int, int]]:
        """Second objects of the recorded relations, by predicate and first object."""
        return _group_partners(self.relations or ())

    @lazy_property
    def _recorded_firsts(self) -> dict[str, dict[int, int]]:
        """First objects of the recorded relations, by predicate and second object."""
        return _group_partners((predicate, second, first) for predicate, first, second in self.relations or ())

    @lazy_property
    def _rankings(self) -> Rankings:
        return Rankings([obj.box for obj in self.objects])

    @lazy_property
    def _arrays(self) -> BoxArrays:
        return BoxArrays([obj.box for obj in self.objects])


def _format_suggestion(word: str, candidates: Iterable[str]) -> str:
    near = closest_match(word, candidates)
    return f"; did you mean '{near}'?" if near else ""


def _group_partners(relations: Iterable[tuple[str, int, int]]) -> dict[str, dict[int, int]]:
    partners: dict[str, dict[int, int]] = {}
    for predicate, obj, partner in relations:
        row = partners.setdefault(predicate, {})
        row[obj] = row.get(obj, 0) | 1 << partner
    return partners


def _find_partners(objects: int, partners: dict[int, int]) -> int:
    """Return the recorded partners of any of the objects."""
    related = 0
    for obj in members(objects):
        related |= partners.get(obj, 0)
    return related


def _attribute_kinds(predicate: str) -> tuple[str, ...]:
    """Return the attribute kinds that decide a predicate: a single kind, or all of them for `Has`."""
    kind = ATTRIBUTE_PREDICATES.get(predicate)
    return ATTRIBUTE_KINDS if kind is None else (kind,)
