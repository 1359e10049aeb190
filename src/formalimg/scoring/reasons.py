"""Reasons in English: which question has which answer, and which part of a formula does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.judges import Part, Unscored, Verdict
from formalimg.logic import FormulaError
from formalimg.suites import GraphQuestion, QuestionSpec, WordingError, clause_in_words

_NOT_ASKED = "not asked"


def failure_reason(verdict: Verdict | Unscored, spec: QuestionSpec) -> str:
    """Return what an image does not show, as one line; empty if it shows everything.

    `no: Is the cup red?` is a question with the wrong answer; `not: a cup is to the left of a fork` a part of a
    formula that does not hold.
    """
    if isinstance(verdict, Unscored):
        return f"unscored, {verdict.reason}: {verdict.detail}" if verdict.detail else f"unscored, {verdict.reason}"
    if verdict.passed:
        return ""
    if "rule" in verdict.evidence:  # no judge looked at it, as at a blank image
        return f"failed by rule: {verdict.evidence['rule']}"
    if spec.formula is not None:
        failed = [part.name for part in verdict.parts if part.score < 1]
        return "; ".join(f"not: {text}" for text in dict.fromkeys(_english(name, spec) for name in failed))
    return "; ".join(_answer(part, question) for part, question in _failed(verdict.parts, spec.questions))


def _failed(parts: Sequence[Part], questions: Sequence[GraphQuestion]) -> list[tuple[Part, GraphQuestion | None]]:
    """Return the parts that failed, with their questions; a judge of the user's own may have other parts."""
    asked: Sequence[GraphQuestion | None] = questions if len(parts) == len(questions) else [None] * len(parts)
    return [(part, question) for part, question in zip(parts, asked, strict=True) if part.score < 0.5]


def _answer(part: Part, question: GraphQuestion | None) -> str:
    if part.reason.startswith(_NOT_ASKED):
        return f"{_NOT_ASKED}: {part.name}"
    return f"{'yes' if question is not None and question.expected == 'no' else 'no'}: {part.name}"


def _english(clause: str, spec: QuestionSpec) -> str:
    """Return a clause in English; as it is where there are no words for it."""
    try:
        said = clause_in_words(clause, spec.text, spec.vocabulary).removesuffix(".")
    except (FormulaError, WordingError):
        return clause
    return said[:1].lower() + said[1:]
