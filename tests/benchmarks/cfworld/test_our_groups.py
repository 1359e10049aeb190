"""The groups that ship: enough of each field, sound by the checker, and nobody else's sentences."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.benchmarks.cfworld.group_checks import find_comparison
from formalimg.benchmarks.cfworld.items import builtin_groups, denominalised_items, items_of_groups, replace_nouns
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.support.sizes import only_in_full

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


@only_in_full
def test_described_outcomes_differ_from_the_named_ones_in_target_nouns_only() -> None:
    for group in GROUPS:
        nouns = _target_nouns(group.id)
        assert nouns, group.id
        frame = re.split("|".join(rf"(?<!\w){re.escape(noun)}(?!\w)" for noun in nouns), group.outcome)
        assert len(frame) == len(nouns) + 1, group.id
        kept = ".*".join(re.escape(part).replace(",", ",?") for part in frame)
        assert re.fullmatch(kept, group.described), group.id
        assert len(" ".join(nouns)) < 0.75 * len(group.outcome), group.id


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It looks like a wheel.", "like"),
        ("It is as tall as a house.", "as tall as"),
        ("It is as big and round as a ball.", None),
        ("A shape resembling a leaf.", "resembling"),
        ("It bends as if in a storm.", "as if"),
        ("It serves as a bridge, and most likely holds.", None),
    ],
)
def test_comparisons_are_found(text: str, found: str | None) -> None:
    assert find_comparison(text) == found


def test_a_noun_that_is_not_there_once_is_an_error() -> None:
    assert replace_nouns("Snow lies on the snow.", {"Snow": "Frozen crystals"}) == "Frozen crystals lies on the snow."
    for outcome in ("Ice lies on the roof.", "Snow lies on Snow.", "Snowflakes fall."):
        with pytest.raises(FormalimgError, match="'Snow' exactly once"):
            replace_nouns(outcome, {"Snow": "Frozen crystals"})


def test_each_version_differs_in_the_reworded_groups_only() -> None:
    first, second, third = ({item.id: item for item in load("cf-world", version)} for version in ("@1", "@2", None))
    assert first.keys() == second.keys() == third.keys()
    for version, items in enumerate((first, second, third), 1):
        assert {item.version for item in items.values()} == {str(version)}
    assert _reworded(first, second) == {
        "chemistry-009",
        "chemistry-010",
        "geography-013",
        "sociology-013",
        "sociology-026",
    }
    reworded = _reworded(second, third)
    assert 39 <= len(reworded) <= 70
    assert not any("?" in item.prompt for item in third.values() if item.spec.group in reworded)
    for name in ("cf-world-rules", "cf-world-attributes"):
        assert {item.version for item in load(name)} == {"1"}
    versions = [[item.id for item in load("cf-world-denominalised", version)] for version in ("@1", "@2", "@3")]
    assert versions[0] == versions[1] == versions[2]


def _reworded(before: Mapping[str, Item[Any]], after: Mapping[str, Item[Any]]) -> set[str]:
    return {
        item.spec.group
        for item in after.values()
        if (item.prompt, item.spec) != (before[item.id].prompt, before[item.id].spec)
    }


def _target_nouns(group: str) -> dict[str, str]:
    name, _, number = group.rpartition("-")
    text = (files("formalimg.benchmarks.cfworld") / "groups" / f"{name}.toml").read_text(encoding="utf-8")
    nouns: dict[str, str] = tomllib.loads(text)["group"][int(number) - 1]["described"]
    return nouns


@only_in_full
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
