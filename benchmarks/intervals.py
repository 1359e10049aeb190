"""How often the intervals of `formalimg.stats` hold the truth, in simulated studies. Run by itself: it takes minutes.

One line for each function: the share of simulated studies whose 95 % interval holds the true value, for few and many
items (n) and for rare, even and frequent passes (p). `–` stands where no study had an interval; a figure in brackets is
the share of studies that had one, where that is not all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.benchmarks.cfworld.scores import summarize_scores
from formalimg.stats.agreement import consistency, consistency_matrix, mean_consistency
from formalimg.stats.correlation import pearson, within_level_correlation
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Interval, Observation, ScoreObservation
from formalimg.stats.precision_recall import DetectionCounts, classification, detection
from formalimg.stats.ranking import kendall, rank_agreement, spearman
from formalimg.stats.reliability import cronbach_alpha, krippendorff_alpha
from formalimg.stats.summary import summarize

ITEMS = (20, 200)
RATES = (0.02, 0.5, 0.98)
LEAST = 0.93
TRUTH_ITEMS = 20_000
"""Where the truth has no formula, it is the value in a study of so many items."""

RATERS = 4
SAMPLES = 3
LEVELS = 5
RESAMPLES = 400

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Found: TypeAlias = dict[str, tuple[float | None, Interval | None]]
"""Value and interval of each figure of a study."""


class Study(NamedTuple):
    """A kind of study, and how to simulate all its figures for so many items and such a rate of passes."""

    name: str
    simulate: Callable[[int, float, np.random.Generator], Found]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=400, help="how many studies of each kind (default 400)")
    options.add_argument("--only", default="", help="only studies whose name contains this")
    given = options.parse_args()
    print(f"share of {given.trials} simulated studies whose 95 % interval holds the truth; * below {LEAST}")
    heads = [f"n={n} p={p:g}" for n in ITEMS for p in RATES]
    print(f"{'':44}" + "".join(f"{head:>16}" for head in heads))
    for study in STUDIES:
        if given.only in study.name:
            columns = [covered(study, n, p, given.trials) for n in ITEMS for p in RATES]
            for figure in columns[0]:
                print(f"{study.name + ': ' + figure:44}" + "".join(f"{column[figure]:>16}" for column in columns))


def covered(study: Study, n: int, p: float, trials: int) -> dict[str, str]:
    """Return how often each figure's interval holds the truth."""
    truth = study.simulate(TRUTH_ITEMS, p, np.random.default_rng(0))
    chance = np.random.default_rng((n, round(100 * p)))
    held, known = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for _ in range(trials):
        for figure, (_, interval) in study.simulate(n, p, chance).items():
            target = truth[figure][0]
            if interval is not None and target is not None:
                known[figure] += 1
                held[figure] += interval.low - 1e-9 <= target <= interval.high + 1e-9
    return {figure: _share(held[figure], known[figure], trials) for figure in truth}


def _share(held: int, known: int, trials: int) -> str:
    if not known:
        return "–"
    some = "" if known == trials else f" ({known / trials:.2f})"
    return f"{held / known:.3f}{'*' if held / known < LEAST else ''}{some}"


def _judged(n: int, p: float, chance: np.random.Generator) -> tuple[Bools, Bools]:
    """Return truth and a judge of sensitivity 0.9 and specificity 0.8."""
    truth = chance.random(n) < p
    return truth, np.where(truth, chance.random(n) < 0.9, chance.random(n) < 0.2)


def rates(n: int, p: float, chance: np.random.Generator) -> Found:
    passed = int(chance.binomial(n, p))
    if n == TRUTH_ITEMS:
        return dict.fromkeys(("Clopper-Pearson", "level, 3 images per item", "band of 5 levels"), (p, None))
    alike = chance.random(n) < p
    level = [
        Observation(str(item), 1, bool(alike[item] if chance.random() < 0.5 else chance.random() < p))
        for item in range(n)
        for _ in range(SAMPLES)
    ]
    band = [Observation(str(item), item % LEVELS + 1, bool(chance.random() < p)) for item in range(n)]
    summary = summarize(band, bands={"all": range(1, LEVELS + 1)}, epsilon=None, resamples=RESAMPLES)
    of_level = summarize(level, bands={}, epsilon=None).levels[1]
    return {
        "Clopper-Pearson": (p, clopper_pearson(passed, n)),
        "level, 3 images per item": (p, of_level.interval),
        "band of 5 levels": (p, summary.bands["all"].interval),
    }


