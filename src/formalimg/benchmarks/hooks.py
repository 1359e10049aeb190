"""Optional hooks of benchmarks beyond the contract in `types.py`: terms for tables and pages, and sampling of items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from random import Random

    from formalimg.benchmarks.export.sheets import Datasheet
    from formalimg.drawing.scene import DrawnScene
    from formalimg.human_eval.agreement.study_tables import OwnStudy, StudyName
    from formalimg.judges.recorded_judge import RecordedModels
    from formalimg.models.base import Failed, ImageRequest, Refused
    from formalimg.models.builtin.drawn_world import DrawnWorld
    from formalimg.models.folder.layouts import ImageLayout
    from formalimg.reports.comparison_model import Comparison, HowCounted, Section
    from formalimg.reports.figures.svg import Figure
    from formalimg.reports.published import Published, ReferenceRow
    from formalimg.reports.run_numbers import RunImages, RunNumbers
    from formalimg.rewards.tasks import OwnQuestion
    from formalimg.scenes.scene import Scene
    from formalimg.types import Benchmark, Item, Judge, RunRecord, Unscored, Verdict


class PartTerms(NamedTuple):
    """Terms for the parts of a verdict in tables, figures and pages."""

    part: str  # such as clause
    kind: str  # what groups of parts are called
    about: str  # what failures are grouped by besides
    subject: str  # what items are about, such as the class of an object
    holds: str  # said of one part that an image shows
    hold: str  # said of several
    failed: str  # said of parts that an image does not show
    is_code: bool = False  # parts are written in a formal language


class SampledItems(NamedTuple):
    """The sampled items, and the number of rejected draws by reason."""

    items: list[Item[Any]]
    rejected: Mapping[str, int]


class SynthesisPlan(NamedTuple):
    """The suite and number of items to sample, and the function that samples them."""

    suite: str
    total: int
    make: Callable[[Callable[[int], None]], SampledItems]  # calls its argument with the number of items so far


class Synthesis(ABC):
    """How a benchmark's items are sampled."""

    suites: ClassVar[str]  # the suites that it serves, as messages name them
    options: ClassVar[frozenset[str]]  # its own options of `formalimg items synth`

    @property
    def counting(self) -> str | None:
        """The suite that counts objects with the same vocabulary; None if there is none."""
        return None

    @abstractmethod
    def plan(
        self, levels: tuple[int, ...] | None, per_level: int | None, seed: int, options: Mapping[str, Any]
    ) -> SynthesisPlan:
        """Return the sampling plan for the given levels, number per level, seed and options."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkHooks:
    """Optional data and hooks of a benchmark; hooks that it does not override return None."""

    group: str = "group"  # what items are called whose levels are compared
    value_has_kind: bool = False  # a value needs its kind to be unique: orange is a colour and a fruit
    code_zeroes_missing: bool = False  # published code counts images without a verdict as 0
    published_lines: bool = False  # published files may be JSON Lines, as items files are
    reads: tuple[str, ...] = ()  # published data of other benchmarks that is read as its items
    has_scores: bool = False  # images have scores that are averaged; else they pass or fail
    level_format: str = "{name} = {level}"  # a level in running text
    numbers_heading: str = "Rates"  # of the main table
    bands_heading: str = "mean"  # of the numbers after those of the levels
    tables_heading: str = "More figures"  # of the tables below the main one
    levels_note: str = ""  # what the levels are, where their names do not say it
    rated_share: str = "images that pass (%)"  # the axis of what raters say
    gate: float | None = None  # the score of its first level that makes a group count, unless users choose another
    judged_offline: bool = False  # its judge needs no name: it looks by itself, and asks nobody
    judged_by_clauses: bool = False  # a chat model decides clause by clause
    judge_needs: str = "needs a chat model that can see"  # said where there is no judge
    judge_profiles: tuple[str, ...] = ()  # of rules that decide by boxes, in place of protocols
    judged_by_boxes: bool = False  # to find objects is all that is asked of a chat model
    takes_detectors: bool = False  # a detector can judge some of its items
    without_judge: str = ""  # what else can be done with images that nobody judges

    @property
    def scale(self) -> Literal["percent", "score"]:
        """The scale of the benchmark's numbers: rates in percent, or mean scores from 0 to 1."""
        return "score" if self.has_scores else "percent"

    # --- items
    def warnings(self, items: Sequence[Item[Any]], census: str) -> Sequence[str] | None: ...  # on items of a run
    def word_lines(self) -> Iterable[str] | None: ...  # its own words, where they are no vocabulary of formulas
    def datasheet(self, items: Sequence[Item[Any]]) -> Datasheet | None: ...  # what an export says of items
    def synthesis(self) -> Synthesis | None: ...  # how new items are sampled
    # --- judging
    def reopen_judge(self, recorded: RecordedModels) -> Judge:  # by its settings, to go by what it has on record
        raise FormalimgError("its verdicts cannot be made again from what is stored")

    def adapt_drawn_judge(self, judge: Judge) -> Judge | None: ...  # by scenes in drawings; None: has none
    def judge_drawn(self, item: Item[Any], drawn: DrawnScene, profile: str) -> Verdict | Unscored | None: ...  # scene
    def judge_layout(self, item: Item[Any], objects: object) -> Verdict | Unscored | None: ...  # planned, as published
    def arrange_scene(self, item: Item[Any], rng: Random) -> Scene | None: ...  # that shows an item without a formula
    # --- reports
    def item_figures(self, items: Mapping[str, Sequence[Item[Any]]]) -> Iterable[Figure] | None: ...  # items by suite
    def run_figures(self, section: Section, comparison: Comparison) -> Iterable[Figure] | None: ...  # more than common
    def score_numbers(self, run: RunRecord, found: RunImages, how: HowCounted) -> RunNumbers | None: ...  # for scores
    def score_rules(self, how: HowCounted) -> Iterable[str] | None: ...  # how scores are counted, for captions
    def reference_rows(self) -> Sequence[tuple[Published, ReferenceRow]] | None: ...  # published numbers
    # --- people
    def vote_questions(self, item: Item[Any]) -> Sequence[tuple[str, str]] | None: ...  # text and kind of each
    def study(self, name: StudyName) -> OwnStudy | None: ...  # one that few benchmarks have
    def subjects(self, run: RunRecord) -> Collection[str] | None: ...  # what its items are about; None: their tags
    def gate_item(self, run: RunRecord, item: str) -> str | None: ...  # must be shown, or images of this one count 0
    # --- models and rewards
    def image_layout(self) -> ImageLayout | None: ...  # how the authors' scripts lay out images in folders
    def drawn_world(self) -> DrawnWorld | None: ...  # what built-in models know of it, if its images are drawings
    def arrange(self, request: ImageRequest) -> Scene | Refused | Failed | None: ...  # icons; None: by its formula
    def question_item_maker(self) -> Callable[[str, Sequence[OwnQuestion]], Item[Any]] | None: ...  # users' questions


def format_level(benchmark: Benchmark, level: int) -> str:
    """Return a level as shown in running text, such as `K = 3` or `L3`."""
    return benchmark.level_format.format(name=benchmark.level, level=level)
