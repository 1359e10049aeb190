"""The prompt judge: judge free prompts by the formula they were read as, or else by their questions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import DETECTORS
from formalimg.judges.text_judge import TextJudge
from formalimg.models.pricing import Price, price_of
from formalimg.types import Item, Judge, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.benchmarks.formal.spec import FormulaSpec

_QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True)
class PromptJudge:
    """Judge items with a `QuestionSpec`: formulas by one judge, questions by another.

    Attributes:
        by_formula: judges items that have a formula: by a grounder and logic, or clause by clause.
        by_questions: judges the others; None where nothing can answer questions, as a grounder; a `TextJudge` where
            only questions for text can be answered.
    """

    by_formula: Judge
    by_questions: Judge | None = None

    @property
    def name(self) -> str:
        """The name of the judge of formulas: a chat model, a grounder or a text reader."""
        return self.by_formula.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of both judges; where they differ, with the way of judging in front."""
        formula = dict(self.by_formula.settings)
        questions = {} if self.by_questions is None else dict(self.by_questions.settings)
        shared = {key: value for key, value in formula.items() if key in questions and questions[key] == value}
        return {
            **shared,
            **{f"formula.{key}": value for key, value in formula.items() if key not in shared},
            **{f"questions.{key}": value for key, value in questions.items() if key not in shared},
        }

    @property
    def concurrency(self) -> int:
        """As many images at a time as both take."""
        return min(judge.concurrency for judge in (self.by_formula, self.by_questions) if judge is not None)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item, at most."""
        formula = _formula_item(item)
        count = getattr(self.by_questions if formula is None else self.by_formula, "questions", None)
        return int(count(formula or item)) if count else 0

    @property
    def nouns(self) -> Collection[str] | None:
        """The classes that prompts may name besides any other noun, if a detector judges; else None."""
        if not self.name.startswith(DETECTORS):
            return None
        return getattr(getattr(self.by_formula, "grounder", None), "classes", ())

    def unknown_classes(self, item: Item[object]) -> tuple[str, ...]:
        """Return the classes of this item's formula that a grounder cannot look for; its images will be unscored."""
        formula = _formula_item(item)
        unknown = getattr(self.by_formula, "unknown_classes", None)
        return unknown(formula) if unknown and formula is not None else ()

    @property
    def reads_text(self) -> bool:
        """Whether a text reader answers the questions for text, and no other question has an answer."""
        return isinstance(self.by_questions, TextJudge)

    @property
    def price(self) -> Price:
        """The price of what is asked."""
        return price_of(self.by_formula)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows what the prompt asks for."""
        formula = _formula_item(item)
        if formula is None and self.by_questions is None:
            return Unscored(
                "not understood",
                f"{self.name} finds objects only, and the prompt could not be read as a formula: name a chat model as "
                "the judge",
            )
        if formula is None:
            assert self.by_questions is not None, "checked above"
            return await self.by_questions.judge(item, image)
        found = await self.by_formula.judge(formula, image)
        if isinstance(found, Unscored):
            return found
        # Grouped by the words of the prompt, and not by predicates, as questions are.
        parts = tuple(replace(part, about=tuple(_QUOTED.findall(part.name))) for part in found.parts)
        return replace(found, parts=parts)


def _formula_item(item: Item[object]) -> Item[FormulaSpec] | None:
    """Return the item that has only the formula, in the suite of its vocabulary; None if there is no formula."""
    spec = item.spec
    if not isinstance(spec, QuestionSpec) or spec.formula is None:
        return None
    return Item(spec.vocabulary, item.id, item.level, item.prompt, spec.formula)
