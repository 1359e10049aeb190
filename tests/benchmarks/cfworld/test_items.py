"""Items of CF-World and its probes: ours are complete, and groups come back from the published form as they went."""

from __future__ import annotations

import tempfile
import tomllib
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.items import builtin_groups, items_of_groups, pair_items, rule_items
from formalimg.benchmarks.cfworld.published_records import PUBLISHED_FIELDS, write_published_groups
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, CounterfactualSpec, WeightedQuestion
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.benchmarks.cfworld.reading import read_cf_world

WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).map(str.strip).filter(bool)
QUESTION = st.builds(
    WeightedQuestion,
    st.sampled_from([dimension for dimension in DIMENSIONS if dimension != "assessment"]),
    WORDS,
    WORDS,
    st.sampled_from([2, 3, 8, 0.5]),
)
POINT = st.builds(WeightedQuestion, st.just("assessment"), WORDS, WORDS, st.just(15))
QUESTIONS = st.one_of(st.just(()), st.tuples(QUESTION, POINT), st.tuples(POINT), st.tuples(QUESTION, QUESTION, POINT))


@st.composite
def published_groups(draw: st.DrawFn) -> list[Item[CounterfactualSpec]]:
    """Groups as somebody might publish them, in any order."""
    items: list[Item[CounterfactualSpec]] = []
    keys = st.tuples(st.sampled_from(PUBLISHED_FIELDS), st.integers(0, 200))
    for field, number in draw(st.lists(keys, min_size=1, max_size=4, unique=True)):
        group = f"{field.slug}-{number}"
        second = draw(st.one_of(st.just(""), WORDS))
        points = {1: draw(st.one_of(st.just(""), WORDS)), 2: second, 3: second or draw(st.one_of(st.just(""), WORDS))}
        for level, point in points.items():
            spec = CounterfactualSpec(group, point, draw(QUESTIONS))
            tags = field.tags if spec.questions else (*field.tags, "no-questions")
            items.append(Item("cf-world", f"{group}-l{level}", level, draw(WORDS), spec, tags))
    return draw(st.permutations(items))


@settings(max_examples=40, deadline=None)
@given(published_groups())
def test_groups_come_back_from_the_published_form_as_they_went(items: list[Item[CounterfactualSpec]]) -> None:
    with tempfile.TemporaryDirectory() as made:
        write_published_groups(items, Path(made) / "out")
        assert sorted(load("cf-world", Path(made) / "out"), key=id_of) == sorted(items, key=id_of)


def id_of(item: Item[Any]) -> str:
    return item.id


def test_our_own_groups_can_be_written_as_published(tmp_path: Path) -> None:
    items = items_of_groups(builtin_groups())
    write_published_groups(items, tmp_path / "out")
    back = read_cf_world(tmp_path / "out")
    assert Counter((item.level, item.prompt, item.tags, item.spec.questions) for item in back.items) == Counter(
        (item.level, item.prompt, item.tags, item.spec.questions) for item in items
    )
    assert (back.unscorable, back.repairs) == ((), ())
    with pytest.raises(FormalimgError, match="is not empty"):
        write_published_groups(items, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_has_no_place_in_the_published_form_is_refused(tmp_path: Path) -> None:
    first, second, third = items_of_groups(builtin_groups()[:1])
    other_point = replace(third, spec=replace(third.spec, assessment="Something else."))
    for items, message in [
        ([], "no items"),
        ([first, second], "must have the levels 1, 2 and 3"),
        ([first, second, third, third], "two items of level 3"),
        ([first, second, other_point], "different questions at L2 and L3"),
        ([replace(first, tags=())], "only items of cf-world"),
        (rule_items()[:1], "only items of cf-world"),
    ]:
        with pytest.raises(FormalimgError, match=message):
            write_published_groups(items, tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_tags_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    items = [replace(item, tags=("../../up", "..")) for item in items_of_groups(builtin_groups()[:1])]
    write_published_groups(items, tmp_path / "in" / "out")
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json"))
    assert written == ["in/out/eval_questions/up/other_gemini.json", "in/out/prompt/up/other.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def entries(name: str) -> list[dict[str, Any]]:
    text = (files("formalimg.benchmarks.cfworld") / f"{name}s.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)[name]
    return found


def test_our_attribute_probe_has_a_hundred_pairs_in_one_frame() -> None:
    items = {item.id: item for item in pair_items("1")}
    assert [*items][:2] == ["pair-001-common", "pair-001-rare"]
    assert len(items) == 200
    for number, pair in enumerate(entries("pair"), 1):
        assert {*pair} == {"a", "rare", "common", "rare_prompt", "common_prompt"}
        for level, partner in ((1, "common"), (2, "rare")):
            item = items[f"pair-{number:03}-{partner}"]
            assert (item.level, item.spec.group) == (level, f"pair-{number:03}")
            asked = item.spec.questions[0].question
            assert f"“{pair['a']}” and “{pair[partner]}”" in asked
            assert pair[partner].lower() in item.prompt.lower()
    assert max(Counter(pair["a"] for pair in entries("pair")).values()) <= 2


@pytest.mark.parametrize("probe", [rule_items, pair_items])
def test_our_probes_can_be_kept_and_say_nothing_twice(probe: Any, tmp_path: Path) -> None:
    items = probe("1")
    write_items(items, tmp_path)
    assert load(items[0].suite, tmp_path) == sorted(items, key=id_of)
    assert len({item.prompt for item in items}) == len(items)
    for item in items:
        for text in (item.prompt, item.spec.assessment):
            assert text[0].isupper(), text
            assert text.endswith("."), text
