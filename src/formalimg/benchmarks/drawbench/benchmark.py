"""DrawBench: 200 prompts in 11 categories, including objects, text to render, and unusual ideas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.questions.benchmark import PART_KINDS, TERMS, QuestionBenchmark
from formalimg.benchmarks.record import ItemFindings
from formalimg.types import Item, Table

if TYPE_CHECKING:
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import HowCounted, SeenRun

# fmt: off
CATEGORIES = (
    "Colors", "Conflicting", "Counting", "DALL-E", "Descriptions", "Gary Marcus et al.", "Misspellings", "Positional",
    "Rare Words", "Reddit", "Text",
)
# fmt: on
"""The categories by name; the level of an item is the place of its category, from 1."""

BY_FORMULA = ("Colors", "Counting", "Positional")
"""Those whose prompts name objects with colours, numbers and places, and hardly more."""

BY_TEXT = ("Text",)  # Those whose prompts ask for text in quotes


def find_category(name: str) -> str | None:
    """Return the category that matches a name, ignoring case, spaces and punctuation, or None."""
    return {_normalize(category): category for category in CATEGORIES}.get(_normalize(name))


def _normalize(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


class DrawBench(QuestionBenchmark):
    """The DrawBench benchmark: items with a formula, quoted text, or a single question about the prompt."""

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
        from formalimg.benchmarks.drawbench.published import LAYOUT

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
