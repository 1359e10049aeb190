"""The text judge, which compares quoted text with the output of a text reader by edit distance.

A wanted string is compared with runs of words, which may continue on the next line in reading order, the nearest below,
or the nearest on the right. Blanks are ignored. Where a chat model answers, readings are stored without effect.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.judges.base import LoadedImage, TextLine, TextReader, TextReading
from formalimg.judges.chat_judge import check_option, total_cost
from formalimg.language.quoted_text import find_wanted_texts, remove_quoted_texts
from formalimg.scenes.objects import Box
from formalimg.types import Item, Part, Setting, Unscored, Verdict

_RULES = 1  # The version of the rules from text to verdicts: raise it whenever a verdict may come out differently
_MOST_SHOWN = 120


class TextJudge:
    """A judge that answers questions about text in the image by comparing strings with a text reader's output.

    A question has its expected answer if the image shows its strings; its score is 1 − the edit distance as a share of
    the longer string. Evidence, all plain data:

    - `reader`: the name of the reader, and `text`: the lines with their boxes and confidences;
    - `matches`: for each wanted string, the text that comes closest to it, and the distance;
    - `extra`: the lines of text that belong to no wanted string;
    - `not_checked`: what the prompt says besides the text, if it says more.
    """

    reads_text = True

    def __init__(self, reader: TextReader, *, compare: Comparison = "loose", tolerance: float = 0.0) -> None:
        check_option("compare", compare, get_args(Comparison))
        self.reader = reader
        self.name = reader.name
        self._compare = compare
        self._tolerance = tolerance

    @property
    def settings(self) -> Mapping[str, Setting]:
        options: Mapping[str, Setting] = {
            "reader": self.name,
            "compare": self._compare,
            "tolerance": self._tolerance,
            "text_rules": _RULES,
        }
        return {**self.reader.settings, **options}

    @property
    def concurrency(self) -> int:
        return self.reader.concurrency

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec
        questions = find_text_questions(spec)
        if isinstance(questions, str) or not isinstance(spec, QuestionSpec):
            return Unscored("not understood", f"{self.name} reads text only, and {questions}: name a chat model")
        reading = await self.reader.read(image)
        if isinstance(reading, Unscored):
            return reading
        result = self.match([text for _, texts in questions for text in texts], reading)
        remaining = iter(result.matches)
        answers = {question.id: [next(remaining) for _ in texts] for question, texts in questions}
        scores = {}
        for question, _ in questions:
            matches = answers[question.id]
            is_shown = all(map(self.shows, matches))
            if question.expected == "no":
                scores[question.id] = float(not is_shown)
            else:
                scores[question.id] = 1.0 if is_shown else sum(match.score for match in matches) / len(matches)
        failed_by = spec.failed_parents({name: score == 1 for name, score in scores.items()})
        by_id = {question.id: question for question in spec.questions}
        parts = []
        for question, texts in questions:
            score = scores[question.id]
            reason = "; ".join(describe_match(match, result) for match in answers[question.id])
            if question.id in failed_by:
                score, reason = 0.0, f"counts as failed, because this failed: {by_id[failed_by[question.id]].question}"
            parts.append(Part(question.question, question.category, score, question.weight, texts, reason))
        rest = remove_quoted_texts(item.prompt)
        not_checked = {"not_checked": rest} if any(map(str.isalnum, rest)) else {}
        evidence = {**self.evidence(result, reading), **not_checked}
        return Verdict(all(part.score == 1 for part in parts), tuple(parts), evidence, reading.cost)

    def match(self, texts: Sequence[str], reading: TextReading) -> TextMatches:
        """Match the requested strings with the text read from an image."""
        return match_texts(texts, reading.lines, self._compare)

    def shows(self, match: TextMatch) -> bool:
        """Return whether the distance of a match is within the tolerance."""
        return match.distance <= self._tolerance

    def evidence(self, matches: TextMatches, reading: TextReading) -> dict[str, object]:
        """Return the text read and its matches as JSON-compatible data."""
        text = [{"text": line.text, "box": list(line.box), "confidence": line.confidence} for line in reading.lines]
        listed = [
            {"asked": match.wanted, "read": match.text, "distance": round(match.distance, 4)}
            for match in matches.matches
        ]
        more = {"extra": list(matches.extra)} if matches.extra else {}
        return {**reading.evidence, "reader": self.name, "text": text, "matches": listed, **more}


def find_text_questions(spec: object) -> list[tuple[GraphQuestion, tuple[str, ...]]] | str:
    """Return the item's questions with the strings they ask for, or why it asks for anything other than text."""
    if not isinstance(spec, QuestionSpec) or not spec.questions:
        return "the item asks for none"
    questions = [(question, find_wanted_texts(question.question)) for question in spec.questions]
    rest = [question for question, texts in questions if not texts or question.expected not in ("yes", "no")]
    if not rest:
        return questions
    if [question.category for question in rest] == ["whole"]:
        return "the prompt has no text in quotes"
    example = truncate(rest[0].question, 80, 20)
    return f"{len(rest)} of {len(questions)} questions ask for more, such as {example!r}"


