"""The text judge, which compares quoted text with the output of a text reader.

Where a chat model answers the questions, what a reader says of them is stored beside its answers, without effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.judges.base import LoadedImage, TextReader, TextReading
from formalimg.judges.chat_judge import check_option, total_cost
from formalimg.judges.text_match import Comparison, TextMatch, TextMatches, match_texts
from formalimg.language.quoted_text import find_wanted_texts, remove_quoted_texts
from formalimg.types import Item, Part, Setting, Unscored, Verdict

_RULES = 1  # The version of the rules from text to verdicts: raise it whenever a verdict may come out differently
_MOST_SHOWN = 120


class TextQuestion(NamedTuple):
    """A question about text in the image, with the strings it asks for."""

    question: GraphQuestion
    wanted: tuple[str, ...]


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
        matches = self.match([text for question in questions for text in question.wanted], reading)
        remaining = iter(matches.matches)
        answers = {
            text_question.question.id: [next(remaining) for _ in text_question.wanted] for text_question in questions
        }
        failed_by = spec.failed_parents(
            {
                text_question.question.id: self._score(text_question, answers[text_question.question.id]) == 1
                for text_question in questions
            }
        )
        by_id = {question.id: question for question in spec.questions}
        parts = []
        for asked in questions:
            question = asked.question
            score = self._score(asked, answers[question.id])
            reason = "; ".join(describe_match(match, matches) for match in answers[question.id])
            if question.id in failed_by:
                score, reason = 0.0, f"counts as failed, because this failed: {by_id[failed_by[question.id]].question}"
            parts.append(Part(question.question, question.category, score, question.weight, asked.wanted, reason))
        rest = remove_quoted_texts(item.prompt)
        not_checked = {"not_checked": rest} if any(map(str.isalnum, rest)) else {}
        evidence = {**self.evidence(matches, reading), **not_checked}
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

    def _score(self, text_question: TextQuestion, matches: Sequence[TextMatch]) -> float:
        is_shown = all(map(self.shows, matches))
        if text_question.question.expected == "no":
            return float(not is_shown)
        return 1.0 if is_shown else sum(match.score for match in matches) / len(matches)


def find_text_questions(spec: object) -> list[TextQuestion] | str:
    """Return the item's text questions, or an explanation if it asks for anything other than text."""
    if not isinstance(spec, QuestionSpec) or not spec.questions:
        return "the item asks for none"
    questions = [TextQuestion(question, find_wanted_texts(question.question)) for question in spec.questions]
    rest = [
        text_question.question
        for text_question in questions
        if not text_question.wanted or text_question.question.expected not in ("yes", "no")
    ]
    if not rest:
        return questions
    if [question.category for question in rest] == ["whole"]:
        return "the prompt has no text in quotes"
    example = truncate(rest[0].question, 80, 20)
    return f"{len(rest)} of {len(questions)} questions ask for more, such as {example!r}"


def describe_match(match: TextMatch, matches: TextMatches) -> str:
    """Describe what was read for a requested string: a near match, or else the unmatched text."""
    read = match.text if match.is_near else truncate(" / ".join(matches.extra), _MOST_SHOWN, 20)
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
