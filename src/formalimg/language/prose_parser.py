"""Parse prompts written in common patterns of English, such as those of published benchmarks.

It is the second reader, for text that is not in the language of `realize`. It knows more words and sentence patterns,
and it is careful: what has two readings, or a word too many, is refused. Text that is refused has no formula; text that
is read says what its formula says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from formalimg.language.description import to_formula
from formalimg.language.lexicon import WordingError
from formalimg.language.prose_clauses import ProseClauses
from formalimg.language.prose_draft import TOP
from formalimg.language.prose_lexicon import ProseLexicon, prose_lexicon
from formalimg.language.prose_nouns import ClauseContext
from formalimg.language.prose_phrases import BE, QUANTIFIERS, unclear
from formalimg.logic.syntax import Formula

_Read = TypeVar("_Read")

_REQUESTED_STYLES = {"knolling": "a knolling style"}
"""The style of image that prompts ask for, by the vocabulary that they are in."""


def parse_prose(text: str, suite: str, classes: tuple[str, ...] = ()) -> Formula:
    """Parse a prompt in plain English, with nouns for additional classes."""
    parser = _ProseParser(text, prose_lexicon(suite, classes))
    parser.read_text()
    return to_formula(parser.draft.description())


class _ProseParser(ProseClauses):
    """Recursive-descent parser for prose, which tries alternatives in order."""

    def __init__(self, text: str, prose: ProseLexicon) -> None:
        super().__init__(text, prose)
        self.open_rule = TOP  # the rule of the last "for every ...", which further sentences may continue

    def attempt(self, read: Callable[[], _Read]) -> _Read | None:
        """Call `read` and return its result. If it fails, restore the previous state and return None."""
        before = self.open_rule, self.sentence_rule
        found = super().attempt(read)
        if found is None:
            self.open_rule, self.sentence_rule = before
        return found

    # --- sentences

    def read_text(self) -> None:
        while not self.reader.done:
            if self.attempt(lambda: self.read_sentence(TOP)):
                continue
            if not (self.open_rule and self.attempt(lambda: self.read_sentence(self.open_rule))):
                raise self._error()
        if not (self.draft.style or self.draft.objects):
            raise WordingError("the text says nothing: write at least one sentence about the image")

    def read_sentence(self, rule: int) -> bool:
        self.rule = rule
        self.sentence_rule = TOP
        if len(self.said.named) != 1:
            self.said = ClauseContext(self.said.named)
        sentences = [self._read_opening, self._read_request, self._read_style, self._read_styled, self._read_body]
        if self.reader.next in ("a", "an") or self.is_next(self.take_amount):
            sentences.append(self._read_fragment)
        for read in sentences:
            if self.attempt(lambda read=read: read() is None):  # type: ignore[misc]
                break
        else:
            raise self._error()
        if rule == TOP:
            self.open_rule = self.rule
        return True

    def _error(self) -> WordingError:
        assert self.deepest is not None, "only attempts that failed lead here"
        return self.deepest[1]

    def _read_opening(self) -> None:
        """Read a sentence that specifies the viewpoint for directions."""
        lexicon = self.prose.words
        if self.reader.take_one_of((*lexicon.openings.values(), *lexicon.earlier_openings)):
            return
        if self.reader.take_one_of(("in the", "in this")) and not (self.take_any("scenes") and self.reader.take(",")):
            self.reader.fail("the image and a comma")
        self.reader.take("all")
        for words in ("directions", BE, "viewpoints", ("the",), "viewers"):
            taken = self.take_any(words) if isinstance(words, str) else self.reader.take_one_of(words)
            if taken is None:
                self.reader.fail("from where directions are seen")
        self.reader.expect(".")

    def _read_request(self) -> None:
        """Read a request such as "Create a knolling-style image", optionally followed by the content."""
        if self.prose.suite not in _REQUESTED_STYLES or not self.take_any("requests"):
            self.reader.fail("a request for an image")
        self.reader.expect(_REQUESTED_STYLES[self.prose.suite])
        if not self.take_any("scenes"):
            self.reader.fail("what is asked for")
        if self.take_any("showing"):
            self.read_presence()
        self.reader.expect(".")

    def _read_style(self) -> None:
        """Read a sentence that only specifies the style."""
        if self.reader.take("this is"):
            style = self._take_style()
        else:
            self.reader.expect("the")
            if not self.take_any("scenes") or not self.reader.take_one_of(("is", "features", "has", "uses")):
                self.reader.fail("the style of the image")
            self.take_any("renderings")
            self.reader.take("in")
            style = self._take_style()
        self.draft.set_style(style)
        self.reader.expect(".")

    def _read_styled(self) -> None:
        """Read a sentence with a style and the content of the image."""
        rendered = self.take_any("renderings")
        if rendered or self.reader.sees("in"):
            self.reader.expect("in")
            self.draft.set_style(self._take_style())
            self.reader.expect(",")
            self._read_body()
            return
        if self.take_any("requests"):
            self.reader.expect("a", "an")
            self.reader.place -= 1
        self.draft.set_style(self._take_style())
        if self.take_any("in_which"):
            self._read_body()
            return
        if not (self.take_any("showing") or self.take_any("shows")):
            self.reader.fail("what the image shows")
        self.mentioned = []
        self.read_presence()
        self._read_more_clauses()
        self.reader.expect(".")

    def _take_style(self) -> str:
        """Consume a style, such as "a cartoon", "a cartoon style image" or "an image in cartoon style"."""
        self.reader.take("the style of")
        self.reader.take_one_of(("a", "an", "the"))
        place = self.reader.place
        if not (self.take_any("scenes") and self.reader.take_one_of(("in a", "in an", "in"))):
            self.reader.place = place
        style = self.reader.take_meaning(self.prose.styles)
        if style is None:
            self.reader.fail("a style")
        self.reader.take("style")
        self.take_any("scenes")
        return style

    def _read_body(self) -> None:
        while self.take_any("openers"):
            self.reader.take(",")
        if self.reader.take_one_of(("for every", "for each")):
            every = self.read_universal("every")
            self.read_condition(every)
            self.reader.take(",")
            self.rule = every.rule
            self.said = ClauseContext((every,), every)
        self.read_clause()
        self._read_more_clauses()
        self.reader.expect(".")

    def _read_fragment(self) -> None:
        """Read a prompt fragment without a verb, such as "a red cup to the left of a plate"."""
        self.mentioned = []
        self.read_presence()
        self.reader.expect(".")

    def _read_more_clauses(self) -> None:
        while self.attempt(self._read_joined_clause):
            pass

    def _read_joined_clause(self) -> bool:
        """Read another clause of the sentence. Raise an error if it may or may not belong to the preceding rule."""
        if not self.take_any("joints"):
            self.reader.fail("the end of the sentence")
        before, known = self.rule, list(self.draft.objects)
        joins_rule = self.sentence_rule != TOP and self.reader.next not in QUANTIFIERS
        if joins_rule:
            self.rule = self.sentence_rule
        self.read_clause()
        if joins_rule and not any(obj.rule == self.rule for obj in self.mentioned if obj in known):
            raise unclear("it is not clear whether the clause belongs to the rule before it")
        self.rule = before
        return True
