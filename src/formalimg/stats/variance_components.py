"""Variance components of answers about images, attributed to prompts, images and raters.

An answer is yes (1) or no (0): a judge's verdict, or whether a rater accepts the image. Its variance is that of the
prompt, of the prompt with this model, of the image among those of the same prompt and model, of the rater, and the
rest. Estimates are by the method of moments (analysis of variance of several models on the same prompts), so that items
may have different numbers of images and ratings.

The majority of several raters (`majority_labels`) removes what raters disagree about, but not as the mean of their
answers does: it rounds an image that four of ten accept to 0. So it is computed, by a threshold on a normal latent
value: the sum of effects of prompt, prompt x model, image, and of the rating. Covariances of functions of two normal
values with correlation r are a power series of r, whose coefficients are the squares of Hermite coefficients (Mehler's
formula).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import comb, fsum, sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_MIN_ITEMS = 10  # Items that two runs must share: the spread of fewer says nothing


class BinaryAnswer(NamedTuple):
    """A binary answer about one image, with its rater or an empty string for a judge."""

    rater: str
    value: float


ItemAnswers: TypeAlias = Mapping[str, Sequence[Sequence[BinaryAnswer]]]
"""The answers about one model: by item, for each of its images."""


class Components(NamedTuple):
    """The variance components of one answer about one image."""

    prompt: float  # what is hard for all models. It cancels in the difference of two models
    prompt_model: float  # what is hard for one of the models
    image: float  # images of one prompt by one model
    rater: float = 0.0  # raters who accept more than others; 0 for a judge
    rest: float = 0.0  # raters who disagree about this image; 0 for a judge

    def scaled(self, factor: float) -> Components:
        """Return all variances multiplied by a factor."""
        return Components(*(factor * part for part in self))

    def difference_variance(self, images: float = 1, raters: float = 1) -> float:
        """Return the variance of the difference between two models on one item."""
        return 2 * (self.model_variance(images) + (self.rater + self.rest) / (images * raters))

    def model_variance(self, images: float = 1) -> float:
        """Return the variance of a single model's mean answer between items, excluding prompt and rater variance."""
        return self.prompt_model + self.image / images


class AnswerSpread(NamedTuple):
    """The variance components and correlation that determine the precision of a comparison."""

    people: Components  # components of one rating
    judge: Components  # components of one verdict
    correlation: float  # of the judge's difference on an item with that of people, if there were any number of raters

    def covariance(self, images: float = 1) -> float:
        """Return the covariance between the judge and human differences on an item."""
        return 2 * self.correlation * sqrt(self.people.model_variance(images) * self.judge.model_variance(images))

    def observed_correlation(self, images: float = 1, raters: float = 1) -> float:
        """Return the correlation of the judge's difference with that of a finite number of raters per image."""
        variance = self.people.difference_variance(images, raters) * self.judge.difference_variance(images)
        return self.covariance(images) / sqrt(variance) if variance else 0.0


DEFAULT_SPREAD = AnswerSpread(
    people=Components(0.31, 0.065, 0.195, 0.01, 0.42).scaled(0.25),
    judge=Components(0.35, 0.16, 0.49).scaled(0.25),
    correlation=0.32,
)
"""Measured on public data, as shares of the variance at a rate of 50 %, where it is largest.

TIFA160 as released with DSG (160 prompts, one image by each of 5 models): five raters, who accept an image with 4 of 5
points or more, and the verdicts "yes to all questions" of two VQA models, whose numbers are averaged. How prompt x
model and image share what is between them comes from 100 prompts with four images by each of two models and five raters
(released under MIT with a benchmark of object prompts): .71 to .82 is the image's. `benchmarks/plan_power.py` prints
all of them.
"""


