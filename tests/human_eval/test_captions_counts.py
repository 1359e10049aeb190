"""The figures of a study are those that plain counting gives."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.captions.files import MASKS, CategoryCounts, categories_to_mask, mask_to_categories
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category

sets = st.lists(st.frozensets(st.sampled_from(CATEGORIES)), max_size=40)


def counted(found: list[frozenset[Category]]) -> CategoryCounts:
    by_set = [0] * MASKS
    for categories in found:
        by_set[categories_to_mask(categories)] += 1
    return CategoryCounts(tuple(by_set))


@given(sets)
def test_figures_are_those_of_plain_counting(found: list[frozenset[Category]]) -> None:
    counts = counted(found)
    sizes = [len(categories) for categories in found]
    assert counts.captions == sum(counts.histogram) == len(found)
    assert counts.histogram == tuple(sizes.count(size) for size in range(9))
    assert counts.maximum == max(sizes, default=None)
    assert counts.mean == (pytest.approx(statistics.fmean(sizes)) if sizes else None)
    assert counts.deviation == (pytest.approx(statistics.stdev(sizes)) if len(sizes) > 1 else None)
    for one in CATEGORIES:
        assert counts.together(one, one) == counts.captions_with[one]
        for other in CATEGORIES:
            assert counts.together(one, other) == sum({one, other} <= categories for categories in found)
            assert counts.together(one, other) == counts.together(other, one) <= counts.captions_with[one]


@given(sets, st.sampled_from(CATEGORIES))
def test_captions_with_a_category_are_counted_as_if_there_were_no_others(
    found: list[frozenset[Category]], category: Category
) -> None:
    assert counted(found).having(category) == counted([each for each in found if category in each])


@given(st.frozensets(st.sampled_from(CATEGORIES)))
def test_sets_are_numbered(categories: frozenset[Category]) -> None:
    assert frozenset(mask_to_categories(categories_to_mask(categories))) == categories


def test_without_captions_there_are_no_shares() -> None:
    assert counted([]).share(0) is None
