"""Read words, noun phrases and pronouns in prose, and resolve the objects they refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from formalimg.language.lexicon import NONE, PRONOUNS, WordingError, number_of
from formalimg.language.phrase_parser import NounPhraseCore, NounPhraseParser, only_match
from formalimg.language.prose_draft import TOP, Amount, ProseDraft, ProseObject
from formalimg.language.prose_lexicon import ProseLexicon

T = TypeVar("T")

DEFINITE = ("the", "that", "this", "these", "those")
SUBJECT_PRONOUNS = {name: name for name in PRONOUNS}
OBJECT_PRONOUNS = {pronoun.objective: name for name, pronoun in PRONOUNS.items()}
POSSESSIVES = {pronoun.possessive: name for name, pronoun in PRONOUNS.items()}


class AmbiguousTextError(WordingError):
    """Raised if a text can be read in more than one way."""


class ClauseContext(NamedTuple):
    """The previous clause: the objects it mentions and the referent of "it"."""

    named: tuple[ProseObject, ...] = ()
    referent: ProseObject | None = None


class ProseNouns:
    """Reads noun phrases. Methods named `take…` return None and consume nothing if there is no match.

    `rule` is the rule of the current clause and `mentioned` the objects it has named.
    """

    def __init__(self, text: str, prose: ProseLexicon) -> None:
        self.prose = prose
        self.reader = prose.reader(text)
        self.draft = ProseDraft()
        self.rule = TOP
        self.mentioned: list[ProseObject] = []
        self.context = ClauseContext()
        self.deepest: tuple[int, WordingError] | None = None
        self._cores = NounPhraseParser(self.reader, prose.words)

    def attempt(self, read: Callable[[], T]) -> T | None:
        """Call `read` and return its result. If it fails, restore the previous state and return None."""
        position, mark, rule, mentioned = self.reader.position, self.draft.mark(), self.rule, list(self.mentioned)
        context = self.context
        try:
            return read()
        except WordingError as error:
            furthest, previous = self.deepest or (-1, None)
            is_clearer = self.reader.position == furthest and not isinstance(previous, AmbiguousTextError)
            if self.reader.position > furthest or is_clearer:
                self.deepest = (self.reader.position, error)
            self.reader.position, self.rule, self.mentioned, self.context = position, rule, mentioned, context
            self.draft.roll_back(mark)
            return None

    # --- words

    def take_any(self, name: str) -> str | None:
        """Consume the longest matching phrase from a named list of the lexicon."""
        return self.reader.take_meaning({phrase: phrase for phrase in self.prose.phrases[name]})

    def is_next(self, read: Callable[[], object]) -> bool:
        """Return whether `read` would succeed at the current position, without consuming anything."""
        return self.reader.peek(read) is not None

    def skip_adverbs(self) -> None:
        """Skip filler words such as "located" and "visually"."""
        while self.take_any("adverbs") or self.take_any("placed"):
            pass

    def take_amount(self) -> Amount | None:
        """Consume an amount such as "at least two", "no" or "three". A plain number means exactly that number."""
        position = self.reader.position
        bound, offset = self.reader.take_meaning(self.prose.amounts) or ("exactly", 0)
        number = number_of(self.reader.next)
        if number is not None and number + offset >= 0:
            self.reader.position += 1
            return bound, number + offset
        self.reader.position = position
        if self.reader.take("a dozen"):
            return "exactly", 12
        return ("exactly", 0) if self.reader.take(NONE) else None

    def take_place(self) -> tuple[str, ...] | None:
        """Consume a place such as "on the left side of the image", but not "on the left side of the cup"."""
        corner = self.reader.take_meaning(self.prose.words.corner_phrases)
        if corner is not None:
            return corner
        position = self.reader.position
        side = self._take_side("on the", "in the", "at the")
        if side is not None:
            end = self.reader.position
            second_side = self._take_side("and on the", "and in the", "and the")
            if second_side is None:
                self.reader.position = end
            if not self.reader.sees("of") or (self.reader.take("of the") and self.take_any("scenes")):
                return (side,) if second_side is None else (side, second_side)
        self.reader.position = position
        return None

    def _take_side(self, *prepositions: str) -> str | None:
        if not self.reader.take_one_of(prepositions):
            return None
        side = self.reader.take_meaning(self.prose.sides)
        return side if side is not None and self.reader.take_one_of(("side", "half")) else None

    def take_near(self) -> str | None:
        """Consume a phrase such as "to its left" and return the side."""
        position = self.reader.position
        if self.reader.take_one_of(("to", "on")) and self.reader.next in POSSESSIVES:
            self.reader.position += 1
            side = self.reader.take_one_of(("left", "right"))
            if side is not None:
                return side
        self.reader.position = position
        return None

    # --- noun phrases

    def starts_noun(self) -> bool:
        if self.reader.next in ("a", "an", *DEFINITE) or self.is_next(self.take_amount):
            return True
        return self.is_next(lambda: self.attempt(self._read_bare_core))

    def read_noun(self) -> ProseObject:
        """Read a noun phrase that introduces an object or refers to a known one."""
        amount = self.take_amount()
        if amount is not None:
            obj = self.draft.introduce(self._read_counted_core(), self.rule, amount)
        elif self.reader.take_one_of(DEFINITE):
            obj = self._resolve(self._cores.parse_core())
        elif self.reader.take_one_of(("a single", "a", "an")):
            obj = self.draft.introduce(self._cores.parse_core(), self.rule)
        else:
            obj = self.draft.introduce(self._read_bare_core(), self.rule)
        self._skip_scene()
        self.mentioned.append(obj)
        return obj

    def read_bare_name(self) -> ProseObject:
        """Read a noun without its article, as in "the cup, fork and plate"."""
        obj = self._resolve(self._cores.parse_core())
        self.mentioned.append(obj)
        return obj

    def read_universal(self, quantifier: str) -> ProseObject:
        """Read the noun after "every" or "all" and begin a rule."""
        if self.rule != TOP:
            self.reader.fail("an object, since there can be no rule inside a rule")
        plural = quantifier == "all"
        if plural:
            self.reader.take_one_of(("of the", "the"))
        universal = self.draft.begin_rule(self._cores.parse_core(plural=plural))
        self._skip_scene()
        self.mentioned.append(universal)
        return universal

    def _read_bare_core(self) -> NounPhraseCore:
        """Read a noun phrase without an article, such as "blue jeans" or "fruit"."""
        core = self._cores.parse_core(plural=True)
        if core.noun.measure is None or core.measured:
            self.reader.fail(f"'a {core.noun.text}' or 'every {core.noun.text}'")
        return core

    def _read_counted_core(self) -> NounPhraseCore:
        """Read a counted noun, such as "red cup" after "one" or "red cups" after "two"."""
        singular = self.reader.words[self.reader.position - 1] in ("one", "1", NONE)
        core = self.attempt(self._cores.parse_core) if singular else None
        core = core or self._cores.parse_core(plural=True)
        if core.noun.measure and not core.measured:
            self.reader.fail(f"'{core.noun.measure}' before {core.noun.text!r}, which cannot be counted without")
        return core

    def _resolve(self, core: NounPhraseCore) -> ProseObject:
        return only_match(core, [obj for obj in self.draft.visible(self.rule) if core.can_refer_to(obj.core)])

    def _skip_scene(self) -> None:
        """Skip redundant phrases such as "in the scene" after a noun."""
        self.reader.take("present")
        position = self.reader.position
        if not (self.reader.take_one_of(("in the", "in this")) and self.take_any("scenes")):
            self.reader.position = position

    def read_pronoun(self, forms: Mapping[str, str], referent: ProseObject | None) -> ProseObject | None:
        """Read a pronoun if present, referring to `referent` or to the only matching person."""
        name = forms.get(self.reader.next)
        if name is None:
            return None
        if referent and (referent.noun.pronoun == name or (referent.noun.many and name in ("it", "they"))):
            obj = referent
        else:
            matches = [obj for obj in self.draft.visible(self.rule) if obj.noun.pronoun == name]
            if name == "it" or len(matches) != 1:
                self.reader.fail("an object that the pronoun can stand for")
            obj = matches[0]
        self.reader.position += 1
        self.mentioned.append(obj)
        return obj