def estimate_components(models: Sequence[ItemAnswers], prior: Components) -> Components:
    """Estimate the variance components of answers about models on the same items."""
    cells = _cells_with_answers(models)
    all_cells = [cell for row in cells for cell in row]
    within = _mean_variance([answer.value for answer in image] for cell in all_cells for image in cell)
    between = _mean_variance([_image_mean(image) for image in cell] for cell in all_cells)
    rows = [[_cell_mean(cell) for cell in row] for row in cells]
    pairs = list(combinations(rows, 2))
    single = _mean_of(_variance_of([x - y for x, y in zip(*pair, strict=True)]) for pair in pairs) / 2
    prompt = _mean_of((_variance_of(x) + _variance_of(y)) / 2 for x, y in pairs) - single

    noise = prior.rater + prior.rest
    if within is not None:
        rest = within
    elif between is not None:
        rest = between * noise / (noise + prior.image)
    else:
        rest = single * noise / (noise + prior.model_variance())
    of_cell = rest * _mean_of(_mean_of(1 / len(image) for image in cell) / len(cell) for cell in all_cells)
    if between is not None:
        image = max(0.0, between - rest * _mean_of(1 / len(image) for cell in all_cells for image in cell))
    else:
        image = max(0.0, single - of_cell) * prior.image / prior.model_variance()
    prompt_model = max(0.0, single - of_cell - image * _mean_of(1 / len(cell) for cell in all_cells))
    rater = min(rest, max(0.0, _rater_variance(models)))
    return Components(max(0.0, prompt), prompt_model, image, rater, rest - rater)


def estimate_correlation(judge: Sequence[ItemAnswers], people: Sequence[ItemAnswers], spread: AnswerSpread) -> float:
    """Estimate the correlation between judge and human differences in the limit of infinitely many raters."""
    components = [
        {
            item: [(verdict, image) for verdict, image in zip(verdicts[item], images, strict=True) if verdict and image]
            for item, images in ratings.items()
        }
        for verdicts, ratings in zip(judge, people, strict=True)
    ]
    first, second = (
        _cells_with_answers(
            [{item: [pair[side] for pair in cell] for item, cell in model.items()} for model in components]
        )
        for side in (0, 1)
    )
    differences = [[_cell_mean(x) - _cell_mean(y) for x, y in zip(*cells, strict=True)] for cells in (first, second)]
    together = [x + y for x, y in zip(*differences, strict=True)]
    covariance = (_variance_of(together) - sum(map(_variance_of, differences))) / 2
    images = 1 / _mean_of(1 / len(cell) for row in first for cell in row)
    possible = spread._replace(correlation=1.0).covariance(images)
    return max(0.0, min(1.0, covariance / possible)) if possible else 0.0


_Cell: TypeAlias = Sequence[Sequence[BinaryAnswer]]


def _cells_with_answers(models: Sequence[ItemAnswers]) -> list[list[_Cell]]:
    answered = [
        {item: answers for item, images in model.items() if (answers := [image for image in images if image])}
        for model in models
    ]
    items = sorted(set.intersection(*map(set, answered)))
    if len(items) < _MIN_ITEMS:
        raise FormalimgError(
            f"the runs have answers on {len(items)} items in common: at least {_MIN_ITEMS} are needed for a pilot"
        )
    return [[model[item] for item in items] for model in answered]


def _image_mean(image: Sequence[BinaryAnswer]) -> float:
    return _mean_of(answer.value for answer in image)


def _cell_mean(cell: _Cell) -> float:
    return _mean_of(map(_image_mean, cell))


def _mean_of(values: Iterable[float]) -> float:
    numbers = list(values)
    return fsum(numbers) / len(numbers)


def _variance_of(values: Sequence[float]) -> float:
    mean = _mean_of(values)
    return fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _mean_variance(groups: Iterable[Sequence[float]]) -> float | None:
    variances = [_variance_of(group) for group in groups if len(group) > 1]
    return _mean_of(variances) if variances else None


def _rater_variance(models: Sequence[ItemAnswers]) -> float:
    """Return the rater variance, estimated from the products of each rater's deviations on different items."""
    by_rater: dict[str, dict[str, list[float]]] = {}
    for model in models:
        answers = [(item, answer) for item, images in model.items() for image in images for answer in image]
        mean = _mean_of(answer.value for _, answer in answers)
        for item, answer in answers:
            if answer.rater:
                by_rater.setdefault(answer.rater, {}).setdefault(item, []).append(answer.value - mean)
    products = count = 0.0
    for items in by_rater.values():
        sums, sizes = [fsum(values) for values in items.values()], [len(values) for values in items.values()]
        products += fsum(sums) ** 2 - fsum(term * term for term in sums)
        count += sum(sizes) ** 2 - sum(size * size for size in sizes)
    return products / count if count else 0.0


