"""The groups that ship: enough of each field, sound by the checker, and nobody else's sentences."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from formalimg.suites import builtin_groups, check_groups, denominalised_items, items_of_groups

GROUPS = builtin_groups()
PUBLISHED = Path(__file__).parents[4] / "shared" / "official" / "cf-world"


def test_there_are_thirty_of_each_field() -> None:
    assert Counter((group.discipline, group.branch) for group in GROUPS) == dict.fromkeys(
        [
            *(("physics", b) for b in ("mechanics", "optics", "thermodynamics", "electromagnetism", "astronomy")),
            *((discipline, "") for discipline in ("biology", "chemistry", "geography", "sociology")),
        ],
        30,
    )


def test_the_checker_finds_nothing() -> None:
    assert check_groups(GROUPS) == []


def test_laws_and_prompts_are_not_used_up_twice() -> None:
    assert max(Counter(group.law for group in GROUPS).values()) <= 2
    for name in ("factual", "implicit", "outcome", "described", "shows"):
        assert len({getattr(group, name) for group in GROUPS}) == len(GROUPS), name


def test_openings_vary() -> None:
    openings = Counter(" ".join(group.implicit.split()[:2]) for group in GROUPS)
    assert openings.most_common(1)[0][1] <= len(GROUPS) // 3


def test_each_gives_three_items_that_differ_as_they_should() -> None:
    items = items_of_groups(GROUPS, "1")
    assert len(items) == 3 * len(GROUPS)
    assert len({item.prompt for item in items}) == len(items)
    for factual, explicit, implicit in zip(items[::3], items[1::3], items[2::3], strict=True):
        assert [item.level for item in (factual, explicit, implicit)] == [1, 2, 3]
        assert explicit.prompt.startswith(implicit.prompt)
        assert explicit.spec.questions == implicit.spec.questions != factual.spec.questions
        for item in (factual, explicit):
            assert [question.dimension for question in item.spec.questions] == ["integrity", "logic", "assessment"]
            assert [question.weight for question in item.spec.questions] == [3, 8, 15]
            assert not any(re.search(r"[{}]|\.\?|\?\?", question.question) for question in item.spec.questions)
    without_names = denominalised_items(GROUPS, "1")
    assert [item.id for item in without_names] == [item.id for item in items if item.level == 2]


def test_no_sentence_is_a_published_one() -> None:
    """Eight words in a row that stand in the published texts would not be our own."""
    files = sorted(PUBLISHED.rglob("*.json"))
    if not files:
        pytest.skip(f"the published data are not at {PUBLISHED}")
    theirs = {run for path in files for run in _runs(path.read_text(encoding="utf-8"))}
    for group in GROUPS:
        for text in (group.law, group.factual, group.implicit, group.outcome, group.described, group.shows):
            assert not theirs & set(_runs(text)), (group.id, text)


def _runs(text: str, length: int = 8) -> list[tuple[str, ...]]:
    words = re.findall(r"[a-z]+", text.lower())
    return [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]
