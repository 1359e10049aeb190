"""CF-World: groups of a factual, an explicit and an implicit counterfactual prompt, with weighted questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.cfworld.spec import DIMENSIONS, FIELD_TAGGED
from formalimg.benchmarks.hooks import PartTerms
from formalimg.benchmarks.record import ItemFindings, ItemForm
from formalimg.types import Benchmark, Item, Judge, Part, RunRecord, Table, Verdict

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.task import Authoring
    from formalimg.benchmarks.export.sheets import Datasheet
    from formalimg.human_eval.agreement.study_tables import OwnStudy, StudyName
    from formalimg.human_eval.protocol import RatingRules
    from formalimg.judges.clause_sentences import SceneSentence
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import Comparison, HowCounted, Section, SeenRun
    from formalimg.reports.figures.svg import Figure
    from formalimg.reports.published import ExportedRun, Published, ReferenceRow
    from formalimg.reports.run_numbers import RunImages, RunNumbers
    from formalimg.rewards.tasks import OwnQuestion
    from formalimg.runs.reader import StoredRun


class CfWorld(Benchmark):
    """The benchmark CF-World, or one of its probes."""

    # --- items

    @property
    def form(self) -> ItemForm:
        from formalimg.benchmarks.cfworld import spec

        return spec

    def warnings(self, items: Sequence[Item[Any]], census: str) -> list[str]:
        from formalimg.benchmarks.cfworld.items import unscorable_warnings

        return list(unscorable_warnings(items, census, has_gate=self.gate is not None))

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.cfworld.published import read_published_items

        return list(read_published_items(path, self.name, findings))

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.cfworld.published_records import write_published_groups

        write_published_groups(items, folder)

    def item_lines(self, item: Item[Any]) -> Iterable[str]:
        from formalimg.benchmarks.cfworld.texts import item_lines

        return item_lines(item)

    def census_lines(self, items: Sequence[Item[Any]]) -> Iterable[str]:
        from formalimg.benchmarks.cfworld.texts import census_lines

        return census_lines(self.name, items, by_field=self.name in FIELD_TAGGED)

    def authoring(self) -> Authoring:
        from formalimg.benchmarks.cfworld.authoring.choices import CfWorldWriting

        return CfWorldWriting()

    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet:
        from formalimg.benchmarks.cfworld.texts import datasheet

        return datasheet(self.name, items)

    # --- judging

    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.cfworld.judge import open_judge

        return open_judge(self.name, name, options, protocol)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.cfworld.judge import reopen_judge

        return reopen_judge(recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        from formalimg.benchmarks.cfworld.judge import preflight_drawings

        return preflight_drawings(self.name)

    def explain_failure(self, part: Part, verdict: Verdict) -> list[SceneSentence]:
        from formalimg.judges.clause_sentences import SceneSentence

        return [SceneSentence(f"{part.kind} {part.score:.2f} of 1: {part.name}")]

    # --- reports

    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
        from formalimg.benchmarks.cfworld.tables import counterfactual_tables

        return tuple(counterfactual_tables(self, runs, how))

    def run_figures(self, section: Section, comparison: Comparison) -> Iterator[Figure]:
        from formalimg.benchmarks.cfworld.figures import run_figures

        return run_figures(section, comparison)

    def item_figures(self, items: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
        from formalimg.benchmarks.cfworld.figures import item_figures

        return item_figures(items)

    def score_numbers(self, run: RunRecord, found: RunImages, how: HowCounted) -> RunNumbers:
        from formalimg.benchmarks.cfworld.run_scores import score_numbers

        return score_numbers(run, found, self, how)

    def score_rules(self, how: HowCounted) -> Iterator[str]:
        from formalimg.benchmarks.cfworld.run_scores import scoring_rules

        return scoring_rules(self, how)

    def reference_rows(self) -> Sequence[tuple[Published, ReferenceRow]]:
        from formalimg.reports.published import read_reference_rows

        return read_reference_rows(self.name, __package__, "reference.toml")

    def export_run(self, run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
        from formalimg.benchmarks.cfworld.export import export_cfworld

        return export_cfworld(run, folder, name)

    def study(self, name: StudyName) -> OwnStudy | None:
        from formalimg.human_eval.agreement.study_tables import OwnStudy

        if name == "human scores":
            from formalimg.benchmarks.cfworld.score_studies import study_human_scores
            from formalimg.human_eval.agreement.studies import human_study_text, study_table

            return OwnStudy(study_human_scores, human_study_text, study_table)
        if name == "judge scores":
            from formalimg.benchmarks.cfworld.score_studies import compare_scores
            from formalimg.human_eval.agreement.studies import agreement_text, study_table

            return OwnStudy(compare_scores, agreement_text, study_table)
        if name == "calibrate":
            from formalimg.benchmarks.cfworld.calibration import calibrate_gate, calibration_table, calibration_text

            return OwnStudy(calibrate_gate, calibration_text, calibration_table)
        if name == "diagnose":
            from formalimg.benchmarks.cfworld.diagnosis import diagnose, diagnosis_table, diagnosis_text

            return OwnStudy(diagnose, diagnosis_text, diagnosis_table)
        return None

    # --- people

    def rating(self) -> RatingRules:
        from formalimg.benchmarks.cfworld.texts import RULES

        return RULES

    def gate_item(self, run: RunRecord, item: str) -> str:
        from formalimg.benchmarks.cfworld.run_scores import counterfactual_specs

        specs = counterfactual_specs(run)
        group = specs[item].group
        return next(name for name, spec in specs.items() if spec.group == group and run.items[name].level == 1)

    # --- models and rewards

    def image_layout(self) -> ImageLayout:
        from formalimg.benchmarks.cfworld.result_files import LAYOUT

        return LAYOUT

    def question_item_maker(self) -> Callable[[str, Sequence[OwnQuestion]], Item[Any]]:
        from formalimg.benchmarks.cfworld.items import make_question_item

        return make_question_item


def _build_benchmark(name: str, title: str, **options: Any) -> CfWorld:
    return CfWorld(
        name=name,
        title=title,
        level="L",
        terms=PartTerms(
            "question",
            "dimension",
            "word",
            "field",
            "has the full score",
            "have the full score",
            "without the full score",
        ),
        part_kinds=DIMENSIONS,
        source="cf-world",
        has_scores=True,
        numbers_heading="Scores",
        bands_heading="between levels",
        level_format="{name}{level}",
        judge_needs="needs a chat model that can see, which is asked for scores",
        **options,
    )


BENCHMARKS = (
    _build_benchmark(
        "cf-world",
        "CF-World",
        bands={"PRR": (1, 2), "RRR": (2, 3)},  # no means: computed from the two levels they name
        level_names={1: "L1", 2: "L2", 3: "L3"},
        levels_note="L1 factual, L2 explicit counterfactual, L3 implicit counterfactual",
        gate=0.5,
    ),
    # The probes: level 1 is factual, level 2 counterfactual; the last has the explicit prompts in other words.
    _build_benchmark(
        "cf-world-rules", "CF-World, rule decoupling", level_names={1: "factual", 2: "counterfactual"}, group="rule"
    ),
    _build_benchmark(
        "cf-world-attributes", "CF-World, attribute decoupling", level_names={1: "common", 2: "rare"}, group="pair"
    ),
    _build_benchmark("cf-world-denominalised", "CF-World, de-nominalised", level_names={2: "L2"}),
)
