"""Reasons in English: which question has which answer, and what an image shows in place of a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.judges.failures import failure_text
from formalimg.types import Benchmark, Part, Unscored, Verdict

_NOT_ASKED = "not asked"


def failure_reason(verdict: Verdict | Unscored, spec: QuestionSpec, suite: Benchmark) -> str:
    """Return what an image does not show, as one line; empty if it shows everything.

    `no: Is the cup red?` is a question with the wrong answer; what is wrong with a formula is said in a sentence, such
    as `the cup is not to the left of the fork`.
    """
    if isinstance(verdict, Unscored):
        return f"unscored, {verdict.reason}: {verdict.detail}" if verdict.detail else f"unscored, {verdict.reason}"
    if verdict.passed:
        return ""
    if "rule" in verdict.evidence:  # no judge looked at it, as at a blank image
        return f"failed by rule: {verdict.evidence['rule']}"
    if "reader" in verdict.evidence:
        return failure_text(verdict, suite)
    if spec.formula is not None:
        return failure_text(verdict, replace(suite, vocabulary=spec.vocabulary), spec.text)
    return "; ".join(_answer(part, question) for part, question in _failed(verdict.parts, spec.questions))


def _failed(parts: Sequence[Part], questions: Sequence[GraphQuestion]) -> list[tuple[Part, GraphQuestion | None]]:
    """Return the parts that failed, with their questions; a judge of the user's own may have other parts."""
    asked: Sequence[GraphQuestion | None] = questions if len(parts) == len(questions) else [None] * len(parts)
    return [(part, question) for part, question in zip(parts, asked, strict=True) if part.score < 0.5]


def _answer(part: Part, question: GraphQuestion | None) -> str:
    if part.reason.startswith(_NOT_ASKED):
        return f"{_NOT_ASKED}: {part.name}"
    return f"{'yes' if question is not None and question.expected == 'no' else 'no'}: {part.name}"
