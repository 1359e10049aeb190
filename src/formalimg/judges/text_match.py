"""Matching of requested strings with lines of text in an image by edit distance, across line breaks.

A wanted string is compared with runs of words. A run may go on from a line to the next one in reading order, to the
nearest line below, or to the nearest one on its right, so that a sign beside another one is read by itself. Blanks
never count: readers of text do not see them reliably.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from formalimg._util.edit_distance import edit_distance
from formalimg.judges.base import TextLine
from formalimg.scenes.objects import Box

Comparison: TypeAlias = Literal["loose", "strict"]
"""What makes strings differ: letters and signs; strict: case, accents and punctuation at the ends as well."""

NEAR = 0.5  # A run of words is taken to be the wanted string, misspelt, from this similarity on
MAX_LINES = 6  # The most lines of a run
_ENDS = " .,;:'\"-_·"
_SIGNS = str.maketrans("‘’‚‛“”„‟´`‐‑‒–—―−、。，．：；", "''''\"\"\"\"''-------,.,.:;")
_WIDE = r"[぀-ヿ㐀-鿿豈-﫿\U00020000-\U0003ffff]"
_WORDS = re.compile(rf"{_WIDE}|(?:(?!{_WIDE})\S)+")
"""Words are between blanks; where a script has none, each character is one."""
_BETWEEN_WIDE = re.compile(rf"(?<={_WIDE}) (?={_WIDE})")


class _Word(NamedTuple):
    line: int
    position: int


@dataclass(frozen=True)
class TextMatch:
    """A requested string with the closest text in the image."""

    wanted: str  # the string that is asked for
    text: str  # the words of the image that come closest to it; empty if there is no text
    distance: float  # the edit distance, as a share of the longer string: 0 if they are equal, 1 if nothing is alike
    lines: tuple[int, ...] = ()  # the numbers of the lines that the words are in

    @property
    def score(self) -> float:
        """The similarity, defined as 1 − distance."""
        return 1 - self.distance

    @property
    def is_near(self) -> bool:
        """Whether the text is similar enough to be the requested string or a misspelling of it."""
        return self.score >= NEAR


@dataclass(frozen=True)
class TextMatches:
    """The matches of all requested strings, with the remaining text."""

    matches: tuple[TextMatch, ...]  # one for each wanted string, in their order
    extra: tuple[str, ...]  # the text that belongs to none of them, by line, in reading order
    text: str  # all text in reading order


def normalize_text(text: str, comparison: Comparison = "loose") -> str:
    """Normalize text for comparison: apply Unicode NFKC, remove whitespace, and simplify quotes and dashes."""
    plain = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
    visible = "".join(char for char in plain if not char.isspace() and unicodedata.category(char) not in ("Cc", "Cf"))
    if comparison == "strict":
        return visible
    folded = _without_accents(visible).casefold()
    return folded.strip(_ENDS) or folded


def match_texts(string: Sequence[str], lines: Sequence[TextLine], comparison: Comparison = "loose") -> TextMatches:
    """Find the text in an image that is closest to each requested string."""
    ordered = reading_order(lines)
    page = _Page(ordered, comparison)
    results = [page.find(text) for text in string]
    covered = {word for match, words in results if match.is_near for word in words}
    extra = (
        _join_words(word for index, word in enumerate(words) if _Word(number, index) not in covered)
        for number, words in enumerate(page.words)
    )
    texts = " ".join(line.text for line in ordered)
    return TextMatches(tuple(match for match, _ in results), tuple(filter(None, extra)), texts)


def reading_order(lines: Sequence[TextLine]) -> list[TextLine]:
    """Sort lines in reading order: rows from top to bottom, each from left to right."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.box.center_y):
        row = next((row for row in rows if _share_a_row(row[0].box, line.box)), None)
        if row is None:
            rows.append(row := [])
        row.append(line)
    return [line for row in rows for line in sorted(row, key=lambda line: line.box.xmin)]


class _Page:
    """The words of an image, with the possible successors of each line."""

    def __init__(self, lines: Sequence[TextLine], comparison: Comparison) -> None:
        self.words = [_WORDS.findall(line.text) for line in lines]
        self._comparison = comparison
        self._lengths = [[len(normalize_text(word, "strict")) for word in words] for words in self.words]
        self._next = [_find_successors(lines, number) for number in range(len(lines))]

    def find(self, string: str) -> tuple[TextMatch, tuple[_Word, ...]]:
        """Return the closest run of words to a string, the first one in case of a tie."""
        target = normalize_text(string, self._comparison)
        best = TextMatch(string, "", 1.0)
        words: tuple[_Word, ...] = ()
        tried: set[str] = set()
        for run in self._runs(2 * max(len(target), 1)):
            text = _join_words(self.words[word.line][word.position] for word in run)
            compared = normalize_text(text, self._comparison)
            longest = max(len(target), len(compared))
            if compared in tried or abs(len(target) - len(compared)) >= best.distance * longest:
                continue
            tried.add(compared)
            distance = edit_distance(target, compared) / longest
            if distance < best.distance:
                best = TextMatch(string, text, distance, tuple(dict.fromkeys(word.line for word in run)))
                words = run
            if distance == 0:
                break
        return best, words

    def _runs(self, longest: int) -> Iterator[tuple[_Word, ...]]:
        for line, words in enumerate(self.words):
            for start in range(len(words)):
                yield from self._extend((), 0, line, start, (line,), longest)

    def _extend(
        self, run: tuple[_Word, ...], length: int, line: int, start: int, visited: tuple[int, ...], longest: int
    ) -> Iterator[tuple[_Word, ...]]:
        for index in range(start, len(self.words[line])):
            run, length = (*run, _Word(line, index)), length + self._lengths[line][index]
            if length > longest and len(run) > 1:
                return
            yield run
        if len(visited) < MAX_LINES:
            for following in self._next[line]:
                if following not in visited:
                    yield from self._extend(run, length, following, 0, (*visited, following), longest)


def _find_successors(lines: Sequence[TextLine], number: int) -> tuple[int, ...]:
    """Return the indices of lines that can continue a line: the next one, and the nearest below and right."""
    box = lines[number].box
    rest = [(index, line.box) for index, line in enumerate(lines) if index != number]
    right = [(at.xmin - box.xmax, index) for index, at in rest if _share_a_row(box, at) and at.center_x > box.xmax]
    below = [
        (at.center_y - box.center_y, index)
        for index, at in rest
        if at.center_y > box.ymax and _overlap_share(box.xmin, box.xmax, at.xmin, at.xmax) >= 0.5
    ]
    following = [number + 1] if number + 1 < len(lines) else []
    nearest = [min(distances)[1] for distances in (below, right) if distances]
    return tuple(dict.fromkeys(following + nearest))


def _join_words(words: Iterable[str]) -> str:
    return _BETWEEN_WIDE.sub("", " ".join(words))


def _share_a_row(first: Box, second: Box) -> bool:
    return _overlap_share(first.ymin, first.ymax, second.ymin, second.ymax) >= 0.5


def _overlap_share(low: float, high: float, other_low: float, other_high: float) -> float:
    """Return the overlap of two intervals as a fraction of the shorter one."""
    shorter = min(high - low, other_high - other_low)
    return (min(high, other_high) - max(low, other_low)) / shorter if shorter > 0 else 0.0


def _without_accents(text: str) -> str:
    """Remove accents from Latin letters, leaving other scripts unchanged."""
    bases = [(character, unicodedata.normalize("NFD", character)[0]) for character in text]
    return "".join(base if base.isascii() else character for character, base in bases)
