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
    from formalimg.human_eval.agreement.own_studies import OwnStudy, StudyName
    from formalimg.human_eval.protocol import RatingRules
    from formalimg.judges.clause_sentences import SceneSentence
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.builtin.drawn_world import DrawnWorld
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import Comparison, HowCounted, Section, SeenRun
    from formalimg.reports.figures.svg import Figure
    from formalimg.reports.reference import Published, ReferenceRow
    from formalimg.reports.run_export import ExportedRun
    from formalimg.rewards.tasks import OwnQuestion
    from formalimg.runs.reader import StoredRun


class ConceptMix(Benchmark):
    """The benchmark of combined concepts."""

    # --- items

    @property
    def form(self) -> ItemForm:
        """The fields of its items in records."""
        from formalimg.benchmarks.conceptmix import form

        return form

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        """Read prompt files as the authors publish them."""
        from formalimg.benchmarks.conceptmix.published import find_prompt_files, read_published_prompts

        return list(read_published_prompts(find_prompt_files(path), findings))

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        """Write prompt files as the authors publish them."""
        from formalimg.benchmarks.conceptmix.published import write_published_prompts

        write_published_prompts(items, folder)

    def item_lines(self, item: Item[Any]) -> Iterable[str]:
        """Yield what an item requires."""
        from formalimg.benchmarks.conceptmix.texts import item_lines

        return item_lines(item)

    def census_lines(self, items: Sequence[Item[Any]]) -> Iterable[str]:
        """Yield what items are made of."""
        from formalimg.benchmarks.conceptmix.texts import census_lines

        return census_lines(items)

    def word_lines(self) -> Iterable[str]:
        """Yield all concepts."""
        from formalimg.benchmarks.conceptmix.texts import word_lines

        return word_lines()

    def synthesis(self) -> Synthesis:
        """Return how concepts are mixed."""
        from formalimg.benchmarks.conceptmix.generation import ConceptSynthesis

        return ConceptSynthesis()

    def authoring(self) -> Authoring:
        """Return how captions of concepts are written."""
        from formalimg.benchmarks.conceptmix.authoring.choices import ConceptWriting

        return ConceptWriting()

    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet:
        """Return what an export says of items."""
        from formalimg.benchmarks.conceptmix.texts import datasheet

        return datasheet(self.name, items)

    # --- judging

    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        """Return the judge of this name."""
        from formalimg.benchmarks.conceptmix.judge import open_judge

        return open_judge(self.name, name, options, protocol)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        """Return the judge of recorded settings."""
        from formalimg.benchmarks.conceptmix.judge import reopen_judge

        return reopen_judge(recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        """Return the drawings that a judge is asked about before a run."""
        from formalimg.benchmarks.conceptmix.drawings import preflight_drawings

        return preflight_drawings(self.name)

    def adapt_drawn_judge(self, judge: Judge) -> Judge:
        """Return the judge of drawn scenes as it is."""
        return judge

    def judge_drawn(self, item: Item[Any], drawn: DrawnScene, profile: str) -> Verdict | Unscored:
        """Judge what a drawn scene shows, concept by concept."""
        from formalimg.benchmarks.conceptmix.drawings import judge_drawn

        return judge_drawn(item, drawn)

    def explain_failure(self, part: Part, verdict: Verdict) -> list[SceneSentence]:
        """Return the object that is missing, or the question with its answer."""
        from formalimg.judges.clause_sentences import SceneSentence

        is_missing = part.kind == "object" and part.about
        return [SceneSentence(f"no {part.about[0]} found" if is_missing else f"{part.name.strip()} No")]

    # --- reports

    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        """Return the tables below the main one."""
        from formalimg.benchmarks.conceptmix.tables import concept_tables

        return concept_tables(self, runs, how)

    def run_figures(self, section: Section, comparison: Comparison) -> Iterator[Figure]:
        """Return the figures of runs by concept and difficulty."""
        from formalimg.benchmarks.conceptmix.figures import run_figures

        return run_figures(section, comparison)

    def item_figures(self, items: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
        """Return the figures of prompts and concepts."""
        from formalimg.benchmarks.conceptmix.figures import item_figures

        return item_figures(items)

    def reference_rows(self) -> Sequence[tuple[Published, ReferenceRow]]:
        """Return the numbers of the paper."""
        from formalimg.reports.reference import read_reference_rows

        return read_reference_rows(self.name, __package__, "reference.toml")

    def export_run(self, run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
        """Write a run in the layout of the published scripts."""
        from formalimg.benchmarks.conceptmix.export import export_conceptmix

        return export_conceptmix(run, folder, name)

    def vote_questions(self, item: Item[Any]) -> Sequence[tuple[str, str]] | None:
        """Return the question about each concept, and its category."""
        return [(concept.question, concept.category) for concept in item.spec.concepts]

    def study(self, name: StudyName) -> OwnStudy | None:
        """Return the study of captions."""
        if name != "captions":
            return None
        from formalimg.benchmarks.conceptmix.captions.study import CAPTIONS

        return CAPTIONS

    # --- people

    def rating(self) -> RatingRules:
        """Return how people rate its images."""
        from formalimg.benchmarks.conceptmix.rating import RULES

        return RULES

    # --- models and rewards

    def image_layout(self) -> ImageLayout:
        """Return how the authors' scripts lay out images."""
        from formalimg.benchmarks.conceptmix.image_files import LAYOUT

        return LAYOUT

    def drawn_world(self) -> DrawnWorld:
        """Return what built-in models know of its drawings."""
        from formalimg.benchmarks.conceptmix.drawn_world import WORLD

        return WORLD

    def question_item_maker(self) -> Callable[[str, Sequence[OwnQuestion]], Item[Any]]:
        """Return what makes an item of users' own questions, answered with yes and no."""
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