def describe_match(match: TextMatch, matches: TextMatches) -> str:
    """Describe what was read for a requested string: a near match, or else the unmatched text."""
    read = match.text if match.score >= NEAR else truncate(" / ".join(matches.extra), _MOST_SHOWN, 20)
    if read:
        return f"reads {read}, asked {match.wanted}"
    return f"{'no such text' if matches.text else 'no text'} found, asked {match.wanted}"


async def put_text_beside(
    verdict: Verdict, questions: Sequence[GraphQuestion], judge: TextJudge, image: LoadedImage
) -> Verdict:
    """Add a text reader's results to the reasons and evidence of a verdict, without changing the outcome."""
    texts_of_questions = [find_wanted_texts(question.question) for question in questions]
    if not any(texts_of_questions):
        return verdict
    reading = await judge.reader.read(image)
    cost = total_cost((verdict.cost, reading.cost))
    if isinstance(reading, Unscored):
        by_reader: dict[str, object] = {"reader": judge.name, "unscored": reading.detail or reading.reason}
        return replace(verdict, evidence={**verdict.evidence, "by_reader": by_reader}, cost=cost)
    result = judge.match([text for texts in texts_of_questions for text in texts], reading)
    remaining = iter(result.matches)
    parts, answers = [], []
    for part, texts in zip(verdict.parts, texts_of_questions, strict=True):
        matches = [next(remaining) for _ in texts]
        answers.append(all(map(judge.shows, matches)) if matches else None)
        reason = "; ".join([part.reason, *(f"{judge.name} {describe_match(match, result)}" for match in matches)])
        parts.append(replace(part, reason=reason) if matches else part)
    by_reader = {**judge.evidence(result, reading), "answers": answers}
    return replace(verdict, parts=tuple(parts), evidence={**verdict.evidence, "by_reader": by_reader}, cost=cost)


# --- matching

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
    bases = [(character, unicodedata.normalize("NFD", character)[0]) for character in visible]
    folded = "".join(base if base.isascii() else character for character, base in bases).casefold()
    return folded.strip(_ENDS) or folded


def match_texts(string: Sequence[str], lines: Sequence[TextLine], comparison: Comparison = "loose") -> TextMatches:
    """Find the text in an image that is closest to each requested string."""
    ordered = reading_order(lines)
    page = _Page(ordered, comparison)
    results = [page.find(text) for text in string]
    covered = {word for match, words in results if match.score >= NEAR for word in words}
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
        most = 2 * max(len(target), 1)
        starts = [(line, start) for line, words in enumerate(self.words) for start in range(len(words))]
        runs = (run for line, start in starts for run in self._extend((), 0, line, start, (line,), most))
        for run in runs:
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


def edit_distance(first: str, second: str) -> int:
    """Return the Levenshtein distance between two strings, using Myers' bit-parallel algorithm."""
    if not first:
        return len(second)
    full, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    positions: dict[str, int] = {}
    for index, character in enumerate(first):
        positions[character] = positions.get(character, 0) | 1 << index
    distance, plus, minus = len(first), full, 0
    for character in second:
        equal = positions.get(character, 0)
        vertical = equal | minus
        horizontal = (((equal & plus) + plus) ^ plus) | equal
        up = minus | (full & ~(horizontal | plus))
        down = plus & horizontal
        distance += bool(up & last) - bool(down & last)
        up, down = (up << 1) | 1, down << 1
        plus = (down | ~(vertical | up)) & full
        minus = up & vertical & full
    return distance
