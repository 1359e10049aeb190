"""DrawBench: 200 prompts in 11 categories, which say what an image should show, or read, or make of a strange idea."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.drawbench.categories import CATEGORIES
from formalimg.benchmarks.questions.benchmark import PART_KINDS, TERMS, QuestionBenchmark
from formalimg.benchmarks.record import ItemFindings
from formalimg.types import Item, Table

if TYPE_CHECKING:
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import HowCounted, SeenRun


class DrawBench(QuestionBenchmark):
    """Formulas where prompts name objects, quoted text where they ask for text, else one question for each prompt."""

    # --- items

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.drawbench.published import read_published

        return read_published(path, self.name, findings)

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.drawbench.published import write_published

        write_published(items, folder)

    # --- reports

    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.drawbench.tables import category_table

        return (category_table(self, runs),)

    # --- models and rewards

    def image_layout(self) -> ImageLayout:
        from formalimg.benchmarks.drawbench.image_files import LAYOUT

        return LAYOUT


BENCHMARKS = (
    DrawBench(
        name="drawbench",
        title="DrawBench",
        level="category",
        level_names=dict(enumerate(CATEGORIES, 1)),
        judge_needs="needs a detector for colors, counts and positions, with -J reader=ocr/rapidocr for text, or a "
        "chat model that can see for all",
        takes_detectors=True,
        terms=TERMS,
        part_kinds=PART_KINDS,
    ),
)
