"""Variance components: of simulated answers, of what cannot be told apart, and of the released ratings of DSG."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from formalimg.errors import FormalimgError
from formalimg.stats.variance_components import (
    DEFAULT_SPREAD,
    AnswerSpread,
    BinaryAnswer,
    Components,
    ItemAnswers,
    estimate_components,
    estimate_correlation,
    majority_labels,
)

RATINGS = Path(__file__).parents[3] / "shared" / "official" / "dsg" / "tifa160-likert-anns.csv"
TRUE = Components(0.4, 0.2, 0.3, 0.1, 0.5)
PRIOR = Components(1.0, 1.0, 1.0, 0.5, 0.5)


def _simulate(
    true: Components, items: int, chance: np.random.Generator, images: tuple[int, ...], ratings: tuple[int, ...]
) -> list[ItemAnswers]:
    """Draw answers about three models by the additive model, with numbers of images and ratings that take turns."""
    leniency = chance.normal(scale=np.sqrt(true.rater), size=200)
    prompts = chance.normal(scale=np.sqrt(true.prompt), size=items)
    models: list[ItemAnswers] = []
    for model in range(3):
        answers: dict[str, list[list[BinaryAnswer]]] = {}
        for item in range(items):
            cell = model + prompts[item] + chance.normal(scale=np.sqrt(true.prompt_model))
            answers[str(item)] = []
            for image in range(images[(item + model) % len(images)]):
                mean = cell + chance.normal(scale=np.sqrt(true.image))
                raters = chance.choice(200, ratings[(item + image) % len(ratings)], replace=False)
                noise = chance.normal(scale=np.sqrt(true.rest), size=len(raters))
                answers[str(item)].append(
                    [
                        BinaryAnswer(str(who), mean + leniency[who] + each)
                        for who, each in zip(raters, noise, strict=True)
                    ]
                )
        models.append(answers)
    return models


@pytest.mark.parametrize(("images", "ratings"), [((4,), (3,)), ((1, 2, 5), (1, 3)), ((2,), (0, 1, 2))])
def test_components_are_those_that_made_the_answers(images: tuple[int, ...], ratings: tuple[int, ...]) -> None:
    models = _simulate(TRUE, 3_000, np.random.default_rng(1), images, ratings)
    assert tuple(estimate_components(models, PRIOR)) == pytest.approx(tuple(TRUE), abs=0.04)


def test_what_cannot_be_told_apart_is_divided_as_before() -> None:
    chance = np.random.default_rng(2)
    one_image = estimate_components(_simulate(TRUE, 3_000, chance, (1,), (3,)), PRIOR)
    assert one_image.prompt_model == pytest.approx(one_image.image)
    assert one_image.prompt_model + one_image.image == pytest.approx(0.5, abs=0.04)
    one_rating = estimate_components(_simulate(TRUE, 3_000, chance, (4,), (1,)), PRIOR)
    assert one_rating.image == pytest.approx(one_rating.rater + one_rating.rest)
    assert one_rating.prompt_model == pytest.approx(0.2, abs=0.04)


def test_the_correlation_is_free_of_the_noise_of_raters() -> None:
    chance, items = np.random.default_rng(3), 4_000
    judge: list[ItemAnswers] = []
    people: list[ItemAnswers] = []
    for _ in range(2):
        both = chance.multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 1.0]], (items, 2))
        noise = chance.normal(size=(items, 2, 2))
        judge.append({str(n): [[BinaryAnswer("", both[n, k, 0])] for k in range(2)] for n in range(items)})
        people.append(
            {
                str(n): [[BinaryAnswer("", both[n, k, 1] + each) for each in noise[n, k]] for k in range(2)]
                for n in range(items)
            }
        )
    spread = AnswerSpread(
        estimate_components(people, DEFAULT_SPREAD.people), estimate_components(judge, DEFAULT_SPREAD.judge), 0.0
    )
    assert estimate_correlation(judge, people, spread) == pytest.approx(0.6, abs=0.04)


def test_few_common_items_are_refused() -> None:
    models = _simulate(TRUE, 9, np.random.default_rng(4), (2,), (2,))
    with pytest.raises(FormalimgError, match="9 items in common"):
        estimate_components(models, PRIOR)


@pytest.mark.parametrize("raters", [3, 7])
@pytest.mark.parametrize("people", [DEFAULT_SPREAD.people, Components(0.02, 0.01, 0.05, 0.0, 0.08)])
def test_majorities_are_those_of_drawn_raters(people: Components, raters: int) -> None:
    chance, size = np.random.default_rng(5), 400_000
    # Images whose chance to be accepted is that of a normal value, with the variance of the components above 0 or 1.
    single, labels = majority_labels(people, 1), majority_labels(people, raters)
    of_image = people.prompt + people.model_variance()
    total = sum(people)
    rate = (1 - np.sqrt(1 - 4 * total)) / 2
    grid = np.linspace(0.0, 0.999, 1_000)
    latent, other = chance.normal(size=(2, size))
    threshold = np.quantile(latent, 1 - rate)
    covariances = [
        np.mean((latent > threshold) & (r * latent + np.sqrt(1 - r * r) * other > threshold)) - rate**2
        for r in grid[::20]
    ]
    r = float(np.interp(of_image, covariances, grid[::20]))
    votes = sum(np.sqrt(r) * latent + np.sqrt(1 - r) * chance.normal(size=size) > threshold for _ in range(raters))
    label_rate = float(np.mean(2 * votes > raters))
    assert sum(labels.components) == pytest.approx(label_rate * (1 - label_rate), abs=0.004)
    assert single.components == people
    assert labels.gain > 1
    assert labels.components.rest < people.rest


@pytest.mark.skipif(not RATINGS.is_file(), reason=f"the released ratings of DSG are not at {RATINGS}")
def test_the_defaults_for_people_are_those_of_released_ratings() -> None:
    models: dict[str, dict[str, list[list[BinaryAnswer]]]] = {}
    with RATINGS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            (image,) = models.setdefault(row["t2i_model"], {}).setdefault(row["item_id"], [[]])
            image.append(BinaryAnswer(row["worker_id"], float(int(row["answer"]) >= 4)))
    found = estimate_components([*models.values()], DEFAULT_SPREAD.people)
    shares = found.scaled(1 / sum(found))
    assert tuple(shares) == pytest.approx(tuple(DEFAULT_SPREAD.people.scaled(4)), abs=0.005)
    # By two-way analysis of variance, image by image of five ratings.
    full = [item for item in models["sd2dot1"] if all(len(model[item][0]) == 5 for model in models.values())]
    means = np.array([[np.mean([a.value for a in model[item][0]]) for item in full] for model in models.values()])
    within = np.mean([np.var([a.value for a in model[item][0]], ddof=1) for model in models.values() for item in full])
    pairs = [np.var(means[a] - means[b], ddof=1) / 2 for a, b in combinations(range(len(means)), 2)]
    assert found.model_variance() == pytest.approx(np.mean(pairs) - within / 5, abs=0.005)
