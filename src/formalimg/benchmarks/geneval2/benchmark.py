"""GenEval 2: prompts of 3 to 10 atoms, with a question for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.questions.benchmark import PART_KINDS, TERMS, QuestionBenchmark
from formalimg.benchmarks.record import ItemFindings
from formalimg.types import Item, Judge, Table

if TYPE_CHECKING:
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.reports.comparison_model import HowCounted, SeenRun


class GenEval2(QuestionBenchmark):
    """The GenEval 2 benchmark, with yes/no and counting questions answered in one word."""

    # --- items
    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.geneval2.published import read_published

        return read_published(path, self.name, findings)

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.geneval2.published import write_published

        write_published(items, folder)

    # --- judging
    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.geneval2.judge import open_judge

        return open_judge(self.name, name, options)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.geneval2.judge import reopen_judge

        return reopen_judge(recorded)

    def adapt_drawn_judge(self, judge: Judge) -> None:
        """Return None, as the suite has no drawings."""

    # --- reports
    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.geneval2.tables import soft_tifa_tables

        return soft_tifa_tables(self, runs, how)


BENCHMARKS = (
    GenEval2(
        name="geneval2",
        title="GenEval 2",
        level="atoms",
        bands={"Overall": (3, 4, 5, 6, 7, 8, 9, 10)},
        source="geneval2",
        published_lines=True,
        judge_needs="needs a chat model that can see, which answers each question in one word",
        terms=TERMS,
        part_kinds=PART_KINDS,
        code_zeroes_missing=True,
    ),
)
