"""ConceptMix: an object and k random visual concepts, with one yes/no question for each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, ConceptSpec
from formalimg.benchmarks.hooks import PartTerms
from formalimg.benchmarks.record import ItemFindings, ItemForm
from formalimg.types import Benchmark, Item, Judge, Part, Table, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.task import Authoring
    from formalimg.benchmarks.export.sheets import Datasheet
    from formalimg.benchmarks.hooks import Synthesis
    from formalimg.drawing.scene import DrawnScene
    from formalimg.human_eval.agreement.study_tables import OwnStudy, StudyName
    from formalimg.human_eval.protocol import RatingProtocol, RatingRules
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


def _join_counts(counts: Mapping[int, object], form: str) -> str:
    return ", ".join(form.format(key, count) for key, count in sorted(counts.items()))


def _is_unrelated(rated: Item[Any], requested: Item[Any], protocol: RatingProtocol) -> bool:
    """Return whether two items share no objects, although the requested one has some."""
    specs = rated.spec, requested.spec
    if not all(isinstance(spec, ConceptSpec) for spec in specs):
        return False
    first, second = ({concept.value for concept in spec.concepts if concept.category == "object"} for spec in specs)
    return bool(second) and not first & second


class ConceptMix(Benchmark):
    """The ConceptMix benchmark of compositional prompts."""

    # --- items
    @property
    def form(self) -> ItemForm:
        from formalimg.benchmarks.conceptmix import spec

        return spec

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        from formalimg.benchmarks.conceptmix.published import find_prompt_files, read_published_prompts

        return list(read_published_prompts(find_prompt_files(path), findings))

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        from formalimg.benchmarks.conceptmix.published import write_published_prompts

        write_published_prompts(items, folder)

    def item_lines(self, item: Item[Any]) -> Iterable[str]:
        spec = item.spec
        yield f"{item.suite}/{item.id}, k = {item.level}\n\n{item.prompt}\n"
        for title in ("statement", "question"):
            yield f"{title}s"
            for concept in spec.concepts:
                yield f"  {concept.category:<8}  {concept.value:<14}  {getattr(concept, title)}"
            yield ""
        if spec.unasked:
            yield "concepts without a question"
            yield from (f"  {category:<8}  {value}" for category, value in spec.unasked)
            yield ""
        if spec.binding is not None:
            yield f"binding\n  {json.dumps(spec.binding.to_json())}"

    def census_lines(self, items: Sequence[Item[Any]]) -> Iterable[str]:
        counts = Counter(item.level for item in items)
        yield f"{len(items)} items of conceptmix ({_join_counts(counts, 'k={}: {}')})"
        objects = Counter(len(item.spec.values("object")) for item in items)
        shares = ", ".join(f"{number} in {count / len(items):.0%}" for number, count in sorted(objects.items()))
        bound = [item.spec for item in items if item.spec.binding is not None]
        references = sum(len(spec.binding.objects) - len(spec.values("object")) for spec in bound)
        yield f"objects asked for: {shares}; {references} more to compare or stand with"
        words = Counter[int]()
        for item in items:
            words[item.level] += len(item.prompt.split())
        means = {level: f"{count / counts[level]:.1f}" for level, count in words.items()}
        yield f"words per prompt: {_join_counts(means, 'k={}: {}')}"
        concepts = Counter(concept for item in items for concept in item.spec.drawn)
        total = max(1, concepts.total())  # published records may be without any
        yield "\ncategories, and how often each of their concepts is asked for:"
        for category in CATEGORIES:
            values = {concept.value: count for concept, count in concepts.items() if concept.category == category}
            yield f"  {category:<8} {sum(values.values()) / total:6.1%}  {counts_text(values)}"

    def word_lines(self) -> Iterable[str]:
        from formalimg.benchmarks.conceptmix.pools import load_pools
        from formalimg.benchmarks.conceptmix.sampling import count_bindings, count_combinations

        pools = load_pools()
        for category, pool in pools.items():
            yield f"{category} ({len(pool.values)}): {', '.join(pool.values)}"
            yield f"    {pool.statement}\n"
        yield "k   different sets of concepts   and bindings to objects"
        for k in range(1, 8):
            yield f"{k}   {count_combinations(k, pools):>26,}   {count_bindings(k, pools):>31,}"

    def synthesis(self) -> Synthesis:
        from formalimg.benchmarks.conceptmix.generation import ConceptSynthesis

        return ConceptSynthesis()

    def authoring(self) -> Authoring:
        from formalimg.benchmarks.conceptmix.authoring.choices import ConceptWriting

        return ConceptWriting()

    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet:
        from formalimg.benchmarks.export.sheets import MarkdownTable, count_rows, read_sheet

        counts = Counter(concept.category for item in items for concept in item.spec.concepts)
        bound = sum(item.spec.binding is not None for item in items)
        notes = [
            f"{counts.total():,} questions, one for each concept.",
            f"{bound:,} items have a binding, which says what belongs to which object.",
        ]
        rows = count_rows((category, counts[category]) for category in CATEGORIES)
        return read_sheet(__package__, "concepts", self.name, MarkdownTable(("category", "questions"), rows), notes)

    # --- judging
    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge:
        from formalimg.benchmarks.conceptmix.judge import open_judge

        return open_judge(self.name, name, options, protocol)

    def reopen_judge(self, recorded: RecordedModels) -> Judge:
        from formalimg.benchmarks.conceptmix.judge import reopen_judge

        return reopen_judge(recorded)

    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing]:
        from formalimg.benchmarks.conceptmix.judge import preflight_drawings

        return preflight_drawings(self.name)

    def adapt_drawn_judge(self, judge: Judge) -> Judge:
        return judge

    def judge_drawn(self, item: Item[Any], drawn: DrawnScene, profile: str) -> Verdict | Unscored:
        from formalimg.benchmarks.conceptmix.judge import judge_drawn

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
        from formalimg.human_eval.protocol import RatingRules, RatingStep, example_texts, whole_image_step

        def rating_steps(item: Item[Any], protocol: RatingProtocol) -> tuple[RatingStep, ...]:
            if protocol != "questions" or not isinstance(item.spec, ConceptSpec):
                return ()
            questions = (
                RatingStep(
                    f"question {number}", "yes or no", concept.question, "", number, concept.category, cannot_tell=True
                )
                for number, concept in enumerate(item.spec.concepts, 1)
            )
            return (whole_image_step("questions", "alignment", once=True), *questions)

        return RatingRules(
            partial(example_texts, "concepts"),
            label="questions",
            offers={"questions": "conceptmix"},
            steps=rating_steps,
            is_unrelated=_is_unrelated,
        )

    # --- models and rewards
    def image_layout(self) -> ImageLayout:
        from formalimg.benchmarks.conceptmix.image_files import LAYOUT

        return LAYOUT

    def drawn_world(self) -> DrawnWorld:
        from formalimg.benchmarks.conceptmix.judge import WORLD

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