def judges(n: int, p: float, chance: np.random.Generator) -> Found:
    truth, judge = _judged(n, p, chance)
    pairs = list(zip(truth.tolist(), judge.tolist(), strict=True))
    agreement = consistency(pairs)
    found = classification(pairs, resamples=RESAMPLES)
    within = within_level_correlation([(float(one), float(other)) for one, other in pairs], [0] * n)
    return {
        "agreement": (agreement.value, agreement.interval),
        "kappa": (agreement.kappa, agreement.kappa_interval),
        "accuracy": _both(found.accuracy),
        "precision": _both(found.precision),
        "sensitivity": _both(found.recall),
        "specificity": _both(found.specificity),
        "F1": _both(found.f1),
        "balanced accuracy": _both(found.balanced_accuracy),
        "correlation of yes and no": _both(within),
    }


def clustered_judges(n: int, p: float, chance: np.random.Generator) -> Found:
    """Three images per item, of which half repeat what the item does; levels that differ around p."""
    shift = np.linspace(-0.6, 0.6, LEVELS)
    levels = np.arange(n) % LEVELS
    odds = np.log(p / (1 - p)) + shift[levels]
    own = 1 / (1 + np.exp(-odds))
    common, luck = chance.random(n) < own, chance.random((n, 2))
    pairs, items, where = [], [], []
    for _ in range(SAMPLES):
        again = chance.random(n) < 0.5
        truth = np.where(again, common, chance.random(n) < own)
        draws = np.where(again, luck[:, 0], chance.random(n))
        judge = np.where(truth, draws < 0.9, draws < 0.2)
        pairs += list(zip(truth.tolist(), judge.tolist(), strict=True))
        items += list(range(n))
        where += levels.tolist()
    agreement = consistency(pairs, items=items)
    found = classification(pairs, items=items, resamples=RESAMPLES)
    within = within_level_correlation([(float(one), float(other)) for one, other in pairs], where, items=items)
    return {
        "agreement": (agreement.value, agreement.interval),
        "kappa": (agreement.kappa, agreement.kappa_interval),
        "sensitivity": _both(found.recall),
        "F1": _both(found.f1),
        "balanced accuracy": _both(found.balanced_accuracy),
        "within levels": _both(within),
    }


def raters(n: int, p: float, chance: np.random.Generator) -> Found:
    truth = chance.random(n) < p
    answers = np.where(chance.random((RATERS, n)) < 0.9, truth, ~truth)
    if n == TRUTH_ITEMS:
        by_chance = answers.mean() ** 2 + (1 - answers.mean()) ** 2
        same = 0.9**2 + 0.1**2
        return {
            "mean agreement of pairs": (same, None),
            "Krippendorff's alpha, nominal": (1 - (1 - same) / (1 - by_chance), None),
            "Cronbach's alpha": (_cronbach(answers.astype(float)), None),
        }
    own = {str(rater): dict(enumerate(row.tolist())) for rater, row in enumerate(answers)}
    mean = mean_consistency(consistency_matrix(own), own, answers=own)
    alpha = krippendorff_alpha(answers.T.tolist(), resamples=RESAMPLES)
    cronbach = cronbach_alpha(answers.T.astype(float).tolist(), resamples=RESAMPLES)
    return {
        "mean agreement of pairs": _both(mean),
        "Krippendorff's alpha, nominal": _both(alpha),
        "Cronbach's alpha": _both(cronbach),
    }


def _cronbach(ratings: Floats) -> float:
    return float(RATERS / (RATERS - 1) * (1 - ratings.var(axis=1).sum() / ratings.sum(axis=0).var()))


