"""Analysis of A/B studies: Bradley–Terry strengths of runs, agreement of raters, and agreement with the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.attention import RaterAttentionSummary
from formalimg.human_eval.agreement.rated_images import require_unique_names
from formalimg.human_eval.agreement.rater_agreement import natural_sort
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.reliability import Reliability, krippendorff_alpha
from formalimg.stats.strengths import BradleyTerry, PairOutcome, bradley_terry


class Preference(NamedTuple):
    """Which of two images of one item a rater prefers."""

    item: str  # the prompt, and which images of it
    sample: int
    level: int
    left: str  # the runs of the two images, by side
    right: str
    rater: str  # the pseudonym
    preferred: str | None  # the run of the better image; empty for a tie, None if the rater cannot tell


class PairCounts(NamedTuple):
    """What raters said of two runs."""

    first: str  # the runs
    second: str
    first_better: int  # number of answers
    ties: int
    second_better: int
    cannot_tell: int  # number of raters' answers that they cannot tell: in no other number


@dataclass(frozen=True)
class PreferenceStudy:
    """Result of an A/B study."""

    suite: str  # the benchmark
    models: Mapping[str, str]  # the image model of each run
    judges: Mapping[str, str]  # the judge of each run; empty where there is none
    raters: tuple[str, ...]  # the raters who count
    answers: int  # number of answers, without those who cannot tell
    cannot_tell: int  # number of answers that the rater cannot tell
    overall: BradleyTerry | None  # the strengths of the runs; None if they cannot be compared
    by_level: Mapping[int, BradleyTerry | None]  # the same for each level
    pairs: tuple[PairCounts, ...]  # counts for each pair of runs
    left: Consistency  # how often the image on the left was better, of those that are no ties: sides should not matter
    alpha: Reliability  # agreement of the raters, left and right aside (Krippendorff's, nominal)
    # how often the majority of raters and the judge prefer the same image. Left out: pairs without a majority, or of
    # which the judge scores both the same or leaves one unscored
    with_judge: Consistency
    confidence: float  # of all intervals
    problem: str = ""  # why there are no strengths; empty if there are
    attention: RaterAttentionSummary | None = None  # progress and attention checks of the raters; None if unknown


def study_preferences(
    preferences: Sequence[Preference], runs: Sequence[StoredRun], *, confidence: float = 0.95
) -> PreferenceStudy:
    """Rank runs by the preferences of raters, and compare these with the judge."""
    require_unique_names(runs)
    if not preferences:
        raise FormalimgError("nobody has finished an image yet: let raters answer first")
    decided = [it for it in preferences if it.preferred is not None]
    overall, problem = _strengths(decided, confidence)
    levels = sorted({it.level for it in preferences})
    sided = [it for it in decided if it.preferred]
    return PreferenceStudy(
        runs[0].manifest.suite,
        {run.folder.name: run.manifest.model.name for run in runs},
        {run.folder.name: run.manifest.judge.name if run.manifest.judge else "" for run in runs},
        tuple(natural_sort(it.rater for it in preferences)),
        len(decided),
        len(preferences) - len(decided),
        overall,
        {at: _strengths([it for it in decided if it.level == at], confidence)[0] for at in levels},
        _pair_counts(preferences),
        consistency(
            [(it.preferred == it.left, True) for it in sided], items=[it.item for it in sided], confidence=confidence
        ),
        _alpha(decided, confidence),
        _with_judge(decided, runs, confidence),
        confidence,
        problem,
    )


def _oriented(it: Preference) -> tuple[str, str, int]:
    """Return the runs in order, and 1 if the first is better, −1 if the second is, 0 for a tie."""
    first, second = sorted((it.left, it.right))
    return first, second, (it.preferred == first) - (it.preferred == second)


def _strengths(decided: Sequence[Preference], confidence: float) -> tuple[BradleyTerry | None, str]:
    outcomes = [PairOutcome(*_oriented(it), it.item) for it in decided]  # type: ignore[arg-type]  # -1, 0 or 1
    try:
        return bradley_terry(outcomes, confidence), "" if outcomes else "all raters cannot tell"
    except FormalimgError as error:
        return None, str(error)


def _pair_counts(preferences: Sequence[Preference]) -> tuple[PairCounts, ...]:
    counts: dict[tuple[str, str], Counter[int | None]] = {}
    for it in preferences:
        first, second, result = _oriented(it)
        counts.setdefault((first, second), Counter())[None if it.preferred is None else result] += 1
    return tuple(PairCounts(*pair, own[1], own[0], own[-1], own[None]) for pair, own in sorted(counts.items()))


def _cases(decided: Sequence[Preference]) -> dict[tuple[str, int, str, str], list[int]]:
    found: dict[tuple[str, int, str, str], list[int]] = {}
    for it in decided:
        first, second, result = _oriented(it)
        found.setdefault((it.item, it.sample, first, second), []).append(result)
    return found


def _alpha(decided: Sequence[Preference], confidence: float) -> Reliability:
    cases = _cases(decided)
    return krippendorff_alpha(
        list(cases.values()), "nominal", items=[item for item, *_ in cases], confidence=confidence
    )


def _with_judge(decided: Sequence[Preference], runs: Sequence[StoredRun], confidence: float) -> Consistency:
    scores = {
        (run.folder.name, it.item, it.sample): it.score if it.score is not None else it.passed
        for run in runs
        for it in run.outcomes()
    }
    cases = _cases(decided)
    both: list[tuple[bool | None, bool | None]] = []
    for (item, sample, first, second), results in cases.items():
        one, other = scores.get((first, item, sample)), scores.get((second, item, sample))
        judged = None if one is None or other is None or one == other else one > other
        better, worse = results.count(1), results.count(-1)
        both.append((None if better == worse else better > worse, judged))
    return consistency(both, items=[item for item, *_ in cases], confidence=confidence)
