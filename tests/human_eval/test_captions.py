"""Captions: files, counts and the command."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.captions.files import (
    MASKS,
    Caption,
    CategoryCounts,
    categories_to_mask,
    mask_to_categories,
    read_captions,
)
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category
from formalimg.errors import FormalimgError

TABLES = {
    "a.txt": b"\xef\xbb\xbfa cat\n\n  a dog \r\nlast\xe2\x80\xa8line",
    "a.jsonl": b'{"text": "no", "caption": "a cat"}\n\n{"caption": " a dog "}\n{"caption": "last\xe2\x80\xa8line"}\n',
    "a.csv": b'id,caption\n1,a cat\n\n2," a dog "\n3,"last\xe2\x80\xa8line"\n',
    "a.tsv": b"id\tcaption\n1\ta cat\n2\t\n3\ta dog\n4\tlast\xe2\x80\xa8line\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_every_form_gives_the_same_captions(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(TABLES[name])
    assert [caption.text for caption in read_captions(path)] == ["a cat", "", "a dog", "last\u2028line"]
    assert [caption.text for caption in read_captions(path, limit=2)] == ["a cat", "", "a dog"]


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('prompt,n\n"two\nlines",1\nthird,2\n')
    assert list(read_captions(path)) == [Caption(2, "two\nlines"), Caption(4, "third")]


def test_another_column_can_be_named_and_null_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"caption": "no", "alt": "yes"}) + "\n" + json.dumps({"alt": None}))
    assert [caption.text for caption in read_captions(path, column="alt")] == ["yes", ""]


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("none.txt", None, None, "cannot read"),
        ("a.txt", b"\xff\xfe", None, "UTF-8"),
        ("a.txt", b"a", "caption", "no column caption"),
        ("a.jsonl", b'{"caption": "a"}\n{', None, "line 2"),
        ("a.jsonl", b'{"caption": "a"}\n{"text": "a"}', None, "line 2 .* field caption"),
        ("a.jsonl", b'{"caption": 3}', None, "line 1"),
        ("a.jsonl", b'["a"]', None, "line 1 .* not a JSON object"),
        ("a.jsonl", b'{"caption": "\\ud800"}', None, "lone surrogate"),
        ("a.jsonl", b'{"alt": "a"}', None, "but alt: name"),
        ("a.csv", b"alt,id\na,1\n", None, "but alt, id: name"),
        ("a.csv", b"id,caption\n1\n", None, "line 2"),
        ("a.csv", b'caption\n"a', None, "as a table"),
    ],
)
def test_what_cannot_be_read_is_said(
    name: str, content: bytes | None, column: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormalimgError, match=message):
        list(read_captions(path, column=column))


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
