"""The most telling failures of the runs of a suite: easy items first, each with something else that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from formalimg.runs.reader import Judged
from formalimg.types import RunRecord, Verdict

MAX_TELLING = 6
"""So many failures are shown before anyone asks for more."""

_MAX_READ = 60
"""So many failures of each run are looked at, those of the lowest levels first."""


class TellingFailure(NamedTuple):
    """A failed image: the run's position in its section, and the image with its verdict."""

    run: int
    judged: Judged


def telling_failures(runs: Mapping[int, RunRecord], count: int = MAX_TELLING) -> list[TellingFailure]:
    """Return up to `count` failures, one for each item: what did not fail yet first, then the lowest level."""
    candidates = [TellingFailure(number, judged) for number, run in runs.items() for judged in _lowest_failures(run)]
    chosen: list[TellingFailure] = []
    seen: Counter[str] = Counter()
    while candidates and len(chosen) < count:
        shown = Counter(failure.run for failure in chosen)
        best = min(
            candidates,
            key=lambda failure: (
                min(seen[word] for word in _failed_words(failure)),
                shown[failure.run],
                failure.judged.outcome.level,
            ),
        )
        chosen.append(best)
        seen.update(_failed_words(best))
        candidates = [each for each in candidates if each.judged.outcome.item != best.judged.outcome.item]
    return sorted(chosen, key=lambda failure: (failure.run, failure.judged.outcome.level))


def _lowest_failures(run: RunRecord) -> Iterator[Judged]:
    failed = sorted((image for image in run.outcomes() if image.passed is False), key=lambda image: image.level)
    return run.judged([(image.item, image.sample) for image in failed[:_MAX_READ]]) if failed else iter(())


def _failed_words(failure: TellingFailure) -> set[str]:
    """Return what failed: the predicates or concepts of the failed parts, else their kinds; "" if a rule did."""
    verdict = failure.judged.verdict
    parts = [part for part in verdict.parts if part.score < 1] if isinstance(verdict, Verdict) else []
    return {word for part in parts for word in part.about or (part.kind,)} or {""}
