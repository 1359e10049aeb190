"""Read words and phrases of the prose lexicon from a text."""

from __future__ import annotations

from collections.abc import Callable

from formalimg.language.counts import NONE, number_of
from formalimg.language.lexicon import PRONOUNS
from formalimg.language.prose_lexicon import AmountWords, ProseLexicon
from formalimg.logic.syntax import CountBound

POSSESSIVES = {pronoun.its: name for name, pronoun in PRONOUNS.items()}


class ProseWords:
    """Reads words from a text. Methods named `take…` return None and consume nothing if there is no match."""

    def __init__(self, text: str, prose: ProseLexicon) -> None:
        self.prose = prose
        self.reader = prose.reader(text)

    def take_any(self, name: str) -> str | None:
        """Consume the longest matching phrase from a named list of the lexicon."""
        return self.reader.take_meaning({phrase: phrase for phrase in self.prose.phrases[name]})

    def take_amount(self) -> tuple[CountBound, int] | None:
        """Consume an amount such as "at least two", "no" or "three". A plain number means exactly that number."""
        place = self.reader.place
        found = self.reader.take_meaning(self.prose.amounts)
        number = number_of(self.reader.next)
        if number is not None:
            self.reader.place += 1
        bound, offset = found or AmountWords("exactly")
        if number is not None and number + offset >= 0:
            return bound, number + offset
        self.reader.place = place
        if self.reader.take("a dozen"):
            return "exactly", 12
        return ("exactly", 0) if self.reader.take(NONE) else None

    def is_next(self, read: Callable[[], object]) -> bool:
        """Return whether `read` would succeed at the current position, without consuming anything."""
        place = self.reader.place
        found = read()
        self.reader.place = place
        return found is not None

    def skip_placed(self) -> None:
        """Skip filler words such as "located" and "visually"."""
        while self.take_any("adverbs") or self.take_any("placed"):
            pass

    def take_place(self) -> tuple[str, ...] | None:
        """Consume a place such as "on the left side of the image", but not "on the left side of the cup"."""
        words, place = self.prose.words, self.reader.place
        corner = self.reader.take_meaning(words.corner_phrases)
        if corner is not None:
            return corner
        side = None
        if self.reader.take_one_of(("on the", "in the", "at the")):
            side = self.reader.take_meaning(self.prose.sides)
        if side is not None and self.reader.take_one_of(("side", "half")):
            sides = (side, *self._take_second_side())
            if not self.reader.sees("of") or (self.reader.take("of the") and self.take_any("scenes")):
                return sides
        self.reader.place = place
        return None

    def _take_second_side(self) -> tuple[str, ...]:
        """Consume "and the left side" after a phrase such as "on the top side"."""
        place = self.reader.place
        if self.reader.take_one_of(("and on the", "and in the", "and the")):
            side = self.reader.take_meaning(self.prose.sides)
            if side is not None and self.reader.take_one_of(("side", "half")):
                return (side,)
        self.reader.place = place
        return ()

    def take_near(self) -> str | None:
        """Consume a phrase such as "to its left" and return the side."""
        reader, place = self.reader, self.reader.place
        if reader.take_one_of(("to", "on")) and reader.next in POSSESSIVES:
            reader.place += 1
            side = reader.take_one_of(("left", "right"))
            if side is not None:
                return side
        reader.place = place
        return None
