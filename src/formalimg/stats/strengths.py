"""Bradley–Terry strengths from pairwise comparisons, with ties by Davidson's model and intervals over items."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from math import comb, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.comparison import RankRange, count_ranks
from formalimg.stats.intervals import student_quantile, validate_confidence
from formalimg.stats.observations import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

PRIOR = 0.5  # Weight of an imagined comparison of each model with an average one: a model that always wins stays finite
_MAX_STEPS = 200
_TOLERANCE = 1e-10
_MIN_CLUSTERS = 2


class PairOutcome(NamedTuple):
    """The outcome of one comparison of two models."""

    first: str
    second: str
    result: Literal[1, 0, -1]  # 1 if the first is better, −1 if the second is, 0 for a tie
    item: Hashable = None  # what it belongs to: comparisons of one item are not independent. None if it is of its own


class ModelStrength(NamedTuple):
    """The strength of one model."""

    model: str  # its name
    strength: float  # on the scale of log odds, relative to the mean of all models
    interval: Interval | None  # of the strength; None if there are fewer than two items
    win_rate: float  # the probability to be better than another of these models, on average, ties counted as half
    ranks: RankRange  # the ranks that it may have: more than one where it is tied
    wins: int  # its comparisons
    ties: int
    losses: int


class BradleyTerry(NamedTuple):
    """The strengths of models."""

    models: tuple[ModelStrength, ...]  # the strongest first
    tie: float  # the parameter of ties: their odds between two equal models, relative to a win of one; 0 without ties
    n: int  # number of comparisons
    items: int  # number of items that they belong to
    confidence: float  # of all intervals


def bradley_terry(
    outcomes: Sequence[PairOutcome], confidence: float = 0.95, *, prior: float = PRIOR
) -> BradleyTerry | None:
    """Estimate the strengths of models from pairwise comparisons, or return None if there are none.

    A model of strength a beats one of strength b with odds exp(a − b). Between them stand ties, whose odds are
    ν · exp(−|a − b| / 2) relative to a win of the stronger (Davidson's model). Strengths are of maximum likelihood,
    but for the weak `prior`. Intervals and ranks allow for items: comparisons of one item by several raters, or of
    several models, go together (cluster-robust variance, Student's quantile). A rank is shared unless the difference
    is significant among all pairs (Bonferroni).

    """
    validate_confidence(confidence)
    if not outcomes:
        return None
    names = sorted({name for outcome in outcomes for name in outcome[:2]})
    _require_connected(outcomes, names)
    import numpy as np  # here, so that commands without numbers start faster

    index = {name: number for number, name in enumerate(names)}
    first = np.array([index[outcome.first] for outcome in outcomes])
    second = np.array([index[outcome.second] for outcome in outcomes])
    result = np.array([outcome.result for outcome in outcomes], dtype=float)
    design = np.zeros((len(outcomes), len(names)))
    design[np.arange(len(outcomes)), first] = 1
    design[np.arange(len(outcomes)), second] = -1
    has_ties = bool((result == 0).any())
    fitted = _fit_strengths(design, result, prior, has_ties=has_ties)
    strengths, log_tie = fitted[:-1] - fitted[:-1].mean(), fitted[-1]
    number: dict[Hashable, int] = {}
    keys = [("alone", n) if outcome.item is None else ("item", outcome.item) for n, outcome in enumerate(outcomes)]
    clusters = np.array([number.setdefault(key, len(number)) for key in keys])
    covariance = _cluster_covariance(design, result, fitted, clusters, prior, has_ties=has_ties)
    tie = float(np.exp(log_tie)) if has_ties else 0.0
    count = int(clusters.max()) + 1
    reach = student_quantile(confidence, count - 1) if count >= _MIN_CLUSTERS else None
    ranks = _rank_ranges(strengths, covariance, confidence, count)
    models = []
    for name, at in index.items():
        results: list[int] = [
            outcome.result if outcome.first == name else -outcome.result for outcome in outcomes if name in outcome[:2]
        ]
        spread = None if reach is None else reach * sqrt(max(covariance[at, at], 0.0))
        value = float(strengths[at])
        interval = None if spread is None else Interval(value - spread, value + spread)
        apart = np.delete(strengths[at] - strengths, at)
        win, drawn, _ = _outcome_probabilities(apart, float(log_tie), has_ties=has_ties)
        counts = map(results.count, (1, 0, -1))
        models.append(ModelStrength(name, value, interval, float((win + drawn / 2).mean()), ranks[at], *counts))
    models.sort(key=lambda rating: (-rating.strength, rating.model))
    return BradleyTerry(tuple(models), tie, len(outcomes), count, confidence)


def _require_connected(outcomes: Sequence[PairOutcome], names: Sequence[str]) -> None:
    group = {name: {name} for name in names}
    for outcome in outcomes:
        if outcome.first == outcome.second:
            raise FormalimgError(f"{outcome.first} is compared with itself: compare two models")
        if group[outcome.first] is not group[outcome.second]:
            joint = group[outcome.first] | group[outcome.second]
            group |= dict.fromkeys(joint, joint)
    if len(group[names[0]]) < len(names):
        unreached = next(name for name in names if name not in group[names[0]])
        raise FormalimgError(
            f"the comparisons do not connect {names[0]} and {unreached}: compare them, or both with a third model"
        )


def _outcome_probabilities(apart: Floats, log_tie: float, *, has_ties: bool) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities of a win, a tie and a loss, given the differences in strength."""
    import numpy as np

    logs = np.stack([apart / 2, np.full_like(apart, log_tie if has_ties else -np.inf), -apart / 2])
    weights = np.exp(logs - logs.max(axis=0))
    win, tie, loss = weights / weights.sum(axis=0)
    return win, tie, loss


def _with_prior(design: Floats, result: Floats, prior: float, *, has_ties: bool) -> tuple[Floats, Floats, Floats]:
    """Append the pseudo-comparisons of the prior, and return the weight of each comparison."""
    import numpy as np

    results = [1.0, -1.0, 0.0] if has_ties else [1.0, -1.0]
    models = design.shape[1]
    rows = np.concatenate([design, *[np.eye(models)] * len(results)])
    outcomes = np.concatenate([result, np.repeat(results, models)])
    weights = np.concatenate([np.ones(len(result)), np.full(len(results) * models, prior / len(results))])
    return rows, outcomes, weights


def _log_likelihood_gradients(rows: Floats, outcomes: Floats, at: Floats, *, has_ties: bool) -> tuple[Floats, Floats]:
    """Return the log-likelihood gradient of each comparison, and the terms of its negative Hessian."""
    import numpy as np

    win, tie, loss = _outcome_probabilities(rows @ at[:-1], float(at[-1]), has_ties=has_ties)
    by_model = rows * ((outcomes - (win - loss)) / 2)[:, None]
    by_tie = (outcomes == 0) - tie if has_ties else np.zeros(len(outcomes))
    variances = np.stack([(win + loss - (win - loss) ** 2) / 4, -tie * (win - loss) / 2, tie * (1 - tie)])
    return np.column_stack([by_model, by_tie]), variances


def _fisher_information(rows: Floats, variances: Floats, weights: Floats) -> Floats:
    import numpy as np

    strength_product, tie_product, ties = variances * weights
    corner = rows.T @ tie_product
    return np.block(
        [[rows.T @ (rows * strength_product[:, None]), corner[:, None]], [corner[None, :], np.array([[ties.sum()]])]]
    )


def _log_likelihood(rows: Floats, outcomes: Floats, weights: Floats, at: Floats, *, has_ties: bool) -> float:
    import numpy as np

    win, tie, loss = _outcome_probabilities(rows @ at[:-1], float(at[-1]), has_ties=has_ties)
    chance = np.select([outcomes > 0, outcomes < 0], [win, loss], tie)
    return float(weights @ np.log(np.maximum(chance, 1e-300)))


def _fit_strengths(design: Floats, result: Floats, prior: float, *, has_ties: bool) -> Floats:
    """Fit strengths and the log tie parameter by Newton's method with step halving."""
    import numpy as np

    rows, outcomes, weights = _with_prior(design, result, prior, has_ties=has_ties)
    at = np.zeros(design.shape[1] + 1)
    best = _log_likelihood(rows, outcomes, weights, at, has_ties=has_ties)
    for _ in range(_MAX_STEPS):
        gradients, variances = _log_likelihood_gradients(rows, outcomes, at, has_ties=has_ties)
        step = np.linalg.pinv(_fisher_information(rows, variances, weights), hermitian=True) @ (weights @ gradients)
        while (reached := _log_likelihood(rows, outcomes, weights, at + step, has_ties=has_ties)) < best - _TOLERANCE:
            step /= 2
        at, best = at + step, max(best, reached)
        if np.abs(step).max() < _TOLERANCE:
            break
    return at


def _cluster_covariance(
    design: Floats, result: Floats, fitted: Floats, clusters: NDArray[np.int64], prior: float, *, has_ties: bool
) -> Floats:
    """Return the covariance of the centred strengths, clustered by item."""
    import numpy as np

    rows, outcomes, weights = _with_prior(design, result, prior, has_ties=has_ties)
    gradients, variances = _log_likelihood_gradients(rows, outcomes, fitted, has_ties=has_ties)
    inverse = np.linalg.pinv(_fisher_information(rows, variances, weights), hermitian=True)
    count = int(clusters.max()) + 1
    sums = np.zeros((count, gradients.shape[1]))
    np.add.at(sums, clusters, gradients[: len(clusters)])
    covariance = inverse @ (sums.T @ sums) @ inverse * (count / max(count - 1, 1))
    models = design.shape[1]
    centre = np.eye(models) - 1 / models
    centred: Floats = centre @ covariance[:models, :models] @ centre
    return centred


def _rank_ranges(strengths: Floats, covariance: Floats, confidence: float, clusters: int) -> tuple[RankRange, ...]:
    models = len(strengths)
    separated = []
    if clusters >= _MIN_CLUSTERS:
        reach = student_quantile(1 - (1 - confidence) / comb(models, 2), clusters - 1)
        for first, second in combinations(range(models), 2):
            apart = float(strengths[first] - strengths[second])
            variance = float(covariance[first, first] + covariance[second, second] - 2 * covariance[first, second])
            if abs(apart) > reach * sqrt(max(variance, 0.0)) + _TOLERANCE:
                separated.append((first, second) if apart > 0 else (second, first))
    return count_ranks(models, separated)
