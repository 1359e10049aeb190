"""Extract objects, colours, numbers and places from free English, and report the words left unread.

It is the third reader, for prompts that are no sentences of the other two: "One cat and two dogs sitting on the grass"
has a cat and two dogs, and "sitting on the grass" is left over. A noun phrase is read as a whole or the prompt is
refused; so is a text with a word that could turn the meaning around. The formula is written in English and read back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import NamedTuple

from formalimg.language.counts import NONE
from formalimg.language.description import to_formula
from formalimg.language.free_nouns import FreeNouns
from formalimg.language.free_phrase_ends import free_words
from formalimg.language.lexicon import WordingError, word_table
from formalimg.language.phrase_parser import phrase_words
from formalimg.language.prose_draft import TOP, ProseObject
from formalimg.language.prose_lexicon import RelationPhrase, prose_lexicon
from formalimg.language.prose_phrases import BE
from formalimg.language.realization import has_wording
from formalimg.logic.syntax import Formula


class FreeReading(NamedTuple):
    """The formula of a prompt and the phrases that it does not cover."""

    formula: Formula
    unread: tuple[str, ...]


def read_free_english(
    text: str,
    suite: str,
    classes: tuple[str, ...] = (),
    *,
    any_noun: bool = False,
    looked_for: Collection[str] = (),
) -> FreeReading:
    """Read the objects of a prompt and the unambiguous claims about them.

    Args:
        text: the prompt.
        suite: `knolling` or `natural`.
        classes: further classes, whose nouns are their names.
        any_noun: whether any noun may name a class.
        looked_for: the classes that can be looked for; other things behind words that are left over are so, too. Empty
            if there are no others.

    Raises:
        WordingError: if a noun phrase cannot be read, or a word may change what is said; it names the words.
    """
    reader = _FreeEnglish(text, suite, classes, any_noun=any_noun, looked_for=looked_for)
    reader.read_text()
    formula = to_formula(reader.draft.description())
    if not has_wording(formula, suite, (*classes, *reader.open_nouns)):
        raise WordingError("what was read cannot be said in a sentence that reads back the same")
    return FreeReading(formula, reader.unread)


class _FreeEnglish(FreeNouns):
    """Reads noun phrases from left to right and interprets the words between them as lists or relations."""

    def __init__(
        self, text: str, suite: str, classes: tuple[str, ...], *, any_noun: bool, looked_for: Collection[str]
    ) -> None:
        super().__init__(text, prose_lexicon(suite, classes), any_noun=any_noun)
        self._looked_for = looked_for
        self._subject: ProseObject | None = None  # of a relation that may come next: the only object so far
        self._has_relation = False

    def read_text(self) -> None:
        self._require_plain_words()
        self._skip_frame()
        if not self.starts_free_noun():
            raise WordingError(
                f"{' '.join(self.reader.words[self.reader.place :][:4])!r} names no object that is known"
            )
        first = self.read_free_noun()
        self._subject = None if first.amount else first
        while not self.reader.sees("."):
            if not (self._read_list_item() or self._read_relation()):
                self._skip_link()
        self.reader.expect(".")
        if not self.reader.done:
            raise WordingError(f"more than one sentence: {self.reader.next!r} begins another")

    def _require_plain_words(self) -> None:
        refused = next((word for word in self.reader.words if word in free_words("refused")), None)
        if refused is not None:
            raise WordingError(f"{refused!r} is not understood here")

    def _skip_frame(self) -> None:
        frame = self.reader.take_one_of(sorted(free_words("frames"), key=len, reverse=True))
        style = (phrase_words(frame) if frame else [""])[-2:][0]
        if style in self.prose.styles:
            self.draft.set_style(style)

    def _read_list_item(self) -> bool:
        """Read a list item such as ", two dogs" or "and a cat"."""
        place = self.reader.place
        if self.take_any("lists") or self.reader.take("with"):
            is_list = self.reader.words[self.reader.place - 1] != "with"
            if self.starts_free_noun():
                if self._has_relation and is_list:
                    raise WordingError("it is not clear whether the relation is to one object or to several")
                if not is_list:
                    self.leave_over(place, self.reader.place)
                self.read_free_noun()
                self._subject, self._has_relation = None, False
                return True
        self.reader.place = place
        return False

    def _read_relation(self) -> bool:
        """Read a relation such as "to the left of a dog", if the first object is its only possible subject."""
        place, subject = self.reader.place, self._subject
        self.reader.take_one_of(("that is", "which is", *BE))
        posture = self.reader.place
        has_posture = self.reader.next in free_words("postures")
        self.reader.place += has_posture
        self.skip_placed()
        phrase = self.reader.take_meaning(_relations(self.prose.suite))
        if subject is None or phrase is None or self.starts_counted() or not self.starts_free_noun():
            self.reader.place = place
            return False
        mark, left = self.draft.mark(), len(self._left)
        other = self.read_free_noun()
        if other.amount:
            self.draft.cut_back(mark)
            del self._left[left:]
            self.reader.place = place
            return False
        if has_posture:
            self.leave_over(posture, posture + 1)
        self.draft.add(TOP, subject.variable, phrase.predicate, other.variable)
        self._subject, self._has_relation = None, True
        return True

    def _next_words(self, number: int) -> str:
        return " ".join(self.reader.words[self.reader.place :][:number]).strip(" .")

    def _can_look_for(self, known: ProseObject) -> bool:
        return not self._looked_for or known.noun.word in self._looked_for

    def _skip_link(self) -> None:
        """Skip words up to the next object, and also that object if it cannot be looked for."""
        start, self._subject = self.reader.place, None
        self.reader.place += 1
        while not self.reader.sees(".") and not self.starts_free_noun(among_words=True):
            self.reader.place += 1
        link = self.reader.words[start : self.reader.place]
        self._require_plain_link(link)
        self.leave_over(start, self.reader.place)
        if self.reader.sees("."):
            return
        mark, behind, left = self.draft.mark(), self.reader.place, len(self._left)
        found = self.read_free_noun()
        doubt = next((word for word in _without_places(link) if word in free_words("doubtful")), None)
        is_setting = link[-1] in free_words("settings") and not (found.amount or found.core.adjectives)
        if is_setting and not self._can_look_for(found):
            self.draft.cut_back(mark)
            del self._left[left:]
            self.leave_over(behind, self.reader.place)
        elif doubt is not None:
            raise WordingError(
                f"{doubt!r} before {' '.join(self.reader.words[behind : self.reader.place])!r} is not clear"
            )
        self._has_relation = False

    def _require_plain_link(self, link: list[str]) -> None:
        """Raise an error if the words contain a negation or begin with "of", which may change the noun."""
        if link[0] == "of":
            raise WordingError(
                f"{' '.join(self.reader.words[self.reader.place - len(link) - 1 :][:3])!r} is not understood"
            )
        if NONE in link:
            raise WordingError(f"{NONE!r} is not understood here")


def _without_places(link: list[str]) -> list[str]:
    """Return the words between two objects, excluding phrases of place."""
    text = f" {' '.join(link)} "
    for phrase in sorted((*free_words("places"), *_relations("natural")), key=len, reverse=True):
        text = text.replace(f" {phrase} ", " ")
    return text.split()


@cache
def _relations(suite: str) -> Mapping[str, RelationPhrase]:
    """Return the meanings of relation phrases, excluding those that apply only to living beings."""
    table = word_table("free.toml")["relations"]
    own = {phrase: RelationPhrase(name) for name, phrases in table.items() for phrase in phrases}
    said = prose_lexicon(suite).relations
    return {
        text: meaning for text, meaning in said.items() if meaning.living is None and meaning.predicate != "In"
    } | own
