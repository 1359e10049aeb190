"""What the error rates of raters imply: the same study, drawn ten thousand times, with formulas of our own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ERRORS = {"rater-1": 0.02, "rater-2": 0.05, "rater-3": 0.1, "rater-4": 0.15, "rater-5": 0.25}
MODELS = {"oracle": (), "reader": (), "forgetful": ("-M", "memory=4"), "scatter": ()}
YES, NO = 5, 2
"""The points of whoever finds that an image does what its words say, or that it does not."""

DRAWS = 10_000

_Numbers = NDArray[np.float64]


class LoadedImage(NamedTuple):
    """An image of the study: its run, its level, and whether it does what its words say."""

    run: str
    level: int
    passed: bool


def implied_figures(rated: list[LoadedImage]) -> Iterator[tuple[str, _Numbers]]:
    """Each figure in each of many studies with the same images and error rates, by formulas of our own."""
    truth = np.array([it.passed for it in rated])
    chance = np.random.default_rng(5)
    wrong = chance.random((DRAWS, len(rated), len(ERRORS))) < np.array(list(ERRORS.values()))
    yes = truth[None, :, None] ^ wrong
    raters, count = len(ERRORS), yes.sum(axis=2)
    people = 2 * count > raters  # the majority says 4 points or more
    right, agreed = (people & truth).sum(axis=1), (people == truth).sum(axis=1)
    yield "accuracy", agreed / len(rated)
    yield "recall", right / people.sum(axis=1)
    yield "precision", right / truth.sum()
    yield "specificity", (agreed - right) / (~people).sum(axis=1)
    yield "f1", 2 * right / (people.sum(axis=1) + truth.sum())
    shares = yes.mean(axis=1)
    of_raters = (shares * (1 - shares)).sum(axis=1)
    yield "cronbach", raters / (raters - 1) * (1 - of_raters / count.var(axis=1))
    ratings, said = raters * len(rated), count.sum(axis=1)
    seen = (count * (raters - count)).sum(axis=1) / (raters - 1)
    yield "krippendorff", 1 - seen * (ratings - 1) / (said * (ratings - said))
    pairs = []
    for one, other in combinations(range(raters), 2):
        pairs.append((yes[:, :, one] == yes[:, :, other]).mean(axis=1))
        yield f"rater-{one + 1} rater-{other + 1}", pairs[-1]
    yield "people", np.mean(pairs, axis=0)
    for run in MODELS:
        yield f"score of {run}", people[:, [it.run == run for it in rated]].mean(axis=1)
    levels = sorted({it.level for it in rated})
    ranks = np.array([_ranks_alike(rated, people, truth, level) for level in levels])
    yield "rank", np.nanmean(ranks, axis=0)


def _ranks_alike(rated: list[LoadedImage], people: NDArray[np.bool_], truth: NDArray[np.bool_], level: int) -> _Numbers:
    """Spearman's correlation of the runs at a level in each study; nan where one side scores all the same."""
    here = [[it.run == run and it.level == level for it in rated] for run in MODELS]
    by_people = _ranked(np.array([people[:, those].sum(axis=1) for those in here]))
    by_judge = _ranked(np.array([[truth[those].sum()] for those in here]))
    one, other = by_people - by_people.mean(axis=0), by_judge - by_judge.mean(axis=0)
    spread = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
    return np.asarray(np.divide((one * other).sum(axis=0), spread, out=np.full(len(spread), np.nan), where=spread > 0))


def _ranked(scores: NDArray[np.int64]) -> _Numbers:
    """The ranks of the rows in each column; equal scores share the mean of theirs."""
    below = (scores[:, None] > scores[None]).sum(axis=1)
    equal = (scores[:, None] == scores[None]).sum(axis=1)
    return np.asarray(below + (equal + 1) / 2, dtype=np.float64)
