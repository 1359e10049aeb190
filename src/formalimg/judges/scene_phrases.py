"""English phrases for the objects of a scene, such as "the blue cup" or "2 forks found, 3 needed"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.language.lexicon import SuiteLexicon, plural_measure
from formalimg.logic.syntax import And, Atom, Count, Value, Variable
from formalimg.logic.vocabulary import Vocabulary
from formalimg.scenes.objects import ATTRIBUTE_KINDS, ATTRIBUTE_PREDICATES, NO_WORD
from formalimg.scenes.scene import Scene

_ALTERNATIVES = ("color", "material", "shape")
"""Attributes of which an object has only one, so that another word says that the first is wrong."""


class DefiniteObject(NamedTuple):
    """A phrase that identifies one object of the scene, with "is" or "are" as its verb."""

    text: str
    verb: str


@dataclass(frozen=True)
class ScenePhrases:
    """Builds English phrases for the objects of a scene."""

    scene: Scene  # the scene
    # the words of the suite, with a noun for each class and a phrase for each predicate of the formula
    lexicon: SuiteLexicon
    vocabulary: Vocabulary | None  # what kind of attribute a word is; None if the suite has no vocabulary

    def bare(self, label: str, adjectives: Sequence[Atom] = ()) -> str:
        """Return the noun of a class without an article, such as "red cup" or "scissors"."""
        return " ".join([*map(self.before, adjectives), self.lexicon.nouns[label].text])

    def one(self, label: str, adjectives: Sequence[Atom] = ()) -> str:
        """Return the noun for a single object, to follow "no" or "every": "red cup", "pair of scissors"."""
        measure = self.lexicon.nouns[label].measure
        return " ".join(filter(None, [measure, self.bare(label, adjectives)]))

    def definite(self, number: int) -> DefiniteObject | None:
        """Return an unambiguous phrase such as "the cup" or "the blue cup", or None if there is none."""
        obj = self.scene.objects[number]
        if obj.label not in self.lexicon.nouns:
            return None
        noun, verb = self.bare(obj.label), "are" if self.lexicon.nouns[obj.label].many else "is"
        colors = [same.color for same in self.scene.objects if same.label == obj.label]
        if len(colors) == 1:
            return DefiniteObject(f"the {noun}", verb)
        if obj.color in (None, NO_WORD) or colors.count(obj.color) > 1:
            return None
        return DefiniteObject(f"the {obj.color} {noun}", verb)

    def can_say(self, atom: Atom) -> bool:
        """Return whether the lexicon has a phrase for the atom."""
        return self.lexicon.has_phrase(atom)

    def before(self, atom: Atom) -> str:
        """Return an attribute in the form that precedes a noun, or an empty string if it has none."""
        match atom.arguments:
            case (_, Value(word)):
                entry = self.lexicon.adjectives.get((atom.predicate, word))
                return (entry and entry.before) or ""
        return ""

    def predicate(self, atom: Atom) -> str:
        """Return the predicate phrase that follows "is": "red", "in the center of the image", "to the left of"."""
        match atom.arguments:
            case (_, Value(word)):
                return self.lexicon.adjectives[atom.predicate, word].after
            case (_,):
                return self.lexicon.places[atom.predicate][0]
        return self.lexicon.relations[atom.predicate].phrases[0]

    def style(self, word: str) -> str:
        """Return a style with its article, such as "an oil painting"."""
        return self.lexicon.styles.get(word) or f"a {word}"

    def contrast(self, atom: Atom, number: int) -> str:
        """Return an object's actual and expected attribute, such as "blue, not red", or an empty string."""
        match atom.arguments:
            case (_, Value(word)):
                kind = ATTRIBUTE_PREDICATES.get(atom.predicate) or self._attribute_kind(word)
                values = self.scene.objects[number].values(kind) if kind in _ALTERNATIVES else []
                expected = self.before(atom)
                if len(values) == 1 and values[0] not in (word, NO_WORD) and expected:
                    actual = self.before(Atom(atom.predicate, (atom.arguments[0], Value(values[0]))))
                    return f"{actual}, not {expected}" if actual else ""
        return ""

    def _attribute_kind(self, word: str) -> str:
        """Return the attribute kind of a word, or an empty string if it is ambiguous or unknown."""
        words = {} if self.vocabulary is None else self.vocabulary.words
        kinds = [kind for kind in ATTRIBUTE_KINDS if word in words.get(kind, ())]
        return kinds[0] if len(kinds) == 1 else ""

    def counted(self, count: Count, number: int, binding: Mapping[str, int]) -> str:
        """Return a phrase for the number of objects found and needed, or an empty string if it cannot be worded."""
        parts = count.body.parts if isinstance(count.body, And) else (count.body,)
        labels, adjectives, places = [], [], []
        for part in parts:
            match part:
                case Atom("Is", (variable, Value(word))) if variable == count.variable:
                    labels.append(word)
                case Atom(_, (variable, Value())) if variable == count.variable and self.before(part):
                    adjectives.append(part)
                case Atom(_, (variable,)) if variable == count.variable and self.can_say(part):
                    places.append(self.predicate(part))
                case Atom(_, (variable, Variable(name))) if variable == count.variable and self.can_say(part):
                    target = self.definite(binding[name]) if name in binding else None
                    if target is None:
                        return ""
                    places.append(f"{self.predicate(part)} {target.text}")
                case _:
                    return ""
        if len(labels) != 1:
            return ""
        least, maximum = count.range
        allowed = "none" if maximum == 0 else f"at most {maximum}"
        needed = f"{'at least ' if maximum is None else ''}{least} needed" if least else f"{allowed} allowed"
        location = f" {' and '.join(places)}" if places else ""
        return f"{self._amount(number, labels[0], adjectives)} found{location}, {needed}"

    def _amount(self, number: int, label: str, adjectives: Sequence[Atom]) -> str:
        noun = self.lexicon.nouns[label]
        if number == 0:
            return f"no {self.bare(label, adjectives)}"
        if number == 1:
            return f"1 {self.one(label, adjectives)}"
        text = " ".join([*map(self.before, adjectives), noun.plural])
        return f"{number} {text}" if noun.measure is None else f"{number} {plural_measure(noun.measure)} {text}"
