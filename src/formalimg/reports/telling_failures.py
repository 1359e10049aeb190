"""The most telling failures of runs: easy items first, each with something else that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from formalimg.runs.reader import Judged
from formalimg.types import RunRecord, Verdict

MAX_TELLING = 6  # So many failures are shown before anyone asks for more
_MAX_READ = 60  # So many failures of each run are looked at, those of the lowest levels first


class TellingFailure(NamedTuple):
    """A failed image: the position of its run in the section, and the image with its verdict."""

    run: int
    judged: Judged

    @property
    def key(self) -> tuple[str, int]:
        """The item ID and sample number of the image."""
        return self.judged.outcome.item, self.judged.outcome.sample


def telling_failures(runs: Mapping[int, RunRecord], count: int = MAX_TELLING) -> list[TellingFailure]:
    """Return up to `count` failures of different items, preferring new kinds of failure, then low levels."""
    candidates = []
    for number, run in runs.items():
        failed = sorted((image for image in run.outcomes() if image.passed is False), key=lambda image: image.level)
        lowest = run.judged([(image.item, image.sample) for image in failed[:_MAX_READ]]) if failed else ()
        candidates += [TellingFailure(number, judged) for judged in lowest]
    chosen: list[TellingFailure] = []
    word_counts: Counter[str] = Counter()
    while candidates and len(chosen) < count:
        run_counts = Counter(failure.run for failure in chosen)
        best = min(
            candidates,
            key=lambda failure: (
                min(word_counts[word] for word in _words_of_failure(failure)),
                run_counts[failure.run],
                failure.judged.outcome.level,
            ),
        )
        chosen.append(best)
        word_counts.update(_words_of_failure(best))
        candidates = [failure for failure in candidates if failure.key[0] != best.key[0]]
    return sorted(chosen, key=lambda failure: (failure.run, failure.judged.outcome.level))


def _words_of_failure(failure: TellingFailure) -> set[str]:
    """Return the predicates or concepts of the failed parts, or their kinds; "" for a failure by rule."""
    verdict = failure.judged.verdict
    parts = [part for part in verdict.parts if part.score < 1] if isinstance(verdict, Verdict) else []
    return {word for part in parts for word in part.about or (part.kind,)} or {""}
