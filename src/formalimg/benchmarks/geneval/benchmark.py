"""GenEval: prompts about the 80 COCO classes, judged by a rule for detections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.hooks import PartTerms
from formalimg.benchmarks.odd_records import odd_meanings
from formalimg.benchmarks.record import ItemFindings, ItemForm
from formalimg.types import Benchmark, Item, Judge, Part, RunRecord, Table, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.benchmarks.export.sheets import Datasheet
    from formalimg.drawing.scene import DrawnScene
    from formalimg.human_eval.protocol import RatingRules
    from formalimg.judges.clause_sentences import SceneSentence
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.base import Failed, ImageRequest, Refused
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import HowCounted, SeenRun
    from formalimg.reports.published import Published, ReferenceRow
    from formalimg.scenes.scene import Scene


class GenEval(Benchmark):
    """A benchmark whose items specify which objects must be present and which must be absent."""

    # --- items
    @property
    def form(self) -> ItemForm:
        from formalimg.benchmarks.geneval import form

        return form

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.geneval.published import read_published

        return read_published(path, self.name, findings)

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.geneval.published import write_published

        write_published(items, folder)

    def drawn_items(self) -> list[Item[Any]]:
        from formalimg.benchmarks.geneval.drawings import make_drawn_items

        return make_drawn_items(self.name)

    def item_lines(self, item: Item[Any]) -> Iterable[str]:
        from formalimg.benchmarks.object_spec import translate

        include = item.spec.include
        yield f"{item.suite}/{item.id}, {self.level_names.get(item.level, item.level)}\n\n{item.prompt}\n"
        yield from odd_meanings(item.tags)
        yield "objects"
        for included in include:
            position = "" if included.target is None else f", {included.relation} {include[included.target].label}"
            yield f"  {included.count} {' '.join(filter(None, (included.color, included.label)))}{position}"
        for absent in item.spec.exclude:
            yield f"  fewer than {absent.count} {absent.label}"
        yield "\nformulas"
        for clause in translate(item.spec):
            yield f"  {clause.kind:<9}  {clause.text}"

    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet:
        from formalimg.benchmarks.export.sheets import MarkdownTable, count_rows, read_sheet

        included = [requirement for item in items for requirement in item.spec.include]
        counts = Counter(requirement.label for requirement in included)
        colored = sum(bool(requirement.color) for requirement in included)
        placed = sum(requirement.target is not None for requirement in included)
        notes = [
            f"{len(included):,} requirements for objects of {len(counts)} classes.",
            f"{colored:,} name a colour, and {placed:,} a place relative to another object.",
        ]
        contents = MarkdownTable(("class", "requirements"), count_rows(sorted(counts.items())))
        return read_sheet(__package__, "objects", self.name, contents, notes)

    # --- judging
    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.geneval.judge import open_judge

        return open_judge(self.name, name, options)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.geneval.judge import reopen_judge

        return reopen_judge(recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        from formalimg.benchmarks.object_spec import IncludedObjects, ObjectSpec
        from formalimg.judges.preflight import BOTTLE, RED_BOTTLE, two_things

        spec = ObjectSpec("single_object", (IncludedObjects(BOTTLE, 1),))
        item = Item(self.name, "preflight", 1, RED_BOTTLE, spec)
        return two_things(item, "whether there is a bottle", (True,), (False,))

    def judge_drawn(self, item: Item[Any], drawn: DrawnScene, profile: str) -> Verdict | Unscored:
        from formalimg.benchmarks.geneval.judge import judge_drawn

        return judge_drawn(item, drawn, profile)

    def arrange_scene(self, item: Item[Any], rng: Random) -> Scene | None:
        from formalimg.benchmarks.geneval.drawings import arrange_objects, unarrangeable_because

        return None if unarrangeable_because(item.spec) is not None else arrange_objects(item.spec, rng)

    def explain_failure(self, part: Part, verdict: Verdict) -> list[SceneSentence]:
        from formalimg.benchmarks.geneval.judge import explain_failure

        return explain_failure(part, verdict)

    # --- reports
    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.geneval.tables import object_tables

        return object_tables(self, runs, how)

    def reference_rows(self) -> Sequence[tuple[Published, ReferenceRow]]:
        from formalimg.reports.published import read_reference_rows

        return read_reference_rows(self.name, __package__, "reference.toml")

    # --- people
    def rating(self) -> RatingRules:
        from formalimg.human_eval.protocol import RatingRules, example_texts

        return RatingRules(partial(example_texts, "objects"))

    def subjects(self, run: RunRecord) -> set[str]:
        from formalimg.benchmarks.object_spec import ObjectSpec

        specs = (item.spec for item in run.suite_items())
        return {included.label for spec in specs if isinstance(spec, ObjectSpec) for included in spec.include}

    # --- models and rewards
    def image_layout(self) -> ImageLayout:
        from formalimg.benchmarks.geneval.published import LAYOUT

        return LAYOUT

    def arrange(self, request: ImageRequest) -> Scene | Refused | Failed:
        from formalimg.benchmarks.geneval.drawings import compose_objects
        from formalimg.benchmarks.object_spec import ObjectSpec

        assert isinstance(request.spec, ObjectSpec)
        return compose_objects(request.spec, request)


BENCHMARKS = (
    GenEval(
        name="geneval",
        title="GenEval",
        level="task",  # in the order of the paper's tables; 7 is for records whose tag is none of the six
        terms=PartTerms("check", "kind of check", "word", "class", "passes", "pass", "that failed"),
        part_kinds=("object", "count", "attribute", "relation"),
        bands={"Overall": (1, 2, 3, 4, 5, 6)},
        level_names={
            1: "single object",
            2: "two object",
            3: "counting",
            4: "colors",
            5: "position",
            6: "color attribution",
            7: "other",
        },
        source="geneval",
        world="icons",
        published_lines=True,
        level_format="{name} {level}",
        judge_needs="needs a detector, or a chat model that can see, to find the objects in them",
        judge_profiles=("official", "strict", "logic"),
        judged_by_boxes=True,
    ),
)
