"""The prompt judge, which judges free prompts by formula if possible, and by questions otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import total_cost
from formalimg.judges.factory import DETECTORS
from formalimg.judges.text_judge import TextJudge, find_text_questions
from formalimg.models.pricing import Price, price_of
from formalimg.types import Item, Judge, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.benchmarks.formal.spec import FormulaSpec

_QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True)
class PromptJudge:
    """A judge for items with a `QuestionSpec`, which delegates to a formula judge and a question judge."""

    by_formula: Judge  # judges items that have a formula: by a grounder and logic, or clause by clause
    # judges the others; None where nothing can answer questions, as a grounder; a `TextJudge` where only questions
    # for text can be answered
    by_questions: Judge | None = None

    @property
    def name(self) -> str:
        return self.by_formula.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        formula = self.by_formula.settings
        questions = {} if self.by_questions is None else self.by_questions.settings
        shared = {key: value for key, value in formula.items() if key in questions and questions[key] == value}
        return {
            **shared,
            **{f"formula.{key}": value for key, value in formula.items() if key not in shared},
            **{f"questions.{key}": value for key, value in questions.items() if key not in shared},
        }

    @property
    def concurrency(self) -> int:
        return min(judge.concurrency for judge in (self.by_formula, self.by_questions) if judge is not None)

    def questions(self, item: Item[object]) -> int:
        formula = _formula_item(item)
        judged: list[tuple[Judge, Item[Any]]] = [(self.by_formula, formula)] if formula is not None else []
        if isinstance(item.spec, QuestionSpec) and item.spec.questions and self.by_questions is not None:
            judged.append((self.by_questions, item))
        return sum(int(judge.questions(part)) for judge, part in judged if hasattr(judge, "questions"))

    @property
    def nouns(self) -> Collection[str] | None:
        """The classes that a detector can find, or None if the judge is not a detector."""
        if not self.name.startswith(DETECTORS):
            return None
        return getattr(getattr(self.by_formula, "grounder", None), "classes", ())

    def unknown_classes(self, item: Item[object]) -> tuple[str, ...]:
        formula = _formula_item(item)
        unknown = getattr(self.by_formula, "unknown_classes", None)
        return unknown(formula) if unknown and formula is not None else ()

    @property
    def reads_text(self) -> bool:
        """Whether questions are answered by a text reader, which supports only questions for text."""
        return isinstance(self.by_questions, TextJudge)

    @property
    def price(self) -> Price:
        return price_of(self.by_formula)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec, formula = item.spec, _formula_item(item)
        if not isinstance(spec, QuestionSpec) or formula is None:
            return await self._judge_questions(item, image)
        verdict = await self.by_formula.judge(formula, image)
        if isinstance(verdict, Unscored):
            return verdict
        # Grouped by the words of the prompt, and not by predicates, as questions are.
        parts = tuple(replace(part, about=tuple(_QUOTED.findall(part.name))) for part in verdict.parts)
        verdict = replace(verdict, parts=parts)
        if not spec.questions:
            return verdict
        if self.by_questions is None or self.reads_text:
            return replace(verdict, evidence={**verdict.evidence, "not_checked": spec.left_over})
        answered = await self.by_questions.judge(item, image)
        return answered if isinstance(answered, Unscored) else _combine_verdicts(verdict, answered)

    async def _judge_questions(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        spec = item.spec if isinstance(item.spec, QuestionSpec) else QuestionSpec()
        because = f" ({spec.no_formula})" if spec.no_formula else ""
        if spec.no_formula and not spec.questions:
            return Unscored("not understood", f"the prompt cannot be read as a formula{because}")
        is_text = isinstance(find_text_questions(spec), list)
        if self.by_questions is not None and (is_text or not (self.reads_text and self.nouns is not None)):
            return await self.by_questions.judge(item, image)
        if is_text:
            why_not = "reads no text: give -J reader=ocr/rapidocr, or"
        else:
            why_not = f"finds objects only, and the prompt is no formula{because}:"
        return Unscored("not understood", f"{self.name} {why_not} name a chat model as the judge")


def _combine_verdicts(formula: Verdict, questions: Verdict) -> Verdict:
    """Combine the verdicts on a formula and on the remaining questions; the image must pass both."""
    lists = {
        key: [*value, *more]
        for key, value in formula.evidence.items()
        if isinstance(value, list) and isinstance(more := questions.evidence.get(key), list)
    }
    return Verdict(
        formula.passed and questions.passed,
        (*formula.parts, *questions.parts),
        {**questions.evidence, **formula.evidence, **lists},
        total_cost((formula.cost, questions.cost)),
    )


def _formula_item(item: Item[object]) -> Item[FormulaSpec] | None:
    spec = item.spec
    if not isinstance(spec, QuestionSpec) or spec.formula is None:
        return None
    return Item(spec.vocabulary, item.id, item.level, item.prompt, spec.formula)
