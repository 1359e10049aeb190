"""T2I-CompBench: colours, shapes, textures, positions and counts of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.questions.benchmark import PART_KINDS, TERMS, QuestionBenchmark
from formalimg.benchmarks.record import ItemFindings
from formalimg.types import Item, Judge, Table

if TYPE_CHECKING:
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.base import Failed, ImageRequest, Refused
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import HowCounted, SeenRun
    from formalimg.scenes.scene import Scene


class T2ICompBench(QuestionBenchmark):
    """The T2I-CompBench benchmark: a chat model checks noun phrases, and boxes decide positions and counts."""

    # --- items
    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.t2i_compbench.published import read_published

        return read_published(path, self.name, findings)

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.t2i_compbench.published import write_published

        write_published(items, folder)

    # --- judging
    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.t2i_compbench.judge import open_judge

        return open_judge(self.name, name, options)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.t2i_compbench.judge import reopen_judge

        return reopen_judge(recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
        from formalimg.judges.preflight import BOTTLE, BOTTLE_AND_FORK, two_things

        presence = GraphQuestion("1", f"{BOTTLE}?", category="object", weight=0.5)
        number = GraphQuestion("2", f"How many {BOTTLE}s?", ("1",), "one", "count", 0.5)
        item = Item(self.name, "preflight", 1, BOTTLE_AND_FORK, QuestionSpec((presence, number)))
        return two_things(item, "whether there is a bottle, and how many", (True, True), (False, False))

    def adapt_drawn_judge(self, judge: Judge) -> None:
        """Return None, as box rules judge the drawings."""

    # --- reports
    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.t2i_compbench.tables import composition_tables

        return composition_tables(self, runs, how)

    # --- models and rewards
    def image_layout(self) -> ImageLayout:
        from formalimg.benchmarks.t2i_compbench.published import LAYOUT

        return LAYOUT

    def arrange(self, request: ImageRequest) -> Scene | Refused | Failed:
        from formalimg.benchmarks.questions.spec import QuestionSpec
        from formalimg.benchmarks.t2i_compbench.composition import compose_composition

        assert isinstance(request.spec, QuestionSpec)
        return compose_composition(request.spec, request)


BENCHMARKS = (
    T2ICompBench(
        name="t2i-compbench",
        title="T2I-CompBench",
        level="task",  # in the order of the paper's tables
        bands={"Attributes": (1, 2, 3), "Overall": (1, 2, 3, 4, 5)},
        level_names={1: "color", 2: "shape", 3: "texture", 4: "2D-spatial", 5: "numeracy"},
        source="t2i-compbench",
        world="icons",
        judge_needs="needs a chat model that can see: noun phrases are asked for, and objects looked for",
        judge_profiles=("official", "official-code", "logic"),
        terms=TERMS,
        part_kinds=PART_KINDS,
        code_zeroes_missing=True,
    ),
)
