"""Results of a run (`Evaluation`) or of several (`RunComparison`), with tables, figures, data frames and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from formalimg._util.text import visible
from formalimg.benchmarks.registry import suite as find_suite
from formalimg.errors import FormalimgError
from formalimg.judges.failures import failure_sentences
from formalimg.runs.database import PlannedItem
from formalimg.runs.inspection import inspect
from formalimg.runs.manifest import Identity, read_manifest
from formalimg.runs.progress import Progress
from formalimg.runs.reader import Judged, StoredRun, open_run
from formalimg.stats.observations import MissingPolicy, Summary
from formalimg.types import Part, RunRecord, Unscored, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame
    from PIL.Image import Image

    from formalimg.reports.comparison_model import Comparison
    from formalimg.reports.figures.svg import Figure

_WIDTH = 100  # The width of the table that `print` shows, in characters


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of a run, which `print` shows as a table and a notebook as a table with a curve.

    `Evaluation("runs/knolling-builtin-reader")` opens an earlier run.

    Attributes:
        folder: the run folder, which holds everything.
        progress: the progress of this call, excluding earlier calls.
        judge: whose verdicts these are; None for those of the judge that ran last.
    """

    folder: Path
    progress: Progress = field(default_factory=lambda: Progress(0, 0), compare=False)
    judge: Identity | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))
        read_manifest(self.folder)  # which refuses what is no run

    @cached_property
    def run(self) -> StoredRun:
        """The run, opened for reading."""
        return open_run(self.folder, self.judge)

    def summary(self, *, missing: MissingPolicy = "exclude", epsilon: float | None = None) -> Summary:
        """Return the summary with intervals: pass rates per level, bands, and G_ε, or the suite's own measures.

        Args:
            missing: how images without a verdict count: `exclude`, `fail` or `error`.
            epsilon: the pass rate to hold; the suite's own if None.
        """
        return self._compare(missing, epsilon).sections[0].rows[0].summary

    def table(self, *, missing: MissingPolicy = "exclude") -> str:
        """Return the numbers as a Markdown table."""
        from formalimg.reports.report import render  # here, because it is large

        return render(self._compare(missing), "md")

    def write_report(self, path: str | Path, *, missing: MissingPolicy = "exclude") -> Path:
        """Write the report as one self-contained HTML file and return its path."""
        from formalimg.reports.report import write_html

        write_html([self.run], Path(path), missing=missing)
        return Path(path)

    def plot(self, figure: str = "", *, missing: MissingPolicy = "exclude") -> Figure:
        """Return a figure, by default the rate or score over the levels, for a notebook or `write_figures`.

        Args:
            figure: a word in the name of another figure of the report, such as `failures`.
            missing: how images without a verdict count.
        """
        from formalimg.reports.figures.runs import comparison_figures

        figures = {drawing.name: drawing for drawing in comparison_figures(self._compare(missing))}
        if not figures:
            raise FormalimgError(f"nothing is scored in {self.folder}: failures() and print() show what there is")
        for name, drawing in figures.items():
            if figure in name:
                return drawing
        raise FormalimgError(f"there is no figure {figure!r}: name one of {', '.join(figures)}")

    def failures(self, *, levels: Collection[int] | None = None, limit: int | None = None) -> Failures:
        """Return the failed images in item order, with their prompts and explanations.

        Args:
            levels: only of these levels.
            limit: at most this many, spread over the levels.
        """
        return find_failures(self.run, levels, limit)

    def compare(self, *others: Evaluation | str | Path, human: str | Path | None = None) -> RunComparison:
        """Compare this run with others in pairs, on the items that both runs have.

        Args:
            others: the other runs, or their folders.
            human: a rating study, or a CSV file of ratings: people decide where they labelled both runs of a pair.
        """
        from formalimg.human_eval.ratings import human_labels
        from formalimg.reports.comparison import compare

        runs = [self.run]
        runs += [(result if isinstance(result, Evaluation) else Evaluation(Path(result))).run for result in others]
        return RunComparison(compare(runs, labels=None if human is None else human_labels(human, runs)))

    def to_pandas(self, *, parts: bool = False, human: str | Path | None = None) -> DataFrame:
        """Return a data frame in long format with one row per image, including images without a verdict.

        Args:
            parts: one row for each part of a verdict (clause, concept, question), of the images that have one.
            human: a rating study, or a CSV file of ratings: adds the human label of each image as the column `label`.
        """
        from formalimg.human_eval.ratings import human_labels
        from formalimg.reports.results.notebooks import image_frame, part_frame

        if parts:
            if human is not None:
                raise FormalimgError("people label images, not parts: leave out parts=True, or human=")
            return part_frame(self.run)
        if human is None:
            return image_frame(self.run)
        labels = human_labels(human, [self.run]).get(self.run.folder.resolve())
        return image_frame(self.run, {} if labels is None else labels.passed)

    def __str__(self) -> str:
        from formalimg.reports.report import terminal_text

        return terminal_text(self._compare(), _WIDTH, has_claims=False)

    def __repr__(self) -> str:
        judged = f", judged by {self.judge.name}" if self.judge else ""
        return visible(f"<Evaluation in {self.folder}{judged}>", one_line=True)

    def _repr_html_(self) -> str:
        from formalimg.reports.results.notebooks import comparison_html

        return comparison_html(self._compare())

    def _compare(self, missing: MissingPolicy = "exclude", epsilon: float | None = None) -> Comparison:
        from formalimg.reports.comparison import compare  # here, because it is large

        return compare([self.run], missing=missing, epsilon=epsilon)


