"""English sentences that describe what a scene shows instead of a failed clause.

"no banana found", "the cup is blue, not red", "no plate is above the fork". A sentence is used only if it is true of
the scene; where none is certain, the caller falls back on the wording of the clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from formalimg.language.lexicon import SuiteLexicon, plural_measure
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.syntax import DISTINCT, And, Atom, Count, Formula, Not, Or, Value, Variable
from formalimg.logic.variables import free_variables
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.logic.vocabulary import Vocabulary
from formalimg.logic.world import members
from formalimg.scenes.objects import ATTRIBUTE_KINDS, ATTRIBUTE_PREDICATES, NO_WORD
from formalimg.scenes.scene import Scene

_ALTERNATIVES = ("color", "material", "shape")
"""Attributes of which an object has only one, so that another word says that the first is wrong."""


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

    def definite(self, number: int) -> tuple[str, str] | None:
        """Return an unambiguous phrase such as "the blue cup" and its verb, "is" or "are", or None if there is none."""
        obj = self.scene.objects[number]
        if obj.label not in self.lexicon.nouns:
            return None
        noun, verb = self.bare(obj.label), "are" if self.lexicon.nouns[obj.label].many else "is"
        colors = [same.color for same in self.scene.objects if same.label == obj.label]
        if len(colors) == 1:
            return f"the {noun}", verb
        if obj.color in (None, NO_WORD) or colors.count(obj.color) > 1:
            return None
        return f"the {obj.color} {noun}", verb

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
                words = {} if self.vocabulary is None else self.vocabulary.words
                kinds = [kind for kind in ATTRIBUTE_KINDS if word in words.get(kind, ())]
                kind = ATTRIBUTE_PREDICATES.get(atom.predicate) or (kinds[0] if len(kinds) == 1 else "")
                values = self.scene.objects[number].values(kind) if kind in _ALTERNATIVES else []
                expected = self.before(atom)
                if len(values) == 1 and values[0] not in (word, NO_WORD) and expected:
                    actual = self.before(Atom(atom.predicate, (atom.arguments[0], Value(values[0]))))
                    return f"{actual}, not {expected}" if actual else ""
        return ""

    def counted(self, count: Count, number: int, binding: Mapping[str, int]) -> str:
        """Return a phrase for the number of objects found and needed, or an empty string if it cannot be worded."""
        parts = count.body.parts if isinstance(count.body, And) else (count.body,)
        can_say = self.lexicon.has_phrase
        labels, adjectives, places = [], [], []
        for part in parts:
            match part:
                case Atom("Is", (variable, Value(word))) if variable == count.variable:
                    labels.append(word)
                case Atom(_, (variable, Value())) if variable == count.variable and self.before(part):
                    adjectives.append(part)
                case Atom(_, (variable,)) if variable == count.variable and can_say(part):
                    places.append(self.predicate(part))
                case Atom(_, (variable, Variable(name))) if variable == count.variable and can_say(part):
                    target = self.definite(binding[name]) if name in binding else None
                    if target is None:
                        return ""
                    places.append(f"{self.predicate(part)} {target[0]}")
                case _:
                    return ""
        if len(labels) != 1:
            return ""
        least, maximum = count.range
        allowed = "none" if maximum == 0 else f"at most {maximum}"
        needed = f"{'at least ' if maximum is None else ''}{least} needed" if least else f"{allowed} allowed"
        location = f" {' and '.join(places)}" if places else ""
        noun = self.lexicon.nouns[labels[0]]
        if number == 0:
            amount = f"no {self.bare(labels[0], adjectives)}"
        elif number == 1:
            amount = f"1 {self.one(labels[0], adjectives)}"
        else:
            measure = plural_measure(noun.measure) if noun.measure else None
            amount = " ".join(filter(None, [str(number), measure, *map(self.before, adjectives), noun.plural]))
        return f"{amount} found{location}, {needed}"


# --- sentences

Binding: TypeAlias = Mapping[str, int]


class SceneSentence(NamedTuple):
    """A true sentence about a scene, with the indices of the objects it mentions."""

    text: str
    objects: frozenset[int] = frozenset()


class ParsedClause(NamedTuple):
    """A clause parsed into its claim and the conditions under which the claim is made."""

    conditions: tuple[Atom, ...]
    claim: Atom | Count
    positive: bool

    @property
    def variables(self) -> tuple[str, ...]:
        """The free variables of the claim, in order."""
        return self.claim.variables if isinstance(self.claim, Atom) else tuple(sorted(free_variables(self.claim)))

    @property
    def rules(self) -> tuple[str, ...]:
        """The variables that occur in the conditions."""
        return tuple(dict.fromkeys(name for atom in self.conditions for name in atom.variables))

    def atoms(self) -> Iterator[Atom]:
        """Yield the atoms whose truth depends on the scene."""
        claims = _list_conjuncts(self.claim) or () if isinstance(self.claim, Count) else (self.claim,)
        yield from (atom for atom in (*self.conditions, *claims) if atom.predicate not in (DISTINCT, STYLE_PREDICATE))


@lru_cache(maxsize=20_000)
def parse_clause(text: str) -> ParsedClause | None:
    """Parse a clause with a single claim, or return None if it has another form."""
    try:
        clause = parse(text)
    except FormulaError:
        return None
    literals = clause.parts if isinstance(clause, Or) else (clause,)
    denied = [literal.body for literal in literals if isinstance(literal, Not)]
    claims: list[Formula] = [literal for literal in literals if not isinstance(literal, Not)]
    positive = bool(claims)
    if not claims:  # the conditions of a rule, and then a claim that is denied: "no cup is red"
        claims = [denied.pop()]
    (claim, *more), conditions = claims, tuple(atom for atom in denied if isinstance(atom, Atom))
    if more or len(conditions) < len(denied) or not isinstance(claim, Atom | Count):
        return None
    return ParsedClause(conditions, claim, positive)


@dataclass(frozen=True)
class JudgedScene:
    """A scene with the clauses of a formula and the best variable binding found by a judge.

    An object bound to a variable of another class does not explain what failed. It is replaced by the object of that
    class for which most clauses hold, if there is one.
    """

    # all clauses of the verdict, also those that hold; None for one of another form
    clauses: Sequence[ParsedClause | None]
    judge_binding: Binding  # the number of the object that each variable stands for
    phrases: ScenePhrases  # the scene, and the words for its objects
    style: str = ""  # the style of the image; empty if it is not known

    def sentences(self, number: int) -> tuple[SceneSentence, ...]:
        """Describe what the scene shows instead of a failed clause, or return () if nothing certain applies."""
        clause = self.clauses[number]
        if clause is None or not self._is_readable(clause):
            return ()
        absent = [
            self._absence(name)
            for name in (*clause.rules, *clause.variables)
            if name in self._classes and not self._candidates(name)
        ]
        if absent:
            return tuple(dict.fromkeys(absent))
        failed = [clause]
        if self._holds(clause, self._binding):
            # It holds of an object of the right class: what fails is something else about that object.
            rebound = {name for name in clause.variables if self._binding[name] != self.judge_binding.get(name)}
            clauses = [readable for readable in self._readable if rebound & {*readable.variables}]
            failed = [readable for readable in clauses if self._holds(readable, self._binding) is False]
        sentences = [self._sentence(clause) for clause in failed]
        return tuple(dict.fromkeys(filter(None, sentences)))

    def _is_readable(self, clause: ParsedClause) -> bool:
        return not any(self.phrases.scene.objection(atom) for atom in clause.atoms())

    @cached_property
    def _readable(self) -> list[ParsedClause]:
        return [clause for clause in self.clauses if clause is not None and self._is_readable(clause)]

    # --- variables

    @cached_property
    def _classes(self) -> dict[str, str]:
        classes: dict[str, str] = {}
        for clause in filter(None, self.clauses):
            stated = [clause.claim] if clause.positive and isinstance(clause.claim, Atom) else []
            for atom in (*clause.conditions, *stated):
                match atom:
                    case Atom("Is", (Variable(name), Value(word))):
                        classes.setdefault(name, word)
        return classes

    @cached_property
    def _rules(self) -> dict[str, tuple[Atom, ...]]:
        """The conditions on each `forall` variable, except its class."""
        return {
            name: tuple(atom for atom in clause.conditions if atom.predicate != "Is" and name in atom.variables)
            for clause in filter(None, self.clauses)
            for name in clause.rules
        }

    @cached_property
    def _binding(self) -> dict[str, int]:
        """The object index for each variable, restricted to objects of the variable's class."""
        binding = {name: obj for name, obj in self.judge_binding.items() if 0 <= obj < len(self.phrases.scene)}
        for name in self._classes:
            candidates = self._candidates(name)
            if not candidates:
                binding.pop(name, None)
            elif binding.get(name) not in candidates:
                clauses = [clause for clause in self._readable if name in clause.variables]
                counts = {
                    obj: sum(self._holds(clause, {**binding, name: obj}) is True for clause in clauses)
                    for obj in candidates
                }
                binding[name] = max(candidates, key=counts.__getitem__)
        return binding

    def _candidates(self, name: str) -> list[int]:
        """Return the objects of a variable's class that also meet its `forall` conditions."""
        objects = self.phrases.scene.having("Is", self._classes[name])
        for atom in self._rules.get(name, ()):
            if len(atom.variables) == 1 and not self.phrases.scene.objection(atom):
                objects &= self.phrases.scene.having(atom.predicate, _get_word(atom))
        return list(members(objects))

    # --- truth

    def _is_true(self, atom: Atom, objects: Sequence[int]) -> bool:
        if atom.predicate == DISTINCT:
            return len({*objects}) == len(objects)
        if len(objects) == 1:
            return bool(self.phrases.scene.having(atom.predicate, _get_word(atom)) >> objects[0] & 1)
        return bool(self.phrases.scene.seconds(atom.predicate, 1 << objects[0], 1 << objects[1]))

    def _holds(self, clause: ParsedClause, binding: Binding) -> bool | None:
        claim = clause.claim
        if isinstance(claim, Count):
            counted = self._count(claim, binding)
            return None if counted is None else claim.allows(len(counted)) is clause.positive
        if claim.predicate == STYLE_PREDICATE:
            return (_get_word(claim) == self.style) is clause.positive if self.style else None
        if not all(name in binding for name in claim.variables):
            return None
        return self._is_true(claim, [binding[name] for name in claim.variables]) is clause.positive

    def _count(self, count: Count, binding: Binding) -> list[int] | None:
        """Return the objects that a count includes, or None if its body is not a conjunction of atoms."""
        conjuncts = _list_conjuncts(count)
        bound = {*binding, count.variable.name}
        if conjuncts is None or any(name not in bound for atom in conjuncts for name in atom.variables):
            return None
        return [
            obj
            for obj in range(len(self.phrases.scene))
            if all(
                self._is_true(atom, [obj if name == count.variable.name else binding[name] for name in atom.variables])
                for atom in conjuncts
            )
        ]

    # --- sentences

    def _absence(self, name: str) -> SceneSentence:
        objects = list(members(self.phrases.scene.having("Is", self._classes[name])))
        adjectives = self._rules.get(name, ()) if objects else ()
        return SceneSentence(f"no {self.phrases.bare(self._classes[name], adjectives)} found", frozenset(objects))

    def _sentence(self, clause: ParsedClause) -> SceneSentence | None:
        claim, positive = clause.claim, clause.positive
        if isinstance(claim, Count):
            counted = self._count(claim, self._binding)
            if counted is None or not positive:
                return None
            text = self.phrases.counted(claim, len(counted), self._binding)
            return SceneSentence(text, frozenset(counted)) if text else None
        if claim.predicate == STYLE_PREDICATE:
            text = f"the image is {self.phrases.style(self.style)}, not {self.phrases.style(_get_word(claim) or '')}"
            return SceneSentence(text) if self.style and positive else None
        if any(name not in self._binding or name not in self._classes for name in claim.variables):
            return None
        if not all(self.phrases.before(atom) for name in claim.variables for atom in self._rules.get(name, ())):
            return None  # a rule about more than objects of a class with some attributes
        if claim.predicate == DISTINCT:
            return self._only_one(claim)
        if not self.phrases.lexicon.has_phrase(claim):
            return None
        if not positive:
            return self._unwanted(claim)
        return self._property(claim) if len(claim.variables) == 1 else self._relation(claim)

    def _only_one(self, claim: Atom) -> SceneSentence | None:
        candidates = self._candidates(claim.variables[0])
        if len(candidates) != 1 or any(self._candidates(name) != candidates for name in claim.variables):
            return None
        return SceneSentence(f"only one {self._noun(claim.variables[0])} found", frozenset(candidates))

    def _noun(self, name: str) -> str:
        return self.phrases.one(self._classes[name], self._rules.get(name, ()))

    def _unwanted(self, claim: Atom) -> SceneSentence | None:
        objects = [self._binding[name] for name in claim.variables]
        if not self._is_true(claim, objects) or any(len(self._candidates(name)) > 1 for name in claim.variables):
            return None
        subject, *targets = [self.phrases.definite(obj) for obj in objects]
        if subject is None or None in targets:
            return None
        target = "".join(f" {phrase[0]}" for phrase in targets if phrase is not None)
        text = f"{subject[0]} {subject[1]} {self.phrases.predicate(claim)}{target}, and should not be"
        return SceneSentence(text, frozenset(objects))

    def _property(self, claim: Atom) -> SceneSentence | None:
        (name,) = claim.variables
        candidates, obj, phrase = self._candidates(name), self._binding[name], self.phrases.predicate(claim)
        wrong = [candidate for candidate in candidates if not self._is_true(claim, [candidate])]
        if len(candidates) > 1:
            if len(wrong) == len(candidates):
                return SceneSentence(f"no {self._noun(name)} is {phrase}", frozenset(candidates))
            if name in self._rules and wrong:
                return SceneSentence(f"not every {self._noun(name)} is {phrase}", frozenset(wrong))
            if (together := self._together(name)) is not None:
                return together
        subject = self.phrases.definite(obj)
        if subject is None or obj not in wrong:
            return None
        text = f"{subject[0]} {subject[1]} {self.phrases.contrast(claim, obj) or f'not {phrase}'}"
        return SceneSentence(text, frozenset([obj]))

    def _together(self, name: str) -> SceneSentence | None:
        """Build the sentence for a variable whose required properties no single object combines, or return None."""
        claims = dict.fromkeys(
            clause.claim for clause in self._readable if clause.positive and clause.variables == (name,)
        )
        atoms = [claim for claim in claims if isinstance(claim, Atom) and claim.predicate != "Is"]
        if len(atoms) < 2 or not all(self.phrases.lexicon.has_phrase(atom) for atom in atoms):
            return None
        if any(all(self._is_true(atom, [obj]) for atom in atoms) for obj in self._candidates(name)):
            return None
        *phrases, last = [self.phrases.predicate(atom) for atom in atoms]
        text = f"no {self._noun(name)} is {'' if len(phrases) > 1 else 'both '}{', '.join(phrases)} and {last}"
        return SceneSentence(text, frozenset([self._binding[name]]))

    def _relation(self, claim: Atom) -> SceneSentence | None:
        first, second = claim.variables
        firsts, seconds, phrase = self._candidates(first), self._candidates(second), self.phrases.predicate(claim)
        objects = (self._binding[first], self._binding[second])
        subject, target = map(self.phrases.definite, objects)
        if firsts == seconds and len(firsts) == 1:
            return self._only_one(claim)
        mask = sum(1 << obj for obj in seconds)
        is_any = any(
            self.phrases.scene.seconds(claim.predicate, 1 << obj, mask & ~(1 << obj)) for obj in firsts
        )  # not pair by pair: there may be hundreds
        if not is_any and len(firsts) + len(seconds) > 2:
            several = frozenset((*firsts, *seconds))
            if len(firsts) > 1:
                determiner = "another" if firsts == seconds else "any"
                noun = f"{determiner} {self._noun(second)}" if len(seconds) > 1 else target[0] if target else ""
                return SceneSentence(f"no {self._noun(first)} is {phrase} {noun}", several) if noun else None
            text = f"{subject[0]} {subject[1]} not {phrase} any {self._noun(second)}" if subject else ""
            return SceneSentence(text, several) if text else None
        if objects[0] == objects[1] or self._is_true(claim, objects):
            return None
        if is_any and first in self._rules and len(seconds) == 1 and target is not None:
            wrong = [obj for obj in firsts if not self._is_true(claim, [obj, *seconds])]
            text = f"not every {self._noun(first)} is {phrase} {target[0]}"
            return SceneSentence(text, frozenset((*wrong, *seconds)))
        if is_any and second in self._rules and len(firsts) == 1 and subject is not None:
            wrong = [obj for obj in seconds if not self._is_true(claim, [*firsts, obj])]
            text = f"{subject[0]} {subject[1]} not {phrase} every {self._noun(second)}"
            return SceneSentence(text, frozenset((*firsts, *wrong)))
        if subject is None or target is None:
            return None
        return SceneSentence(f"{subject[0]} {subject[1]} not {phrase} {target[0]}", frozenset(objects))


def _list_conjuncts(count: Count) -> tuple[Atom, ...] | None:
    parts = count.body.parts if isinstance(count.body, And) else (count.body,)
    conjuncts = tuple(part for part in parts if isinstance(part, Atom))
    return conjuncts if len(conjuncts) == len(parts) else None


def _get_word(atom: Atom) -> str | None:
    last = atom.arguments[-1]
    return last.text if isinstance(last, Value) else None
