"""The judge of question graphs: yes/no questions that depend on each other, asked in the order of their dependencies.

A question whose parent does not have its expected answer is not asked: whether the cup is red means nothing where there
is no cup. It counts as failed, as in evaluations by scene graphs, so that a score cannot rise by showing less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, cast

from formalimg.judges.base import LoadedImage, Part, Unscored, Verdict
from formalimg.judges.question_judge import QuestionJudge, combine_answers
from formalimg.models import ChatModel, Setting
from formalimg.suites import Category, GraphQuestion, Item, QuestionSpec, RequestedConcept


class QuestionGraphJudge(QuestionJudge):
    """Ask a chat model the questions of an item, parents before the questions that depend on them.

    An image passes if every question has its expected answer; its score is the weighted mean. It has a verdict only if
    every question that was asked has an answer that is yes or no. With all questions in one request, those whose
    parents failed are answered too, and count as failed all the same.

    Evidence is that of `QuestionJudge`, and `skipped`: the questions that were not asked, with the parent that failed.
    """

    rules: ClassVar[Mapping[str, Setting]] = {"judging_rules": 1, "failed_parents": "count as failed"}

    @property
    def chat(self) -> ChatModel:
        """The chat model that is asked."""
        return self._chat

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item, at most."""
        count = len(item.spec.questions) if isinstance(item.spec, QuestionSpec) else 0
        return count if self._one_by_one else min(1, count)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether every question about the image has its expected answer."""
        if not isinstance(item.spec, QuestionSpec) or not item.spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        questions = item.spec.questions
        encoded = await self._encode(image)
        if not self._one_by_one:
            found = combine_answers([await self._request(encoded, [_asked(one) for one in questions])])
            if isinstance(found, Unscored):
                return found
            return _verdict(questions, dict(zip((one.id for one in questions), found.parts, strict=True)), found)
        requests = []
        parts: dict[str, Part] = {}
        found = Verdict(False)
        while wave := [one for one in questions if one.id not in parts and _may_be_asked(one, parts, questions)]:
            requests += await self._request_all(encoded, [(_asked(one),) for one in wave])
            found = combine_answers(requests)
            if isinstance(found, Unscored):
                return found
            parts |= dict(zip((one.id for one in wave), found.parts[-len(wave) :], strict=True))
        return _verdict(questions, parts, found)


def _asked(question: GraphQuestion) -> RequestedConcept:
    """Return a question in the form that the question judge sends; its category is only passed on."""
    return RequestedConcept(cast(Category, question.category), "", "", question.question)


def _is_met(question: GraphQuestion, part: Part) -> bool:
    return (part.score >= 0.5) == (question.expected == "yes")


def _may_be_asked(question: GraphQuestion, parts: Mapping[str, Part], questions: Sequence[GraphQuestion]) -> bool:
    """Return whether all parents of a question were asked and have their expected answers."""
    by_id = {one.id: one for one in questions}
    return all(parent in parts and _is_met(by_id[parent], parts[parent]) for parent in question.parents)


def _verdict(questions: Sequence[GraphQuestion], answered: Mapping[str, Part], found: Verdict) -> Verdict:
    """Return the verdict on all questions, given the answers as parts by id; those without an answer were not asked."""
    failed: dict[str, bool] = {}

    def is_failed(question: GraphQuestion) -> bool:
        """Return whether a question, or one of those it depends on, does not have its expected answer."""
        if question.id not in failed:
            part = answered.get(question.id)
            own = part is None or not _is_met(question, part)
            failed[question.id] = own or any(is_failed(by_id[parent]) for parent in question.parents)
        return failed[question.id]

    by_id = {one.id: one for one in questions}
    parts: list[Part] = []
    skipped: list[dict[str, str]] = []
    for question in questions:
        parent = next((by_id[name] for name in question.parents if is_failed(by_id[name])), None)
        part = answered.get(question.id)
        if parent is not None:
            reason = f"not asked, because this failed: {parent.question}"
            parts.append(Part(question.question, question.category, 0.0, question.weight, reason=reason))
            skipped.append({"question": question.question, "failed": parent.question})
            continue
        assert part is not None, "what is not skipped was asked"
        # A soft answer keeps its probability; where no is good, it is that of no.
        score = part.score if question.expected == "yes" else 1 - part.score
        parts.append(replace(part, score=score, weight=question.weight, about=()))
    evidence = {**found.evidence, "skipped": skipped} if skipped else found.evidence
    return replace(found, passed=not any(map(is_failed, questions)), parts=tuple(parts), evidence=evidence)
