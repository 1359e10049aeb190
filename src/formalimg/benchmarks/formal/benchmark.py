"""FormalImg: instructions in first-order logic. Knolling is verified by logic, Natural is judged clause by clause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.hooks import PartTerms
from formalimg.benchmarks.record import ItemFindings, ItemForm
from formalimg.types import Benchmark, Item, Judge, Table, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.task import Authoring
    from formalimg.benchmarks.export.sheets import Datasheet
    from formalimg.benchmarks.hooks import Synthesis
    from formalimg.human_eval.protocol import RatingRules
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.builtin.drawn_world import DrawnWorld
    from formalimg.reports.comparison_model import Comparison, HowCounted, Section, SeenRun
    from formalimg.reports.figures.svg import Figure
    from formalimg.reports.published import ExportedRun, Published, ReferenceRow
    from formalimg.runs.reader import StoredRun


class FormulaBenchmark(Benchmark):
    """A benchmark whose items have formulas."""

    # --- items

    @property
    def form(self) -> ItemForm:
        from formalimg.benchmarks.formal import spec

        return spec

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.formal.published import instance_files, read_instances

        return list(read_instances(instance_files(path, self.name), self.name, findings))

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.formal.published import write_published

        write_published(items, folder)

    def item_lines(self, item: Item[Any]) -> Iterable[str]:
        from formalimg.benchmarks.formal.texts import item_lines

        return item_lines(item)

    def census_lines(self, items: Sequence[Item[Any]]) -> Iterable[str]:
        from formalimg.benchmarks.formal.texts import census_lines

        return census_lines(self.name, items)

    def synthesis(self) -> Synthesis:
        from formalimg.benchmarks.formal.synthesis.generator import FormulaSynthesis

        return FormulaSynthesis(self.name)

    def authoring(self) -> Authoring | None:
        from formalimg.benchmarks.formal.authoring.templates import FormulaWriting

        return FormulaWriting() if self.source else None

    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet:
        from formalimg.benchmarks.formal.texts import datasheet

        return datasheet(self.name, items)

    # --- judging

    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.formal.judge import open_clause_judge, open_scene_judge

        opener = open_scene_judge if self.is_grounded else open_clause_judge
        return opener(self.name, name, options, protocol)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.formal.judge import reopen_judge

        return reopen_judge(self, recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        from formalimg.benchmarks.formal.judge import preflight_drawings

        return preflight_drawings(self)

    def adapt_drawn_judge(self, judge: Judge) -> Judge:
        return judge

    def judge_layout(self, item: Item[Any], objects: object) -> Verdict | Unscored:
        from formalimg.benchmarks.formal.evaluator import judge_objects

        return judge_objects(item.spec.formula, objects)

    # --- reports

    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.formal.tables import formula_tables

        return formula_tables(self, runs, how)

    def item_figures(self, items: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
        from formalimg.benchmarks.formal.figures import item_figures

        return item_figures(items)

    def run_figures(self, section: Section, comparison: Comparison) -> Iterator[Figure]:
        from formalimg.benchmarks.formal.figures import run_figures

        return run_figures(section)

    def reference_rows(self) -> Sequence[tuple[Published, ReferenceRow]]:
        from formalimg.reports.published import read_reference_rows

        tables = ("reference_table1.toml", "reference_tables2to5.toml")
        return read_reference_rows(self.name, __package__, *tables, percent=True)

    def export_run(self, run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
        from formalimg.benchmarks.formal.export import export_formalimg

        return export_formalimg(run, folder, name)

    # --- people

    def rating(self) -> RatingRules:
        from formalimg.human_eval.protocol import RatingRules, example_texts

        return RatingRules(partial(example_texts, "formula"), offers={"boxes": "knolling or natural"})

    # --- models and rewards

    def drawn_world(self) -> DrawnWorld | None:
        from formalimg.models.builtin.drawn_world import DrawnWorld, MisreadRates

        if self.world != "drawn":
            return None
        return DrawnWorld(MisreadRates(0.01, 0.07, 0.03, 0.3, 0.09, 0.02))


_BANDS = {"Easy": (1, 2, 3), "Medium": (4, 5, 6), "Hard": (7, 8, 9, 10), "Overall": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)}
_TERMS = PartTerms("clause", "kind of clause", "predicate", "class", "holds", "hold", "that failed", is_code=True)
_KINDS = ("object", "attribute", "relation", "condition", "count", "style", "formula")

BENCHMARKS = (
    FormulaBenchmark(
        name="knolling",
        title="FormalImg Knolling",
        level="K",
        terms=_TERMS,
        part_kinds=_KINDS,
        bands=_BANDS,
        epsilon=0.7,
        source="formalimg",
        vocabulary="knolling",
        world="icons",
        has_style_text=True,
        judge_needs="needs a chat model that can see, or a detector, to find the objects in them",
        judged_by_boxes=True,
        is_grounded=True,
    ),
    FormulaBenchmark(  # in the same words; its items are made here, nothing of it is published
        name="knolling-counts",
        title="Knolling with counts",
        level="K",
        terms=_TERMS,
        part_kinds=_KINDS,
        bands={"Overall": (1, 2, 3, 4, 5)},
        epsilon=0.7,
        vocabulary="knolling",
        world="icons",
        has_style_text=True,
        judge_needs="needs a chat model that can see, or a detector, to find the objects in them",
        judged_by_boxes=True,
        is_grounded=True,
    ),
    FormulaBenchmark(
        name="natural",
        title="FormalImg Natural",
        level="K",
        terms=_TERMS,
        part_kinds=_KINDS,
        bands=_BANDS,
        epsilon=0.7,
        source="formalimg",
        vocabulary="natural",
        world="drawn",
        judge_needs="needs a chat model that can see, which is asked clause by clause",
        judged_by_clauses=True,
    ),
)
