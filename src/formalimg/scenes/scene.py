"""Scenes: things with a class, attributes and a box, about which formulas can be verified."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from formalimg.logic import Atom, Value, Variable, Vocabulary, nearest, vocabulary
from formalimg.scenes.grounding import read_grounding, write_grounding
from formalimg.scenes.ranking import Ranking
from formalimg.scenes.rules import RULES_OF_ONE, RULES_OF_TWO, Measure, PairRule, RankedPair
from formalimg.scenes.thing import ATTRIBUTE_KINDS, ATTRIBUTE_PREDICATES, Thing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Relation(NamedTuple):
    """A relation between two things, by their numbers, that somebody has seen: `Relation("On", 0, 1)`."""

    predicate: str
    first: int
    second: int


_SEEN_PREDICATES = ("On", "In", "Holding", "NextTo")

_EXACT = 2**53
"""Whole numbers below this are the same as floats."""

_WRITTEN: dict[str, tuple[type, ...]] = {
    "Is": (Variable, Value),
    "Has": (Variable, Value),
    **dict.fromkeys(ATTRIBUTE_PREDICATES, (Variable, Value)),
    **dict.fromkeys(RULES_OF_ONE, (Variable,)),
    **dict.fromkeys([*RULES_OF_TWO, *_SEEN_PREDICATES], (Variable, Variable)),
}


@dataclass(frozen=True)
class Scene:
    """Things on a canvas of 1000 by 1000.

    Geometry is decided from boxes, attributes from what is written on each thing. Relations that no box can tell
    (`On`, `In`, `Holding`, `NextTo`) are decided from `relations`, if the scene has them: None means that nobody
    looked, and then asking for one is an error, not a failure.
    """

    things: tuple[Thing, ...]
    relations: frozenset[Relation] | None = None

    @classmethod
    def of(cls, things: Iterable[Thing], relations: Iterable[Relation] | None = None) -> Scene:
        """A scene of these things."""
        return cls(tuple(things), None if relations is None else frozenset(relations))

    @classmethod
    def from_json(cls, obj: object) -> Scene:
        """Read the published grounding format: `{"objects": [{"label", "color", "box_2d"}, …]}`.

        Raises:
            SceneError: naming everything that is wrong with the data.
        """
        things, relations = read_grounding(obj)
        return cls.of(things, None if relations is None else (Relation(*relation) for relation in relations))

    def to_json(self) -> dict[str, object]:
        """The scene in the published grounding format."""
        return write_grounding(self.things, self.relations)

    def unknown_words(self, suite: str | Vocabulary) -> list[str]:
        """What the suite's vocabulary does not know in this scene, as messages: such things match no instruction."""
        words = vocabulary(suite)
        messages = []
        for number, thing in enumerate(self.things):
            for kind, value in [("class", thing.label), *thing.attributes()]:
                known = words.words.get(kind, ())
                if value not in known and not (kind != "class" and value == "other"):
                    near = nearest(value, known)
                    advice = f"; did you mean '{near}'?" if near else ""
                    messages.append(f"objects[{number}]: {words.name} has no {kind} '{value}'{advice}")
        return messages

    # --- what formulas ask (the World protocol)

    def __len__(self) -> int:
        return len(self.things)

    def objection(self, atom: Atom) -> str | None:
        """Why this scene cannot decide an atom; None if it can."""
        name = atom.predicate
        written = _WRITTEN.get(name)
        if written is None:
            near = nearest(name, _WRITTEN)
            advice = f"did you mean {near}?" if near else f"it decides {', '.join(_WRITTEN)}"
            return f"a scene cannot decide {name}: {advice}"
        if tuple(map(type, atom.arguments)) != written:
            usage = " ".join([name, *("?x" if kind is Variable else "'word'" for kind in written)])
            return f"{name} is written ({usage})"
        if name in _SEEN_PREDICATES and self.relations is None:
            return f"this scene does not record {name}: boxes cannot tell it, add relations to the scene"
        kind = ATTRIBUTE_PREDICATES.get(name, "color")
        if kind != "color" and self.things and not any(thing.values(kind) for thing in self.things):
            return f"this scene records no {kind} of any thing, so {name} cannot be decided"
        return None

    def having(self, predicate: str, value: str | None) -> int:
        """The things for which a predicate of one variable holds, as a bit set."""
        if predicate == "Is":
            return self._labelled.get(value, 0)
        if predicate in RULES_OF_ONE:
            return RULES_OF_ONE[predicate].things((1 << len(self.things)) - 1, self._ranked_by)
        found = 0
        for kind in _kinds_asked_for(predicate):
            found |= self._attributed.get((kind, value), 0)
        return found

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """The things b, out of a set, for which predicate(a, b) holds for some a of the firsts."""
        rule = RULES_OF_TWO.get(predicate)
        if rule is not None:
            return rule.seconds(firsts, among, self._ranked_for(predicate, rule))
        return among & sum({1 << seen.second for seen in self._seen(predicate) if firsts >> seen.first & 1})

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """The things a, out of a set, for which predicate(a, b) holds for some b of the seconds."""
        rule = RULES_OF_TWO.get(predicate)
        if rule is not None:
            return rule.firsts(seconds, among, self._ranked_for(predicate, rule))
        return among & sum({1 << seen.first for seen in self._seen(predicate) if seconds >> seen.second & 1})

    def pairs(self, predicate: str) -> NDArray[np.bool] | None:
        """Where a predicate of two variables holds, by first and second thing; None if only sets can tell."""
        rule = RULES_OF_TWO.get(predicate)
        if rule is None:
            return None
        first, second = self._measured(rule.first), self._measured(rule.second)
        return None if first is None or second is None else rule.pairs(first, second)

    def describe(self, thing: int) -> str:
        """A thing by its looks, its number and its box."""
        found = self.things[thing]
        return f"{found.looks()} #{thing}"

    def evidence(self, atom: Atom, things: tuple[int, ...]) -> str:
        """What can be read off the things that makes the atom hold or fail, with numbers."""
        name = atom.predicate
        first = self.things[things[0]]
        if name in RULES_OF_ONE:
            return RULES_OF_ONE[name].evidence(first.box)
        if name in RULES_OF_TWO:
            return RULES_OF_TWO[name].evidence(first.box, self.things[things[1]].box)
        if name in _SEEN_PREDICATES:
            return "recorded" if self.seconds(name, 1 << things[0], 1 << things[1]) else "not recorded"
        if name == "Is":
            return f"is a {first.label}"
        kinds = _kinds_asked_for(name)
        values = [value for kind in kinds for value in first.values(kind)]
        return f"is {', '.join(values)}" if values else f"has no {kinds[0]}"

    @cached_property
    def _labelled(self) -> dict[str | None, int]:
        """The things of each class."""
        found: dict[str | None, int] = {}
        for number, thing in enumerate(self.things):
            found[thing.label] = found.get(thing.label, 0) | 1 << number
        return found

    @cached_property
    def _attributed(self) -> dict[tuple[str, str | None], int]:
        """The things with each word of each kind of attribute."""
        found: dict[tuple[str, str | None], int] = {}
        for number, thing in enumerate(self.things):
            for attribute in thing.attributes():
                found[attribute] = found.get(attribute, 0) | 1 << number
        return found

    def _seen(self, predicate: str) -> list[Relation]:
        return [seen for seen in self.relations or () if seen.predicate == predicate]

    @cached_property
    def _rankings(self) -> dict[Measure, Ranking]:
        return {}

    @cached_property
    def _ranked_pairs(self) -> dict[str, RankedPair]:
        return {}

    @cached_property
    def _measures(self) -> dict[Measure, NDArray[np.float64] | None]:
        return {}

    def _measured(self, measure: Measure) -> NDArray[np.float64] | None:
        """A measure of all things; None if the numbers are such that an array would round them."""
        if measure not in self._measures:
            import numpy as np  # here, because most programs that verify never need it

            values = [getattr(thing.box, measure) for thing in self.things]
            exact = all(type(value) in (int, float) and abs(value) < _EXACT for value in values)
            self._measures[measure] = np.array(values, np.float64) if exact else None
        return self._measures[measure]

    def _ranked_by(self, measure: Measure) -> Ranking:
        known = self._rankings.get(measure)
        if known is None:
            known = self._rankings[measure] = Ranking([getattr(thing.box, measure) for thing in self.things])
        return known

    def _ranked_for(self, predicate: str, rule: PairRule) -> RankedPair:
        known = self._ranked_pairs.get(predicate)
        if known is None:
            pair = RankedPair(self._ranked_by(rule.first), self._ranked_by(rule.second))
            known = self._ranked_pairs[predicate] = pair
        return known


def _kinds_asked_for(predicate: str) -> tuple[str, ...]:
    """The kinds of attributes that decide a predicate: one, or for `Has` all of them."""
    kind = ATTRIBUTE_PREDICATES.get(predicate)
    return ATTRIBUTE_KINDS if kind is None else (kind,)