_TERMS = 80  # Terms of the series
_GRID = (-9.0, 9.0, 6_001)  # Where functions of a normal value are integrated
_STEPS = 50  # Halvings by which a latent correlation is found


class MajorityLabels(NamedTuple):
    """Image labels determined by a majority of raters."""

    components: Components  # of one label
    gain: float  # how many points two models are apart by these labels, for each point by one rater

    @property
    def relative_variance(self) -> float:
        """The variance of an item's difference, scaled to the difference measured by a single rater."""
        return self.components.difference_variance() / self.gain**2


@cache
def majority_labels(rating: Components, raters: int) -> MajorityLabels:
    """Return the components of a majority label, with raters resampled for every image."""
    if raters < 1 or raters % 2 == 0:
        raise FormalimgError(f"{raters} raters per image can be divided: use an odd number")
    if raters == 1 or not rating.rater + rating.rest:
        return MajorityLabels(rating, 1.0)
    from statistics import NormalDist  # here, because it takes long to load

    rate = (1 - sqrt(max(0.0, 1 - 4 * sum(rating)))) / 2
    threshold = NormalDist().inv_cdf(max(1e-6, rate))
    of_prompt = _latent_correlation(rating.prompt, threshold)
    of_cell = _latent_correlation(rating.prompt + rating.prompt_model, threshold)
    of_image = _latent_correlation(rating.prompt + rating.model_variance(), threshold)
    labels = _label_chances(threshold, of_image, raters)
    mean, squares = _mean_by_weight(labels), _mean_by_weight(labels**2)
    coefficients = _series_coefficients(labels)
    prompt, cell = (_series_sum(coefficients, part / of_image if of_image else 0.0) for part in (of_prompt, of_cell))
    image = squares - mean**2
    components = Components(prompt, cell - prompt, image - cell, 0.0, mean - squares)
    return MajorityLabels(
        components, _logistic_slope(threshold, of_image, raters) / _logistic_slope(threshold, of_image, 1)
    )


def _latent_correlation(covariance: float, threshold: float) -> float:
    """Return the correlation of two latent normal values that yields a covariance of their binary answers."""
    import numpy as np

    x, _ = _integration_grid()
    coefficients = _series_coefficients((x + threshold > 0).astype(np.float64))
    low, high = 0.0, 0.999
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _series_sum(coefficients, middle) < covariance else (low, middle)
    return low


def _label_chances(threshold: float, of_image: float, raters: int) -> NDArray[np.float64]:
    """Return the probability that most raters accept an image, over a grid of latent values."""
    import numpy as np

    x, weights = _integration_grid()
    below = np.cumsum(weights) - weights / 2  # the normal distribution on the grid
    accepts = np.interp((threshold + sqrt(of_image) * x) / sqrt(1 - of_image), x, below)
    chances = np.zeros_like(accepts)
    for yes in range(raters // 2 + 1, raters + 1):
        chances += comb(raters, yes) * accepts**yes * (1 - accepts) ** (raters - yes)
    return chances


def _logistic_slope(threshold: float, of_image: float, raters: int) -> float:
    """Return the change in the label rate for a small shift of the latent mean."""
    step = 0.01
    above, below = (_mean_by_weight(_label_chances(threshold + sign * step, of_image, raters)) for sign in (1, -1))
    return above - below


def _series_sum(coefficients: NDArray[np.float64], correlation: float) -> float:
    import numpy as np

    return float(np.sum(coefficients[1:] ** 2 * correlation ** np.arange(1, len(coefficients))))


def _series_coefficients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of a function on the grid in normalized Hermite polynomials."""
    import numpy as np

    x, weights = _integration_grid()
    weighted = weights * values
    before, polynomial = np.zeros_like(x), np.ones_like(x)
    coefficients = np.empty(_TERMS)
    for k in range(_TERMS):
        coefficients[k] = weighted @ polynomial
        before, polynomial = polynomial, (x * polynomial - sqrt(k) * before) / sqrt(k + 1)
    return coefficients


def _mean_by_weight(values: NDArray[np.float64]) -> float:
    return float(_integration_grid()[1] @ values)


@cache
def _integration_grid() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return grid points and their standard normal weights."""
    import numpy as np

    x = np.linspace(*_GRID[:2], int(_GRID[2]))
    weights = np.exp(-x * x / 2)
    return x, weights / weights.sum()
