"""ConceptMix: an object and k random visual concepts, with one yes/no question for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.conceptmix.spec import CATEGORIES
from formalimg.benchmarks.hooks import PartTerms
from formalimg.benchmarks.record import ItemFindings, ItemForm
from formalimg.types import Benchmark, Item, Judge, Part, Table, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.task import Authoring
    from formalimg.benchmarks.export.sheets import Datasheet
    from formalimg.benchmarks.synthesis import Synthesis
    from formalimg.drawing.scene import DrawnScene
    from formalimg.human_eval.agreement.study_tables import OwnStudy, StudyName
    from formalimg.human_eval.protocol import RatingRules
    from formalimg.judges.clause_sentences import SceneSentence
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.builtin.drawn_world import DrawnWorld
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import Comparison, HowCounted, Section, SeenRun
    from formalimg.reports.figures.svg import Figure
    from formalimg.reports.published import ExportedRun, Published, ReferenceRow
    from formalimg.rewards.tasks import OwnQuestion
    from formalimg.runs.reader import StoredRun


class ConceptMix(Benchmark):
    """The ConceptMix benchmark of compositional prompts."""

    # --- items

    @property
    def form(self) -> ItemForm:
        from formalimg.benchmarks.conceptmix import form

        return form

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.conceptmix.published import find_prompt_files, read_published_prompts

        return list(read_published_prompts(find_prompt_files(path), findings))

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.conceptmix.published import write_published_prompts

        write_published_prompts(items, folder)

    def item_lines(self, item: Item[Any]) -> Iterable[str]:
        from formalimg.benchmarks.conceptmix.texts import item_lines

        return item_lines(item)

    def census_lines(self, items: Sequence[Item[Any]]) -> Iterable[str]:
        from formalimg.benchmarks.conceptmix.texts import census_lines

        return census_lines(items)

    def word_lines(self) -> Iterable[str]:
        from formalimg.benchmarks.conceptmix.texts import word_lines

        return word_lines()

    def synthesis(self) -> Synthesis:
        from formalimg.benchmarks.conceptmix.generation import ConceptSynthesis

        return ConceptSynthesis()

    def authoring(self) -> Authoring:
        from formalimg.benchmarks.conceptmix.authoring.choices import ConceptWriting

        return ConceptWriting()

    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet:
        from formalimg.benchmarks.conceptmix.texts import datasheet

        return datasheet(self.name, items)

    # --- judging

    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.conceptmix.judge import open_judge

        return open_judge(self.name, name, options, protocol)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.conceptmix.judge import reopen_judge

        return reopen_judge(recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        from formalimg.benchmarks.conceptmix.drawings import preflight_drawings

        return preflight_drawings(self.name)

    def adapt_drawn_judge(self, judge: Judge) -> Judge:
        return judge

    def judge_drawn(self, item: Item[Any], drawn: DrawnScene, profile: str) -> Verdict | Unscored:
        from formalimg.benchmarks.conceptmix.drawings import judge_drawn

        return judge_drawn(item, drawn)

    def explain_failure(self, part: Part, verdict: Verdict) -> list[SceneSentence]:
        from formalimg.judges.clause_sentences import SceneSentence

        is_missing = part.kind == "object" and part.about
        return [SceneSentence(f"no {part.about[0]} found" if is_missing else f"{part.name.strip()} No")]

    # --- reports

    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.conceptmix.tables import concept_tables

        return concept_tables(self, runs, how)

    def run_figures(self, section: Section, comparison: Comparison) -> Iterator[Figure]:
        from formalimg.benchmarks.conceptmix.figures import run_figures

        return run_figures(section, comparison)

    def item_figures(self, items: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
        from formalimg.benchmarks.conceptmix.figures import item_figures

        return item_figures(items)

    def reference_rows(self) -> Sequence[tuple[Published, ReferenceRow]]:
        from formalimg.reports.published import read_reference_rows

        return read_reference_rows(self.name, __package__, "reference.toml")

    def export_run(self, run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
        from formalimg.benchmarks.conceptmix.export import export_conceptmix

        return export_conceptmix(run, folder, name)

    def vote_questions(self, item: Item[Any]) -> Sequence[tuple[str, str]] | None:
        return [(concept.question, concept.category) for concept in item.spec.concepts]

    def study(self, name: StudyName) -> OwnStudy | None:
        if name != "captions":
            return None
        from formalimg.benchmarks.conceptmix.captions.study import CAPTIONS

        return CAPTIONS

    # --- people

    def rating(self) -> RatingRules:
        from formalimg.benchmarks.conceptmix.texts import RATING

        return RATING

    # --- models and rewards

    def image_layout(self) -> ImageLayout:
        from formalimg.benchmarks.conceptmix.image_files import LAYOUT

        return LAYOUT

    def drawn_world(self) -> DrawnWorld:
        from formalimg.benchmarks.conceptmix.drawings import WORLD

        return WORLD

    def question_item_maker(self) -> Callable[[str, Sequence[OwnQuestion]], Item[Any]]:
        from formalimg.benchmarks.conceptmix.questions import make_question_item

        return make_question_item


BENCHMARKS = (
    ConceptMix(
        name="conceptmix",
        title="ConceptMix",
        level="k",
        terms=PartTerms("concept", "category", "value", "object", "is shown", "are shown", "that failed"),
        part_kinds=CATEGORIES,
        bands={"Overall": (1, 2, 3, 4, 5, 6, 7)},
        source="conceptmix",
        world="drawn",
        value_has_kind=True,
        tables_heading="Concepts",
        rated_share="yes (%)",
        judge_needs="needs a chat model that can see, which is asked one question for each concept",
        without_judge=", and let people answer: `formalimg agree` reads their votes from a CSV file",
    ),
)