@dataclass(frozen=True, repr=False)
class RunComparison:
    """Several runs compared, as returned by `Evaluation.compare`; `print` shows the claims and the table."""

    comparison: Comparison  # the numbers of the report

    @property
    def claims(self) -> list[str]:
        """The claims for each suite: which run is ahead and by how much, followed by the supporting differences."""
        from formalimg.reports.findings import list_claims

        return [claim for section in self.comparison.sections for claim in list_claims(section, self.comparison)]

    def to_pandas(self) -> DataFrame:
        """Return one row per pair of runs, in which `difference` is the first minus the second, from -1 to 1.

        `by` says who decides: people where both runs have labels, otherwise the judge.
        """
        from formalimg.reports.results.notebooks import pair_frame

        return pair_frame(self.comparison)

    def __str__(self) -> str:
        from formalimg.reports.report import render

        return render(self.comparison, "terminal")

    def __repr__(self) -> str:
        return visible(f"<RunComparison: {' '.join(self.claims[:1])}>", one_line=True)

    def _repr_html_(self) -> str:
        from formalimg.reports.results.notebooks import comparison_html

        return comparison_html(self.comparison)


# --- failed images


@dataclass(frozen=True)
class Failure:
    """An image that failed."""

    suite: str
    planned: PlannedItem = field(repr=False)  # the item, with its prompt
    judged: Judged = field(repr=False)  # the image with its verdict

    @property
    def item(self) -> str:
        """The ID of the item."""
        return self.judged.outcome.item

    @property
    def level(self) -> int:
        """The level of the item."""
        return self.judged.outcome.level

    @property
    def sample(self) -> int:
        """The zero-based index of the image within its item."""
        return self.judged.outcome.sample

    @property
    def prompt(self) -> str:
        """The prompt of the item."""
        return self.planned.prompt

    @property
    def score(self) -> float | None:
        """The score of the verdict, from 0 to 1."""
        return self.judged.outcome.score

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the verdict that failed."""
        verdict = self.judged.verdict
        return tuple(part for part in verdict.parts if part.score < 1) if isinstance(verdict, Verdict) else ()

    @property
    def explanation(self) -> str:
        """The judge's full explanation, if any; for formulas, the proof."""
        return str(self.judged.verdict.evidence.get("explanation", ""))

    @cached_property
    def what_failed(self) -> tuple[str, ...]:
        """English sentences on what the image fails to show."""
        sentences = failure_sentences(self.judged.verdict, find_suite(self.suite), self.planned.formula)
        return tuple(sentence.text for sentence in sentences)

    @cached_property
    def image(self) -> Image:
        """The image in RGB with its orientation applied, read and decoded on first access."""
        if self.judged.image is None:
            raise FormalimgError(f"item {self.item} has no image file")
        try:
            loaded = inspect(self.judged.image.read_bytes())
        except OSError as error:
            raise FormalimgError(f"cannot read the image {self.judged.image}: {error.strerror}") from error
        if isinstance(loaded, Unscored):
            raise FormalimgError(f"cannot read the image {self.judged.image}: {loaded.detail}")
        return loaded.pil

    def __str__(self) -> str:
        lines = [f"item {self.item}, level {self.level}: {self.prompt}", *(f"  ✗ {line}" for line in self.what_failed)]
        return "\n".join(visible(line, one_line=True) for line in lines)

    def _repr_html_(self) -> str:
        from formalimg.reports.results.notebooks import failures_html

        return failures_html([self], 1)


class Failures(Sequence[Failure]):
    """The failed images of a run in order, with the first of them shown as a gallery in notebooks."""

    def __init__(self, failures: Sequence[Failure], total: int) -> None:
        """Create a sequence from the failures to show and the total number of failures."""
        self._failures = tuple(failures)
        self._total = total

    def __len__(self) -> int:
        return len(self._failures)

    def __iter__(self) -> Iterator[Failure]:
        return iter(self._failures)

    @overload
    def __getitem__(self, index: int) -> Failure: ...
    @overload
    def __getitem__(self, index: slice) -> Failures: ...
    def __getitem__(self, index: int | slice) -> Failure | Failures:
        failures = self._failures[index]
        return Failures(failures, self._total) if isinstance(failures, tuple) else failures

    def __repr__(self) -> str:
        return f"<{len(self)} of {self._total} images that failed>"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._failures)) or "no image failed"

    def _repr_html_(self) -> str:
        from formalimg.reports.results.notebooks import failures_html

        return failures_html(self._failures, self._total)


def find_failures(run: RunRecord, levels: Collection[int] | None, limit: int | None) -> Failures:
    """Return the failed images of a run."""
    failed = [image for image in run.outcomes() if image.passed is False and (levels is None or image.level in levels)]
    chosen = failed
    if limit is not None and len(failed) > limit:
        counts: Counter[int] = Counter()
        ranked = []
        for number, image in enumerate(failed):
            counts[image.level] += 1
            ranked.append((counts[image.level], image.level, number))
        chosen = [failed[number] for number in sorted(number for *_, number in sorted(ranked)[:limit])]
    images = run.judged([(image.item, image.sample) for image in chosen]) if chosen else ()
    suite = run.manifest.suite
    return Failures([Failure(suite, run.items[judged.outcome.item], judged) for judged in images], len(failed))