def _scores(n: int, p: float, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Return human and judge scores in eighths, crowded at 0 or 1 where p is near it."""
    quality = np.log(p / (1 - p)) / 2 + chance.normal(size=n)
    human, judge = (1 / (1 + np.exp(-quality - 0.7 * chance.normal(size=n))) for _ in range(2))
    return np.round(8 * human) / 8, np.round(8 * judge) / 8


def scores(n: int, p: float, chance: np.random.Generator) -> Found:
    human, judge = _scores(n, p, chance)
    pairs = list(zip(human.tolist(), judge.tolist(), strict=True))
    if n == TRUTH_ITEMS:
        few = pairs[:5000]
        rho, tau = spearman(few).value, kendall(few).value
        r = pearson(pairs).value
        return {
            "Pearson, independent": (r, None),
            "Pearson, items": (r, None),
            "Spearman, independent": (rho, None),
            "Spearman, items": (rho, None),
            "Kendall's tau-b": (tau, None),
            "Krippendorff's alpha, interval": _alpha_truth(human, judge),
        }
    return {
        "Pearson, independent": _both(pearson(pairs)),
        "Pearson, items": _both(pearson(pairs, items=range(n))),
        "Spearman, independent": _both(spearman(pairs)),
        "Spearman, items": _both(spearman(pairs, items=range(n))),
        "Kendall's tau-b": _both(kendall(pairs)),
        "Krippendorff's alpha, interval": _both(krippendorff_alpha(pairs, "interval", resamples=RESAMPLES)),
    }


def _alpha_truth(human: Floats, judge: Floats) -> tuple[float, None]:
    everything = np.concatenate([human, judge])
    return float(1 - ((human - judge) ** 2).mean() / (2 * everything.var())), None


def detections(n: int, p: float, chance: np.random.Generator) -> Found:
    """Images of one to six objects; in half of them all objects are found or missed together."""
    objects = chance.integers(1, 7, size=n)
    together = chance.random(n) < 0.5
    matched = np.where(together, objects * (chance.random(n) < p), chance.binomial(objects, p))
    found = matched + chance.binomial(objects, 0.1)
    result = detection(map(DetectionCounts, matched.tolist(), found.tolist(), objects.tolist()), resamples=RESAMPLES)
    return {"precision": _both(result.precision), "recall": _both(result.recall), "F1": _both(result.f1)}


def groups(n: int, p: float, chance: np.random.Generator) -> Found:
    """CF-World: groups whose levels go together."""
    first = 1 / (1 + np.exp(-np.log(p / (1 - p)) / 2 - chance.normal(size=n)))
    second = first * chance.beta(4, 2, size=n)
    seen = [
        ScoreObservation(str(group), level, 0, float(values[group]))
        for level, values in ((1, np.round(8 * first) / 8), (2, np.round(8 * second) / 8))
        for group in range(min(n, 20_000))
    ]
    summary = summarize_scores(seen, threshold=None, resamples=RESAMPLES if n < TRUTH_ITEMS else 40)
    return {"mean score": _both(summary.levels[1]), "PRR": _both(summary.prr)}


def models(n: int, p: float, chance: np.random.Generator) -> Found:
    """Models ranked at five levels by people and judge; there are a fifth as many models as items elsewhere."""
    count = n if n == TRUTH_ITEMS else max(4, n // 5)
    quality = chance.normal(size=count)
    by_level = {}
    for level in range(LEVELS):
        human, judge = (quality + (0.3 + 1.5 * (1 - p)) * chance.normal(size=count) for _ in range(2))
        chosen = slice(5000 if n == TRUTH_ITEMS else None)
        by_level[level] = list(zip(human[chosen].tolist(), judge[chosen].tolist(), strict=True))
    found = rank_agreement(by_level)
    one = found.by_level[0]
    return {"rank correlation, one level": _both(one), "mean of levels": (found.mean, found.interval)}


class _Figure(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def interval(self) -> Interval | None: ...


def _both(found: _Figure) -> tuple[float | None, Interval | None]:
    return found.value, found.interval


STUDIES = (
    Study("rates", rates),
    Study("judge", judges),
    Study("judge, 3 images per item", clustered_judges),
    Study("raters", raters),
    Study("scores", scores),
    Study("boxes", detections),
    Study("CF-World", groups),
    Study("models", models),
)

if __name__ == "__main__":
    main()
