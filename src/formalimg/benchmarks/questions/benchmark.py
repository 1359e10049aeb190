"""Question suites: free prompts from `formalimg score`, and question graphs from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.hooks import PartTerms
from formalimg.benchmarks.odd_records import odd_meanings
from formalimg.benchmarks.record import ItemFindings, ItemForm
from formalimg.types import Benchmark, Item, Judge, Table

if TYPE_CHECKING:
    from formalimg.benchmarks.export.sheets import Datasheet
    from formalimg.human_eval.protocol import RatingRules
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import HowCounted, SeenRun

TERMS = PartTerms("question", "category", "word", "form", "has its answer", "have their answers", "that failed")
PART_KINDS = (
    "object",
    "attribute",
    "count",
    "relation",
    "action",
    "text",
    "condition",
    "style",
    "other",
    "whole",
    "formula",
)
"""Those of questions, and those of the clauses of prompts that were read as formulas."""


class QuestionBenchmark(Benchmark):
    """A benchmark whose items have yes/no questions, which may depend on each other."""

    # --- items
    @property
    def form(self) -> ItemForm:
        from formalimg.benchmarks.questions import spec

        return spec

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        findings.add(
            str(path), f"{self.name} has no published files: give an items.jsonl, or use `formalimg score` for images"
        )
        return []

    def item_lines(self, item: Item[Any]) -> Iterable[str]:
        spec = item.spec
        if spec.formula is not None:
            from formalimg.benchmarks.formal.texts import item_lines

            yield from item_lines(replace(item, spec=spec.formula))
            if not spec.questions:
                return
        else:
            yield f"{item.suite}/{item.id}\n\n{item.prompt}\n"
            yield from odd_meanings(item.tags)
        if spec.no_formula:
            yield f"no formula: {spec.no_formula}"
        yield f"questions{', zeroing direct' if spec.zeroing == 'direct' else ''}"
        for question in spec.questions:
            above = f"  (after {', '.join(question.parents)})" if question.parents else ""
            yield f"  {question.id:<4} {question.category:<10} {question.question}  {question.expected}{above}"

    def census_lines(self, items: Sequence[Item[Any]]) -> Iterable[str]:
        categories = Counter(question.category for item in items for question in item.spec.questions)
        formulas = sum(item.spec.formula is not None for item in items)
        yield f"{len(items)} items of {self.name}, {formulas} of them with a formula"
        yield f"{categories.total():,} questions" + (f": {counts_text(categories)}" if categories else "")

    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet:
        from formalimg.benchmarks.export.sheets import MarkdownTable, count_rows, read_sheet

        questions = [question for item in items for question in item.spec.questions]
        counts = Counter(question.category for question in questions)
        notes = [
            f"{len(questions):,} questions, {sum(bool(question.parents) for question in questions):,} of which depend "
            "on others.",
            f"{sum(item.spec.formula is not None for item in items):,} items have a formula in place of questions.",
        ]
        contents = MarkdownTable(("category", "questions"), count_rows(sorted(counts.items())))
        return read_sheet(__package__, "questions", self.name, contents, notes)

    # --- judging
    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.questions.judge import open_judge

        return open_judge(self.name, name, options, protocol)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.questions.judge import reopen_judge

        return reopen_judge(recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        from formalimg.benchmarks.questions.judge import preflight_drawings

        return preflight_drawings(self.name, judge)

    def adapt_drawn_judge(self, judge: Judge) -> Judge | None:
        from formalimg.judges.prompt_judge import PromptJudge

        return PromptJudge(judge)

    # --- people
    def rating(self) -> RatingRules:
        from formalimg.human_eval.protocol import RatingRules, example_texts

        return RatingRules(partial(example_texts, "questions"))

    # --- models and rewards
    def image_layout(self) -> ImageLayout:
        from formalimg.benchmarks.questions.published import LAYOUT

        return LAYOUT


class QuestionGraphs(QuestionBenchmark):
    """Question graphs from files, either user-defined or from published benchmarks."""

    # --- items
    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.questions.published import read_published

        return read_published(path, self.name, findings)

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.questions.published import write_published

        write_published(items, folder)

    # --- reports
    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.questions.tables import question_tables

        return question_tables(runs, how)


BENCHMARKS = (
    QuestionBenchmark(
        name="free-prompts",
        title="Free prompts",
        level="level",
        terms=TERMS,
        part_kinds=PART_KINDS,
        level_names={1: "all"},
        code_zeroes_missing=True,
        takes_detectors=True,
        judge_needs="needs a chat model that can see, which is asked about the prompt",
    ),
    QuestionGraphs(
        name="questions",
        title="Question graphs",
        level="level",
        terms=TERMS,
        part_kinds=PART_KINDS,
        level_names={1: "all"},
        published_lines=True,
        reads=("dsg", "dpg", "oneig", "tiif", "corebench"),
        code_zeroes_missing=True,
        judge_needs="needs a chat model that can see, which is asked about the prompt",
    ),
)
