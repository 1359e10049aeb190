"""Scores of images, with failure reasons, totals and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, overload

from formalimg._util.installing import import_pandas
from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.judges.failures import failure_text
from formalimg.reports.tables.format import NOTHING
from formalimg.reports.tables.model import Column, TableRow
from formalimg.runs.progress import Progress
from formalimg.types import Benchmark, Part, Table, Unscored, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame


# Texts alone are wrapped where a terminal is narrow, and what failed is a sentence.
_COLUMNS = (Column("image"), Column("prompt"), Column("score", align="right"), Column("pass"), Column("what failed"))
_PROMPT = 1


_FRAME = ("image", "prompt", "score", "passed", "reason", "form", "item")
_PART = ("name", "kind", "score", "weight", "reason")


class _Scored(Protocol):
    @property
    def score(self) -> float | None: ...
    @property
    def passed(self) -> bool | None: ...


class ScoreTotals(NamedTuple):
    """Summary statistics of scores."""

    images: int  # how many images and prompts there are
    mean: float | None  # the mean score of those that could be scored; None if there are none
    passed: int  # how many pass
    unscored: int  # how many could not be scored

    def __str__(self) -> str:
        """Format the totals as a line such as `3 images: mean 0.67, 2 passed`."""
        images = "1 image" if self.images == 1 else f"{self.images:,} images"
        scored = "" if not self.unscored or self.mean is None else f" of {self.images - self.unscored:,}"
        counts = [] if self.mean is None else [f"mean {self.mean:.2f}{scored}", f"{self.passed:,} passed"]
        return f"{images}: {', '.join([*counts, *([f'{self.unscored:,} unscored'] if self.unscored else [])])}"


def summarize_scores(scores: Sequence[_Scored]) -> ScoreTotals:
    """Return the mean score and the number of passing images, ignoring unscored ones."""
    values = [score.score for score in scores if score.score is not None]
    mean = sum(values) / len(values) if values else None
    return ScoreTotals(len(scores), mean, sum(score.passed is True for score in scores), len(scores) - len(values))


def score_table(scores: Sequence[Score]) -> Table:
    """Return a table with one row per score.

    A prompt that all images share is the title. The caption has the totals.
    """
    rows: list[tuple[str, ...]] = [
        (
            score.image,
            score.prompt,
            NOTHING if score.score is None else f"{score.score:.2f}",
            "unscored" if score.passed is None else "yes" if score.passed else "no",
            score.reason,
        )
        for score in scores
    ]
    columns: tuple[Column, ...] = _COLUMNS
    title = "Scores"
    if len({score.prompt for score in scores}) == 1:
        title = f"Scores: {truncate(scores[0].prompt, 300, 100)}"
        columns = columns[:_PROMPT] + columns[_PROMPT + 1 :]
        rows = [row[:_PROMPT] + row[_PROMPT + 1 :] for row in rows]
    return Table("scores", title, columns, tuple(map(TableRow, rows)), (str(summarize_scores(scores)),))


@dataclass(frozen=True)
class Score:
    """How well an image shows what a prompt asks for.

    Attributes:
        passed: whether it shows everything; None if it could not be scored.
        score: the weighted share of parts that it shows, 0 to 1; None if it could not be scored.
        parts: the questions, or the clauses of the formula, each with its own score and reason.
        reason: what it does not show, or why it could not be scored, in English; empty if it shows everything.
        image: the path of the file as it was given, or `image 1` and so on.
        prompt: the prompt.
        form: what the prompt became: formula, text, questions or whole.
        item: the id of the item in the run.
    """

    passed: bool | None
    score: float | None
    parts: tuple[Part, ...]
    reason: str
    image: str
    prompt: str
    form: str = ""
    item: str = ""


@dataclass(frozen=True, repr=False)
class Scores(Sequence[Score]):
    """The scores of some images, in their order.

    Attributes:
        scores: one for each image and prompt.
        folder: the run folder, which holds everything, and which `formalimg view` opens.
        progress: the progress of this call, excluding earlier calls.
        warnings: prompts that could not be taken apart, one line each.
    """

    scores: tuple[Score, ...]
    folder: Path
    progress: Progress
    warnings: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Score: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Score, ...]: ...

    def __getitem__(self, index: int | slice) -> Score | tuple[Score, ...]:
        return self.scores[index]

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"<{summarize_scores(self.scores)}, in {self.folder}>"

    @property
    def mean(self) -> float | None:
        """The mean score of all scored images, or None if there are none."""
        return summarize_scores(self.scores).mean

    def to_pandas(self, *, parts: bool = False) -> DataFrame:
        """Return a data frame with one row per image, with missing values for unscored images.

        Args:
            parts: one row for each part of each score (clause, question), of the images that are scored.

        Raises:
            FormalimgError: if pandas is not installed.
        """
        pandas = import_pandas()
        if not parts:
            frame: DataFrame = pandas.DataFrame(
                [[getattr(score, name) for name in _FRAME] for score in self], columns=[*_FRAME]
            )
            return frame.astype({"passed": "boolean", "score": "Float64"})  # an unscored image is neither False nor 0
        rows = [
            [score.image, score.prompt, score.item, *(getattr(part, name) for name in _PART)]
            for score in self
            for part in score.parts
        ]
        return pandas.DataFrame(rows, columns=["image", "prompt", "item", *_PART])

    def table(self) -> str:
        """Return the scores as a Markdown table."""
        from formalimg.reports.tables.markup import render_markdown

        return render_markdown(score_table(self))

    def _repr_html_(self) -> str:
        """Return the scores as an HTML table for notebooks."""
        from formalimg.reports.tables.markup import render_html

        return render_html(score_table(self))

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)


def failure_reason(verdict: Verdict | Unscored, spec: QuestionSpec, suite: Benchmark) -> str:
    """Describe the failures of an image on one line, or return an empty string if it passed.

    Questions with the wrong answer follow that answer (`no: Is the cup red?`); the failure of a formula is a sentence.
    """
    if isinstance(verdict, Unscored):
        return f"unscored, {verdict.reason}: {verdict.detail}" if verdict.detail else f"unscored, {verdict.reason}"
    if verdict.passed:
        return ""
    if "rule" in verdict.evidence:  # no judge looked at it, as at a blank image
        return f"failed by rule: {verdict.evidence['rule']}"
    if "reader" in verdict.evidence:
        return failure_text(verdict, suite)
    if spec.formula is not None:
        return failure_text(verdict, replace(suite, vocabulary=spec.vocabulary), spec.text)
    has_questions = len(verdict.parts) == len(spec.questions)
    reasons = []
    for number, part in enumerate(verdict.parts):
        if part.score < 0.5:
            answer = "yes" if has_questions and spec.questions[number].expected == "no" else "no"
            reasons.append(f"{'not asked' if part.reason.startswith('not asked') else answer}: {part.name}")
    return "; ".join(reasons)
