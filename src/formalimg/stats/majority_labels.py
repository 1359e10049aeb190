"""What the majority of several raters makes of the variance components of one rating.

A majority removes what raters disagree about, but not as the mean of their answers does: it rounds an image that four
of ten accept to 0. So it is computed, by a threshold on a normal latent value: the sum of effects of prompt, prompt x
model, image, and of the rating. Covariances of functions of two normal values with correlation r are a power series of
r, whose coefficients are the squares of Hermite coefficients (Mehler's formula).
"""

from __future__ import annotations

from functools import cache
from math import comb, sqrt
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.variance_components import Components

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TERMS = 80
"""Terms of the series."""

_GRID = (-9.0, 9.0, 6_001)
"""Where functions of a normal value are integrated."""

_STEPS = 50
"""Halvings by which a latent correlation is found."""


class MajorityLabels(NamedTuple):
    """The labels of images by the majority of raters."""

    components: Components  # of one label
    gain: float  # how many points two models are apart by these labels, for each point by one rater

    @property
    def relative_variance(self) -> float:
        """The variance of an item's difference, for two models that are equally far apart by one rater."""
        return self.components.difference_variance() / self.gain**2


@cache
def majority_labels(rating: Components, raters: int) -> MajorityLabels:
    """Return the components of the majority of raters, each drawn anew for every image."""
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
    """Return the correlation of two latent values whose answers have this covariance."""
    import numpy as np

    x, _ = _integration_grid()
    coefficients = _series_coefficients((x + threshold > 0).astype(np.float64))
    low, high = 0.0, 0.999
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _series_sum(coefficients, middle) < covariance else (low, middle)
    return low


def _label_chances(threshold: float, of_image: float, raters: int) -> NDArray[np.float64]:
    """Return how likely most raters accept an image, by its standardized latent value."""
    import numpy as np

    x, _ = _integration_grid()
    accepts = _normal_cdf((threshold + sqrt(of_image) * x) / sqrt(1 - of_image))
    chances = np.zeros_like(accepts)
    for yes in range(raters // 2 + 1, raters + 1):
        chances += comb(raters, yes) * accepts**yes * (1 - accepts) ** (raters - yes)
    return chances


def _logistic_slope(threshold: float, of_image: float, raters: int) -> float:
    """Return how much the rate of labels rises with the latent mean."""
    step = 0.01
    above, below = (_mean_by_weight(_label_chances(threshold + sign * step, of_image, raters)) for sign in (1, -1))
    return above - below


def _series_sum(coefficients: NDArray[np.float64], correlation: float) -> float:
    import numpy as np

    return float(np.sum(coefficients[1:] ** 2 * correlation ** np.arange(1, len(coefficients))))


def _series_coefficients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of a function on the grid by normalized Hermite polynomials."""
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
    """Return points and the weights of a standard normal value there."""
    import numpy as np

    x = np.linspace(*_GRID[:2], int(_GRID[2]))
    weights = np.exp(-x * x / 2)
    return x, weights / weights.sum()


def _normal_cdf(values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    x, weights = _integration_grid()
    return np.interp(values, x, np.cumsum(weights) - weights / 2)
