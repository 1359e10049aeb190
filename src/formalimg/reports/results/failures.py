"""Failed images of a run, with explanations in English, as objects and as a notebook gallery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

from formalimg._util.text import visible
from formalimg.benchmarks.registry import suite as find_suite
from formalimg.errors import FormalimgError
from formalimg.judges.failures import failure_sentences
from formalimg.runs.database import PlannedItem
from formalimg.runs.inspection import inspect
from formalimg.runs.reader import Judged
from formalimg.types import Part, RunRecord, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Failure:
    """An image that failed.

    Attributes:
        suite: the benchmark.
        planned: the item, with its prompt.
        judged: the image with its verdict.
    """

    suite: str
    planned: PlannedItem = field(repr=False)
    judged: Judged = field(repr=False)

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
        """Create a sequence of failures to show.

        Args:
            failures: those to show.
            total: how many images failed in all.
        """
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
