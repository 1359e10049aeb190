"""Which images are taken, and who looks at which."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, assign_images, checks_per_rater, choose_images


@given(st.integers(0, 80), st.integers(1, 9), st.data())
def test_every_image_is_rated_as_often_as_asked_and_shares_are_fair(
    images: int, raters: int, data: st.DataObject
) -> None:
    per_image = data.draw(st.integers(1, raters))
    shares = assign_images(range(images), raters, per_image, random.Random(data.draw(st.integers())))
    assert len(shares) == raters
    assert Counter(image for share in shares for image in share) == dict.fromkeys(range(images), per_image)
    assert all(len(set(share)) == len(share) for share in shares)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    start = data.draw(st.integers(0, images))
    inside = [sum(image >= start for image in share) for share in shares]
    assert max(inside) - min(inside) <= 2


def test_all_pairs_of_raters_meet() -> None:
    shares = assign_images(range(200), 6, 2, random.Random(0))
    met = {pair: len(set(shares[pair[0]]) & set(shares[pair[1]])) for pair in combinations(range(6), 2)}
    assert min(met.values()) >= 5


@pytest.mark.parametrize(("raters", "per_image"), [(2, 3), (0, 1), (3, 0)])
def test_too_few_raters_are_refused(raters: int, per_image: int) -> None:
    with pytest.raises(FormalimgError, match="per image"):
        assign_images(range(4), raters, per_image, random.Random(0))


_CANDIDATES = st.sets(
    st.builds(
        lambda run, item, sample: Candidate(f"run{run}", f"i{item}", sample, 1 + item % 3),
        st.integers(0, 2),
        st.integers(0, 9),
        st.integers(0, 1),
    ),
    min_size=1,
)


@given(_CANDIDATES, st.integers(1, 3), st.integers())
def test_each_run_and_level_gives_the_same_number(candidates: set[Candidate], per_level: int, seed: int) -> None:
    strata = {(run, level) for run in {it.run for it in candidates} for level in {it.level for it in candidates}}
    there = Counter((it.run, it.level) for it in candidates)
    try:
        chosen = choose_images(sorted(candidates), per_level, random.Random(seed))
    except FormalimgError:
        assert any(there[stratum] < per_level for stratum in strata)
        return
    assert set(chosen) <= candidates
    assert Counter((it.run, it.level) for it in chosen) == dict.fromkeys(strata, per_level)
    assert (
        choose_images(sorted(candidates, reverse=True), per_level, random.Random(seed)) == chosen
    )  # order does not matter


@given(_CANDIDATES, st.integers())
def test_all_are_taken_without_a_number(candidates: set[Candidate], seed: int) -> None:
    chosen = choose_images(list(candidates), None, random.Random(seed))
    assert sorted(chosen) == sorted(candidates)
    places = [(it.level, it.run) for it in chosen]
    assert places == sorted(places)


def test_models_are_compared_on_the_same_items() -> None:
    there = [Candidate(run, str(item), sample, 1) for run in "ab" for item in range(30) for sample in range(2)]
    chosen = choose_images(there, 10, random.Random(3))
    of = {run: {it.item for it in chosen if it.run == run} for run in "ab"}
    assert of["a"] == of["b"]
    assert len(of["a"]) == 10  # one sample of each, since there are items enough


@given(st.integers(0, 500), st.floats(0, 0.5))
def test_checks_are_never_fewer_than_asked(most: int, share: float) -> None:
    each = checks_per_rater(most, share)
    if most:
        assert each / (most + each) >= share - 1e-6
        assert each == 0 or (each - 1) / (most + each - 1) < share


@pytest.mark.parametrize("share", [-0.1, 0.6, float("nan")])
def test_shares_that_make_no_sense_are_refused(share: float) -> None:
    with pytest.raises(FormalimgError, match=r"take 0 to 0\.5"):
        checks_per_rater(10, share)
