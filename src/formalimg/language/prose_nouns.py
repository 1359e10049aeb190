"""Read noun phrases and pronouns in prose, and resolve the objects they refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from formalimg.language.counts import NONE
from formalimg.language.lexicon import PRONOUNS, WordingError
from formalimg.language.phrase_parser import NounPhraseCore, NounPhraseParser
from formalimg.language.prose_draft import TOP, Amount, ProseDraft, ProseObject
from formalimg.language.prose_lexicon import ProseLexicon
from formalimg.language.prose_words import ProseWords

_Read = TypeVar("_Read")

DEFINITE = ("the", "that", "this", "these", "those")
SUBJECT_PRONOUNS = {name: name for name in PRONOUNS}
OBJECT_PRONOUNS = {pronoun.it: name for name, pronoun in PRONOUNS.items()}


class AmbiguousTextError(WordingError):
    """Raised if a text can be read in more than one way."""


class ClauseContext(NamedTuple):
    """The previous clause: the objects it mentions and the referent of "it"."""

    named: tuple[ProseObject, ...] = ()
    it: ProseObject | None = None


class ProseNouns(ProseWords):
    """Reads noun phrases. `rule` is the rule of the current clause and `mentioned` the objects it has named."""

    def __init__(self, text: str, prose: ProseLexicon) -> None:
        super().__init__(text, prose)
        self.draft = ProseDraft()
        self.rule = TOP
        self.mentioned: list[ProseObject] = []
        self.said = ClauseContext()
        self.deepest: tuple[int, WordingError] | None = None
        self._cores = NounPhraseParser(self.reader, prose.words, [], set())

    def attempt(self, read: Callable[[], _Read]) -> _Read | None:
        """Call `read` and return its result. If it fails, restore the previous state and return None."""
        place, mark, rule, mentioned = self.reader.place, self.draft.mark(), self.rule, list(self.mentioned)
        said = self.said
        try:
            return read()
        except WordingError as error:
            self.note(error)
            self.reader.place, self.rule, self.mentioned, self.said = place, rule, mentioned, said
            self.draft.cut_back(mark)
            return None

    def note(self, error: WordingError) -> None:
        """Store the error if it occurred further into the text than previous errors."""
        place, known = self.deepest or (-1, None)
        if self.reader.place > place or (self.reader.place == place and not isinstance(known, AmbiguousTextError)):
            self.deepest = (self.reader.place, error)

    # --- noun phrases

    def starts_noun(self) -> bool:
        """Return whether the next words begin a noun phrase."""
        if self.reader.next in ("a", "an", *DEFINITE) or self.is_next(self.take_amount):
            return True
        return self.is_next(lambda: self.attempt(self._read_bare_core))

    def read_noun(self) -> ProseObject:
        """Read a noun phrase that introduces an object or refers to a known one."""
        amount = self.take_amount()
        if amount is not None:
            found = self.draft.introduce(self._read_counted_core(), self.rule, Amount(*amount))
        elif self.reader.take_one_of(DEFINITE):
            found = self._called(self._cores.parse_core())
        elif self.reader.take_one_of(("a single", "a", "an")):
            found = self.draft.introduce(self._cores.parse_core(), self.rule)
        else:
            found = self.draft.introduce(self._read_bare_core(), self.rule)
        self._skip_scene()
        self.mentioned.append(found)
        return found

    def read_bare_name(self) -> ProseObject:
        """Read a noun without its article, as in "the cup, fork and plate"."""
        found = self._called(self._cores.parse_core())
        self.mentioned.append(found)
        return found

    def read_universal(self, quantifier: str) -> ProseObject:
        """Read the noun after "every" or "all" and begin a rule."""
        if self.rule != TOP:
            self.reader.fail("an object, since there can be no rule inside a rule")
        plural = quantifier == "all"
        if plural:
            self.reader.take_one_of(("of the", "the"))
        found = self.draft.begin_rule(self._cores.parse_core(plural=plural))
        self._skip_scene()
        self.mentioned.append(found)
        return found

    def _read_bare_core(self) -> NounPhraseCore:
        """Read a noun phrase without an article, such as "blue jeans" or "fruit"."""
        core = self._cores.parse_core(plural=True)
        if core.noun.measure is None or core.measured:
            self.reader.fail(f"'a {core.noun.text}' or 'every {core.noun.text}'")
        return core

    def _read_counted_core(self) -> NounPhraseCore:
        """Read a counted noun, such as "red cup" after "one" or "red cups" after "two"."""
        singular = self.reader.words[self.reader.place - 1] in ("one", "1", NONE)
        core = self.attempt(self._cores.parse_core) if singular else None
        core = core or self._cores.parse_core(plural=True)
        if core.noun.measure and not core.measured:
            self.reader.fail(f"'{core.noun.measure}' before {core.noun.text!r}, which cannot be counted without")
        return core

    def _called(self, core: NounPhraseCore) -> ProseObject:
        adjectives = {adjective for group in core.adjectives for adjective in group}
        matches = [
            known
            for known in self.draft.visible(self.rule)
            if known.noun is core.noun
            and core.mark == known.core.mark
            and adjectives <= {group[0] for group in known.core.adjectives if len(group) == 1}
        ]
        if len(matches) != 1:
            whom = "nothing" if not matches else "more than one object"
            raise WordingError(
                f"'the {core.noun.text}' calls {whom} here: introduce each object once, under its own name"
            )
        return matches[0]

    def _skip_scene(self) -> None:
        """Skip redundant phrases such as "in the scene" after a noun."""
        self.reader.take("present")
        place = self.reader.place
        if not (self.reader.take_one_of(("in the", "in this")) and self.take_any("scenes")):
            self.reader.place = place

    # --- pronouns

    def read_pronoun(self, forms: Mapping[str, str], it: ProseObject | None) -> ProseObject | None:
        """Read a pronoun if present, referring to `it` or to the only matching person."""
        name = forms.get(self.reader.next)
        if name is None:
            return None
        if it and (it.noun.pronoun == name or (it.noun.many and name in ("it", "they"))):
            found = it
        else:
            matches = [known for known in self.draft.visible(self.rule) if known.noun.pronoun == name]
            if name == "it" or len(matches) != 1:
                self.reader.fail("an object that the pronoun can stand for")
            found = matches[0]
        self.reader.place += 1
        self.mentioned.append(found)
        return found
