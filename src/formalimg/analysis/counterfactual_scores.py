"""Scores of CF-World images: by group and by question, and the gap between judge scores and human scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from math import ceil, fsum, sqrt
from typing import NamedTuple

from formalimg.analysis.judge_agreement import question_keys
from formalimg.errors import FormalimgError
from formalimg.judges import Part, Unscored, Verdict
from formalimg.runs import Judged, RunRecord
from formalimg.stats import (
    Correlation,
    Interval,
    Proportion,
    ScoreProfile,
    consistency,
    mean_interval,
    pearson,
    rescore,
)
from formalimg.suites import CounterfactualSpec


class GroupScore(NamedTuple):
    """An image, its group, and its score; if that is None, the reason."""

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    reason: str


def group_scores(run: RunRecord, profile: ScoreProfile = "paper") -> Iterator[GroupScore]:
    """Yield the scores of all planned images of a run, before any gate.

    Args:
        run: a run of CF-World or of one of its probes.
        profile: `paper` for scores as they are stored; `official-code` gives each question its full weight.

    Raises:
        FormalimgError: if the items of the run have no groups, or a score is not between 0 and 1.
    """
    groups = {name: spec.group for name, spec in counterfactual_specs(run).items()}
    if profile == "paper":
        for outcome in run.outcomes():
            item, level, sample, _, score, reason, _ = outcome
            value = None if score is None else image_score(run, item, score, (), profile)
            yield GroupScore(item, groups[item], level, sample, value, reason)
        return
    for judged in run.judged():
        item, level, sample, _, _, reason, _ = judged.outcome
        yield GroupScore(item, groups[item], level, sample, score_of_verdict(run, judged, profile), reason)


def counterfactual_specs(run: RunRecord) -> dict[str, CounterfactualSpec]:
    """Return the specs of the items of a run, by id.

    Raises:
        FormalimgError: if the run is of another benchmark.
    """
    found = {item.id: item.spec for item in run.suite_items() if isinstance(item.spec, CounterfactualSpec)}
    if len(found) < len(run.items):
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name runs of cf-world or of its probes")
    return found


def score_of_verdict(run: RunRecord, judged: Judged, profile: ScoreProfile) -> float | None:
    """Return the score of an image of a run; None if unscored.

    Raises:
        FormalimgError: as `image_score` does.
    """
    verdict = judged.verdict
    if isinstance(verdict, Unscored):
        return None
    return image_score(run, judged.outcome.item, verdict.score, verdict.parts, profile)


def image_score(run: RunRecord, item: str, score: float, parts: Sequence[Part], profile: ScoreProfile) -> float:
    """Return the score of an image of CF-World from its stored score and the questions behind it.

    Raises:
        FormalimgError: if a score is not between 0 and 1.
    """
    wrong = next((value for value in (*(part.score for part in parts), score) if not 0 <= value <= 1), None)
    if wrong is not None:
        who = run.manifest.judge.name if run.manifest.judge else "the judge"
        raise FormalimgError(
            f"{who} gave item {item} of {run.folder} the score {wrong:g}: scores are from 0 to 1; fix the judge, give "
            "it a new version in its settings, and let it judge again"
        )
    return rescore(score, [(part.kind, part.weight, part.score) for part in parts], profile)


def scores_by_question(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, float]:
    """Return the judge's score of each question, by number. An image that fails as a whole fails each of them."""
    if isinstance(verdict, Unscored):
        return {}
    keys = dict(enumerate(question_keys(question.question for question in spec.questions), 1))
    if not verdict.parts:
        return dict.fromkeys(keys, verdict.score)
    by_key = dict(zip(question_keys(part.name for part in verdict.parts), verdict.parts, strict=True))
    return {number: by_key[key].score for number, key in keys.items() if key in by_key}


NEAR = 0.125
"""Scores that differ by no more than this are near each other, as in the paper."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_WIDTH = 0.05
_BINS = 20
_NOISE = 1e-9


class HistogramBin(NamedTuple):
    """How many images differ by `low` to `high`. A border belongs to the bin nearer to 0."""

    low: float
    high: float
    images: int


class ScorePair(NamedTuple):
    """The scores of one image by a judge and by raters (None: no score), and its item."""

    judge: float | None
    human: float | None
    item: Hashable


class ScoreGap(NamedTuple):
    """The gap between the scores of a judge and of raters.

    Attributes:
        n: how many images have both scores.
        left_out: how many have only one, or none.
        judge, human: the mean scores of these images; None if there are none.
        mean: the mean difference, judge minus human.
        interval: its normal interval, clustered by item; None where the spread is unknown.
        sd: the standard deviation of the differences; None for fewer than two.
        quantiles: of the differences, by share; empty if there are none.
        near: how many differ by no more than 0.125, with its exact interval, clustered by item.
        r: Pearson's correlation of the scores, with its interval over items; of several levels together, it has much of
            how they differ.
        histogram: of the differences, in bins of 0.05, the middle one around 0; the five in the middle are `near`.
    """

    n: int
    left_out: int
    judge: float | None
    human: float | None
    mean: float | None
    interval: Interval | None
    sd: float | None
    quantiles: dict[float, float]
    near: Proportion
    r: Correlation
    histogram: tuple[HistogramBin, ...]


def score_gap(pairs: Sequence[ScorePair], confidence: float = 0.95) -> ScoreGap:
    """Return the gap between the judge scores and human scores of these images."""
    known = [(judge, human, item) for judge, human, item in pairs if judge is not None and human is not None]
    differences = [judge - human for judge, human, _ in known]
    items = [item for *_, item in known]
    n = len(known)
    mean = fsum(differences) / n if n else None
    near = consistency(
        [(abs(difference) <= NEAR + _NOISE, True) for difference in differences], items=items, confidence=confidence
    )
    return ScoreGap(
        n,
        len(pairs) - n,
        fsum(judge for judge, *_ in known) / n if n else None,
        fsum(human for _, human, _ in known) / n if n else None,
        mean,
        mean_interval(differences, confidence, items=items),
        None if mean is None or n < 2 else sqrt(fsum((each - mean) ** 2 for each in differences) / (n - 1)),
        _quantiles(differences),
        Proportion(near.equal, near.n, near.value, near.interval),
        pearson([(judge, human) for judge, human, _ in known], confidence, items=items),
        _histogram(differences),
    )


def _quantiles(differences: Sequence[float]) -> dict[float, float]:
    if not differences:
        return {}
    import numpy as np

    return {share: float(value) for share, value in zip(QUANTILES, np.quantile(differences, QUANTILES), strict=True)}


def _histogram(differences: Sequence[float]) -> tuple[HistogramBin, ...]:
    counts = Counter(map(_bin, differences))

    def edge(halves: int) -> float:
        return max(-1.0, min(1.0, round(halves * _WIDTH / 2, 3)))

    return tuple(
        HistogramBin(edge(2 * number - 1), edge(2 * number + 1), counts[number]) for number in range(-_BINS, _BINS + 1)
    )


def _bin(difference: float) -> int:
    steps = max(0, ceil((abs(difference) - _WIDTH / 2 - _NOISE) / _WIDTH))
    return steps if difference > 0 else -steps
