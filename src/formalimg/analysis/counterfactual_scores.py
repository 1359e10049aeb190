"""The scores of CF-World's images as a run has them: whose group they are of, and why one has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from math import ceil, fsum, sqrt
from typing import NamedTuple

from formalimg.analysis.judge_agreement import numbered
from formalimg.errors import FormalimgError
from formalimg.judges import Part, Unscored, Verdict
from formalimg.runs import Judged, RunRecord
from formalimg.stats import Correlation, Interval, ScoreProfile, Share, consistency, mean_interval, pearson, rescored
from formalimg.suites import CounterfactualSpec


class GroupScore(NamedTuple):
    """An image, the group it belongs to, and its score; None if unscored, and then why."""

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    reason: str


def group_scores(run: RunRecord, profile: ScoreProfile = "paper") -> Iterator[GroupScore]:
    """The scores of all planned images of a run, before any gate.

    Args:
        run: a run of CF-World or of one of its probes.
        profile: `paper` for scores as they are stored; `official-code` gives each question its full weight.

    Raises:
        FormalimgError: if the items of the run have no groups, or the judge gave what is no score.
    """
    groups = {name: spec.group for name, spec in counterfactual_specs(run).items()}
    if profile == "paper":
        for outcome in run.outcomes():
            item, level, sample, _, score, reason, _ = outcome
            given = None if score is None else image_score(run, item, score, (), profile)
            yield GroupScore(item, groups[item], level, sample, given, reason)
        return
    for judged in run.judged():
        item, level, sample, _, _, reason, _ = judged.outcome
        yield GroupScore(item, groups[item], level, sample, score_of_verdict(run, judged, profile), reason)


def counterfactual_specs(run: RunRecord) -> dict[str, CounterfactualSpec]:
    """What the items of a run ask for, by id.

    Raises:
        FormalimgError: if the run is of another benchmark.
    """
    found = {item.id: item.spec for item in run.suite_items() if isinstance(item.spec, CounterfactualSpec)}
    if len(found) < len(run.items):
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name runs of cf-world or of its probes")
    return found


def score_of_verdict(run: RunRecord, judged: Judged, profile: ScoreProfile) -> float | None:
    """The score of an image of a run; None if unscored.

    Raises:
        FormalimgError: as `image_score` does.
    """
    verdict = judged.verdict
    if isinstance(verdict, Unscored):
        return None
    return image_score(run, judged.outcome.item, verdict.score, verdict.parts, profile)


def image_score(run: RunRecord, item: str, score: float, parts: Sequence[Part], profile: ScoreProfile) -> float:
    """The score of an image of CF-World, by its score as it is stored and by the questions that it is made of.

    Raises:
        FormalimgError: if the judge gave what is no score.
    """
    wrong = next((given for given in (*(part.score for part in parts), score) if not 0 <= given <= 1), None)
    if wrong is not None:
        who = run.manifest.judge.name if run.manifest.judge else "the judge"
        raise FormalimgError(
            f"{who} gave item {item} of {run.folder} the score {wrong:g}: scores are from 0 to 1; mend the judge, give "
            "it a new version in its settings, and let it judge again"
        )
    return rescored(score, [(part.kind, part.weight, part.score) for part in parts], profile)


def scores_by_question(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, float]:
    """What the judge gave for each question, by number. An image that fails as a whole fails each of them."""
    if isinstance(verdict, Unscored):
        return {}
    asked = dict(enumerate(numbered(question.question for question in spec.questions), 1))
    if not verdict.parts:
        return dict.fromkeys(asked, verdict.score)
    by_words = dict(zip(numbered(part.name for part in verdict.parts), verdict.parts, strict=True))
    return {number: by_words[question].score for number, question in asked.items() if question in by_words}


NEAR = 0.125
"""The paper calls scores near each other that differ by no more than this."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_WIDTH = 0.05
_BINS = 20
_NOISE = 1e-9


class Bin(NamedTuple):
    """How many images differ by `low` to `high`. What lies on a border belongs to the bin that is nearer to 0."""

    low: float
    high: float
    images: int


class ScorePair(NamedTuple):
    """The scores of one image by a judge and by people (None: no score), and the item that it is an image of."""

    judge: float | None
    people: float | None
    item: Hashable


class ScoreGap(NamedTuple):
    """How much higher a judge scores than people do.

    Attributes:
        n: how many images have both scores.
        left_out: how many have only one, or none.
        judge, people: the mean scores of these images; None if there are none.
        mean: the mean difference, judge minus people.
        interval: its normal interval, clustered by item; None where the spread cannot be told.
        sd: the standard deviation of the differences; None for fewer than two.
        quantiles: of the differences, by share; empty if there are none.
        near: how many differ by no more than 0.125, with its exact interval, clustered by item.
        r: Pearson's correlation of the scores.
        histogram: of the differences, in bins of 0.05, the middle one around 0; the five in the middle are `near`.
    """

    n: int
    left_out: int
    judge: float | None
    people: float | None
    mean: float | None
    interval: Interval | None
    sd: float | None
    quantiles: dict[float, float]
    near: Share
    r: Correlation
    histogram: tuple[Bin, ...]


def score_gap(pairs: Sequence[ScorePair], confidence: float = 0.95) -> ScoreGap:
    """How far the scores of these images lie apart."""
    known = [(judge, people, item) for judge, people, item in pairs if judge is not None and people is not None]
    differences = [judge - people for judge, people, _ in known]
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
        fsum(people for _, people, _ in known) / n if n else None,
        mean,
        mean_interval(differences, confidence, items=items),
        None if mean is None or n < 2 else sqrt(fsum((each - mean) ** 2 for each in differences) / (n - 1)),
        _quantiles(differences),
        Share(near.equal, near.n, near.value, near.interval),
        pearson([(judge, people) for judge, people, _ in known], confidence),
        _histogram(differences),
    )


def _quantiles(differences: Sequence[float]) -> dict[float, float]:
    if not differences:
        return {}
    import numpy as np

    return {share: float(value) for share, value in zip(QUANTILES, np.quantile(differences, QUANTILES), strict=True)}


def _histogram(differences: Sequence[float]) -> tuple[Bin, ...]:
    counts = Counter(map(_bin, differences))

    def edge(halves: int) -> float:
        return max(-1.0, min(1.0, round(halves * _WIDTH / 2, 3)))

    return tuple(Bin(edge(2 * number - 1), edge(2 * number + 1), counts[number]) for number in range(-_BINS, _BINS + 1))


def _bin(difference: float) -> int:
    steps = max(0, ceil((abs(difference) - _WIDTH / 2 - _NOISE) / _WIDTH))
    return steps if difference > 0 else -steps
