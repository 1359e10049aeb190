"""The text judge: questions for text in the image, answered by a text reader and by edit distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import check_option
from formalimg.judges.text_match import Comparison, TextMatch, TextMatches, match_texts
from formalimg.judges.text_readers.text_reader import TextReader, TextReading
from formalimg.language.quoted_text import find_wanted_texts, remove_quoted_texts
from formalimg.types import Item, Part, Setting, Unscored, Verdict

_RULES = 1
"""The version of the rules from text to verdicts: raise it whenever a verdict may come out differently."""

_MOST_SHOWN = 120


class TextQuestion(NamedTuple):
    """A question for text, and the strings that it asks for."""

    question: GraphQuestion
    wanted: tuple[str, ...]


class TextJudge:
    """Decide questions for text by what a text reader reads; a question that asks for more leaves the image unscored.

    A question has its expected answer if the image shows its strings; its score is 1 − the edit distance as a share of
    the longer string. Evidence, all plain data:

    - `reader`: the name of the reader, and `text`: the lines with their boxes and confidences;
    - `matches`: for each wanted string, the text that comes closest to it, and the distance;
    - `extra`: the lines of text that belong to no wanted string;
    - `not_checked`: what the prompt says besides the text, if it says more.

    Attributes:
        name, settings, concurrency: as for every judge.
    """

    def __init__(self, reader: TextReader, *, compare: Comparison = "loose", tolerance: float = 0.0) -> None:
        """Create a judge that reads with this reader."""
        check_option("compare", compare, get_args(Comparison))
        self.reader = reader
        self._compare = compare
        self._tolerance = tolerance

    reads_text = True

    @property
    def name(self) -> str:
        """The name of the reader."""
        return self.reader.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the reader, and how strings are compared."""
        own: dict[str, Setting] = {
            "reader": self.name,
            "compare": self._compare,
            "tolerance": self._tolerance,
            "text_rules": _RULES,
        }
        return {**self.reader.settings, **own}

    @property
    def concurrency(self) -> int:
        """As many images at a time as the reader takes."""
        return self.reader.concurrency

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows the text that the item asks for."""
        spec = item.spec
        asked = find_text_questions(spec)
        if isinstance(asked, str) or not isinstance(spec, QuestionSpec):
            return Unscored("not understood", f"{self.name} reads text only, and {asked}: name a chat model")
        reading = await self.reader.read(image)
        if isinstance(reading, Unscored):
            return reading
        found = self.match([text for one in asked for text in one.wanted], reading)
        evidence = {**self.evidence(found, reading), **_unchecked(item.prompt)}
        matches = iter(found.matches)
        parts = {one.question.id: self._part(one, [next(matches) for _ in one.wanted], found) for one in asked}
        return _verdict(spec, parts, evidence, reading.cost)

    def match(self, wanted: Sequence[str], reading: TextReading) -> TextMatches:
        """Compare wanted strings with what was read."""
        return match_texts(wanted, reading.lines, self._compare)

    def shows(self, match: TextMatch) -> bool:
        """Return whether a wanted string counts as shown."""
        return match.distance <= self._tolerance

    def evidence(self, found: TextMatches, reading: TextReading) -> dict[str, object]:
        """Return what was read, as plain data."""
        text = [{"text": one.text, "box": list(one.box), "confidence": one.confidence} for one in reading.lines]
        matches = [{"asked": one.wanted, "read": one.text, "distance": round(one.distance, 4)} for one in found.matches]
        more = {"extra": list(found.extra)} if found.extra else {}
        return {**reading.evidence, "reader": self.name, "text": text, "matches": matches, **more}

    def _part(self, asked: TextQuestion, matches: Sequence[TextMatch], found: TextMatches) -> Part:
        """Return the part of a question, as if no other had failed it."""
        question, is_shown = asked.question, all(map(self.shows, matches))
        score = 1.0 if is_shown else sum(match.score for match in matches) / len(matches)
        if question.expected == "no":
            score = float(not is_shown)
        reason = "; ".join(describe_match(match, found) for match in matches)
        return Part(question.question, question.category, score, question.weight, asked.wanted, reason)


def find_text_questions(spec: object) -> list[TextQuestion] | str:
    """Return the questions of an item with the strings they ask for; unless all ask for text alone, why not."""
    if not isinstance(spec, QuestionSpec) or not spec.questions:
        return "the item asks for none"
    asked = [TextQuestion(one, find_wanted_texts(one.question)) for one in spec.questions]
    others = [one.question for one in asked if not one.wanted or one.question.expected not in ("yes", "no")]
    if not others:
        return asked
    if [one.category for one in others] == ["whole"]:
        return "the prompt has no text in quotes"
    example = truncate(others[0].question, 80, 20)
    return f"{len(others)} of {len(asked)} questions ask for more, such as {example!r}"


def describe_match(match: TextMatch, found: TextMatches) -> str:
    """Return in words what was read in place of a wanted string: its misspelling, or else what no other string is."""
    read = match.text if match.is_near else truncate(" / ".join(found.extra), _MOST_SHOWN, 20)
    if read:
        return f"reads {read}, asked {match.wanted}"
    return f"{'no such text' if found.text else 'no text'} found, asked {match.wanted}"


def _unchecked(prompt: str) -> dict[str, object]:
    rest = remove_quoted_texts(prompt)
    return {"not_checked": rest} if any(map(str.isalnum, rest)) else {}


def _verdict(
    spec: QuestionSpec, parts: Mapping[str, Part], evidence: Mapping[str, object], cost: float | None
) -> Verdict:
    met = {name: part.score == 1 for name, part in parts.items()}
    failed_by = spec.failed_parents(met)
    by_id = {one.id: one for one in spec.questions}
    final = []
    for name, part in parts.items():
        if name in failed_by:
            reason = f"counts as failed, because this failed: {by_id[failed_by[name]].question}"
            part = Part(part.name, part.kind, 0.0, part.weight, part.about, reason)
        final.append(part)
    return Verdict(all(part.score == 1 for part in final), tuple(final), evidence, cost)
