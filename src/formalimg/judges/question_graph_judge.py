"""The judge of question graphs: yes/no questions that depend on each other, asked in the order of their dependencies.

A question whose parent does not have its expected answer is not asked: whether the cup is red means nothing where there
is no cup. It counts as failed, as in evaluations by scene graphs, so that a score cannot rise by showing less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, get_args

from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec, Zeroing
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import check_option
from formalimg.judges.question_judge import AskedQuestion, QuestionRequests, YesNoJudge, combine_answers
from formalimg.judges.text_beside import put_text_beside
from formalimg.judges.text_judge import TextJudge
from formalimg.types import ChatModel, Item, Part, Setting, Unscored, Verdict


class QuestionGraphJudge(YesNoJudge):
    """Ask a chat model the questions of an item, parents before the questions that depend on them.

    An image passes if every question has its expected answer; its score is the weighted mean. It has a verdict only if
    every question that was asked has an answer that is yes or no. With all questions in one request, those whose
    parents failed are answered too, and count as failed all the same. Where zeroing is direct (see `Zeroing`), every
    question is asked, because the own answer of a parent decides.

    Evidence is that of `YesNoJudge`; `skipped`: the questions that were not asked, with the parent that failed; and
    with a text reader, `by_reader`: see `put_text_beside`.
    """

    rules: ClassVar[Mapping[str, Setting]] = {"judging_rules": 1, "failed_parents": "count as failed"}

    def __init__(
        self,
        chat: ChatModel,
        *,
        requests: QuestionRequests = "each question",
        zeroing: Zeroing | None = None,
        prompts: Path | None = None,
        by_text: TextJudge | None = None,
    ) -> None:
        """Create a judge that asks this chat model."""
        super().__init__(chat, requests=requests, prompts=prompts)
        if zeroing is not None:
            check_option("zeroing", zeroing, get_args(Zeroing))
            self._options["zeroing"] = zeroing
        self._zeroing = zeroing
        self._by_text = by_text
        if by_text is not None:
            self._options |= {f"reader_{key}": value for key, value in by_text.settings.items() if key != "reader"}
            self._options["reader"] = by_text.name

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
        verdict = await self._judge(item, image)
        if self._by_text is None or isinstance(verdict, Unscored) or not isinstance(item.spec, QuestionSpec):
            return verdict
        return await put_text_beside(verdict, item.spec.questions, self._by_text, image)

    async def _judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        if not isinstance(item.spec, QuestionSpec) or not item.spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions to judge by")
        if any(one.expected not in ("yes", "no") for one in item.spec.questions):
            return Unscored(
                "not understood", f"item {item.id} of {item.suite} asks for a number, and not for yes or no"
            )
        spec = item.spec if self._zeroing is None else item.spec.with_zeroing(self._zeroing)
        questions = spec.questions
        encoded = await self._encode(image)
        if not self._one_by_one:
            found = combine_answers([await self._request(encoded, [_asked(one) for one in questions])])
            if isinstance(found, Unscored):
                return found
            return graph_verdict(spec, dict(zip((one.id for one in questions), found.parts, strict=True)), found)
        requests = []
        parts: dict[str, Part] = {}
        found = Verdict(False)
        while wave := [one for one in questions if one.id not in parts and _may_be_asked(one, parts, spec)]:
            requests += await self._request_all(encoded, [(_asked(one),) for one in wave])
            found = combine_answers(requests)
            if isinstance(found, Unscored):
                return found
            parts |= dict(zip((one.id for one in wave), found.parts[-len(wave) :], strict=True))
        return graph_verdict(spec, parts, found)


def _asked(question: GraphQuestion) -> AskedQuestion:
    return AskedQuestion(question.question, question.category)


def _is_met(question: GraphQuestion, part: Part) -> bool:
    return (part.score >= 0.5) == (question.expected == "yes")


def _may_be_asked(question: GraphQuestion, parts: Mapping[str, Part], spec: QuestionSpec) -> bool:
    """Return whether a question is asked now: where zeroing is direct, always, because its own answer decides."""
    if spec.zeroing == "direct":
        return True
    by_id = {one.id: one for one in spec.questions}
    return all(parent in parts and _is_met(by_id[parent], parts[parent]) for parent in question.parents)


def graph_verdict(spec: QuestionSpec, answered: Mapping[str, Part], found: Verdict) -> Verdict:
    """Return the verdict on all questions of an item."""
    by_id = {one.id: one for one in spec.questions}
    met = {name: _is_met(by_id[name], part) for name, part in answered.items()}
    failed_by = spec.failed_parents(met)
    parts: list[Part] = []
    skipped: list[dict[str, str]] = []
    for question in spec.questions:
        part = answered.get(question.id)
        if question.id in failed_by:
            parent = by_id[failed_by[question.id]]
            asked = "not asked" if part is None or spec.zeroing == "transitive" else "counts as failed"
            reason = f"{asked}, because this failed: {parent.question}"
            parts.append(Part(question.question, question.category, 0.0, question.weight, reason=reason))
            skipped.append({"question": question.question, "failed": parent.question})
            continue
        assert part is not None, "what is not skipped was asked"
        if question.expected == "no":  # the score and the probability are those of the answer that is good
            soft = None if part.p_yes is None else 1 - part.p_yes
            part = replace(part, score=1 - part.score, p_yes=soft)
        parts.append(replace(part, weight=question.weight, about=()))
    evidence = {**found.evidence, "skipped": skipped} if skipped else found.evidence
    passed = not failed_by and all(met.get(question.id, False) for question in spec.questions)
    return replace(found, passed=passed, parts=tuple(parts), evidence=evidence)
