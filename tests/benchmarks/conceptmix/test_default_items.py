"""The 2,100 items that ship: each asks what it should, says it in words, and contradicts nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from formalimg import load
from formalimg.benchmarks.conceptmix.conflicts import SceneObjects, count_problems, find_conflicts
from formalimg.benchmarks.conceptmix.generation import ConceptRecipe, generate_concept_items
from formalimg.benchmarks.conceptmix.plausibility import bound_relations
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.prompt_check import extra_concepts, missing_concepts
from formalimg.benchmarks.conceptmix.questions import concept_statements, template_questions
from formalimg.benchmarks.conceptmix.spec import ConceptSpec, bound_concepts
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.support.command import formalimg
from tests.support.sizes import tries

ITEMS = load("conceptmix")
POOLS = load_pools()

# Another eye than the one that wrote the prompts: plain stems that must stand in the words, each concept by itself.
STEMS = {
    **dict(zip("234", ("two", "three", "four"), strict=True)),
    "butterfly": "butterfl",
    "circle": "circ|round",
    "rectangle": "rectang",
    "triangle": "triang",
    "top": "on top of|atop",
    "bottom": "directly (underneath|beneath)",
    "left": "(to|on) the left of",
    "right": "(to|on) the right of",
    "behind": "behind|in back of",
    "inside": "inside|within",
    "tiny": "tiny|minuscule|(very|extremely) small|diminutive|miniature",
    "huge": "huge|enormous|gigantic|immense|colossal|massive|giant|very large|oversized",
    "oak tree": r"\boak",
    "woman": "wom[ae]n",
    "man": r"\bm[ae]n\b",
    "cactus": "cact",
    "sketch": "sketch",
    "abstract": "abstract",
    "cubism": "cubis",
    "expressionism": "expressionis",
    "impressionism": "impressionis",
    "photorealism": "photorealis",
    "surrealism": "surreal",
}


def test_there_are_300_for_each_k_with_their_ids_in_order() -> None:
    assert [(item.id, item.level) for item in ITEMS] == [(str(n), n // 300 + 1) for n in range(2100)]
    assert len({item.prompt for item in ITEMS}) == 2100
    asked = [tuple(sorted((each.statement, each.value) for each in item.spec.concepts)) for item in ITEMS]
    assert len(set(asked)) == 2100
    assert {(item.suite, item.version, item.tags) for item in ITEMS} == {("conceptmix", "3", ())}


def test_each_has_k_plus_one_statements_and_questions_all_different() -> None:
    for item in ITEMS:
        asked = item.spec.concepts
        assert len(asked) == item.level + 1
        assert len({each.question for each in asked}) == len({each.statement for each in asked}) == len(asked)
        assert all(each.question.endswith("?") for each in asked)


def test_every_concept_is_in_the_words_and_no_other() -> None:
    for item in ITEMS[:: tries(5, 1)]:
        binding = item.spec.binding
        assert binding is not None
        bound = bound_concepts([each.concept for each in item.spec.concepts], binding)
        assert missing_concepts(item.prompt, bound, binding) == ()
        assert extra_concepts(item.prompt, bound, binding, POOLS) == ()
        said = item.prompt.lower()
        for each in item.spec.concepts:
            assert re.search(STEMS.get(each.value, each.value), said), (item.id, each)


def test_none_breaks_the_rules_of_drawing_or_contradicts_itself() -> None:
    for item in ITEMS:
        counts = Counter(each.category for each in item.spec.concepts)
        assert counts["style"] <= 1
        limited = [count for category, count in counts.items() if category not in ("spatial", "object")]
        assert max(limited, default=0) <= counts["object"]
        assert item.spec.binding is not None
        assert find_conflicts(item.spec.binding) == ()


def test_statements_and_questions_are_those_of_the_binding() -> None:
    for item in ITEMS[::7]:
        binding = item.spec.binding
        assert binding is not None
        bound = bound_concepts([each.concept for each in item.spec.concepts], binding)
        assert concept_statements(bound, binding, POOLS) == tuple(each.statement for each in item.spec.concepts)
        assert template_questions(bound, binding) == tuple(each.question for each in item.spec.concepts)


def test_the_first_items_are_made_anew_as_they_are() -> None:
    made = generate_concept_items(ConceptRecipe(levels=(1,))).items
    assert made[:60] == ITEMS[:60]


def test_nothing_is_in_two_places_and_every_size_has_a_measure() -> None:
    """Spelled out anew, and stricter than the rules: nothing may follow that nobody said."""
    for item in ITEMS:
        binding = item.spec.binding
        assert binding is not None
        placed = [(relation.name, relation.first, relation.second) for relation in binding.relations]
        inside = {(one, other) for name, one, other in placed if name == "inside"}
        for _ in binding.objects:
            inside |= {(one, box) for one, other in inside for inner, box in inside if inner == other}
        for one, box in inside:
            boxes = [other for content, other in inside if content == one and other != box]
            assert all((box, other) in inside or (other, box) in inside for other in boxes), item.prompt
        for name, one, other in placed:
            touching = [(one, other), (other, one)] if name in ("top", "bottom") else []
            for content, touched in touching:
                boxes = [box for inner, box in inside if inner == content and box != touched]
                assert all((touched, box) in inside or (box, touched) in inside for box in boxes), item.prompt
            if name == "outside":
                sides = {there for there, *both in placed if {one, other} == set(both)}
                assert not sides & {"top", "above", "below", "left", "right", "behind", "in front of"}, item.prompt
        sized = ["size" in obj.attributes for obj in binding.objects]
        assert not (any(sized) and all(sized)), item.prompt
        assert len({obj.item for obj in binding.objects} & {"corgi", "dog"}) < 2


def test_no_item_leaves_viewers_in_doubt_as_many_of_version_1_do() -> None:
    def doubtful(items: list[Item[ConceptSpec]]) -> int:
        found = 0
        for item in items:
            assert item.spec.binding is not None
            drawn = sum(each.category == "object" for each in item.spec.concepts)
            placed = bound_relations(item.spec.binding.relations)
            found += count_problems(placed, SceneObjects(item.spec.binding.objects, drawn)) > 0
        return found

    assert doubtful(ITEMS) == 0
    assert doubtful(load("conceptmix", "@1")) > 250


def values(items: Sequence[Item[ConceptSpec]], category: str) -> set[str]:
    return {each.value for item in items for each in item.spec.concepts if each.category == category}


def test_variants_take_only_what_they_should(tmp_path: Path) -> None:
    colors = generate_concept_items(ConceptRecipe((1, 2), 20, only="color")).items
    assert {each.category for item in colors for each in item.spec.concepts} == {"object", "color"}
    assert all(any(each.category == "color" for each in item.spec.concepts) for item in colors)
    hard = generate_concept_items(ConceptRecipe((3,), 60, difficulty="hard")).items
    assert values(hard, "color") == {"black", "brown"}
    assert values(hard, "spatial") == {"left", "bottom"}
    assert values(hard, "number") == {"3", "4"}
    assert values(hard, "size") == {"huge"}
    (tmp_path / "object.toml").write_text('values = ["kettle", "drum", "yak"]')
    mine = generate_concept_items(ConceptRecipe((2,), 20, concepts=tmp_path)).items
    assert values(mine, "object") == {"kettle", "drum", "yak"}
    assert {item.version for item in (*colors, *hard, *mine)} == {""}


def test_only_items_of_the_suite_that_ships_have_its_version() -> None:
    assert ConceptRecipe().is_default
    assert ConceptRecipe(levels=(1, 2)).is_default
    others = [{"seed": 2}, {"levels": (2,)}, {"levels": (1, 3)}, {"levels": tuple(range(1, 9))}, {"per_level": 20}]
    for other in others:
        assert not ConceptRecipe(**other).is_default, other  # type: ignore[arg-type]


def test_more_items_than_there_are_is_an_error_before_any_is_made(tmp_path: Path) -> None:
    (tmp_path / "object.toml").write_text('values = ["yak", "gnu"]')
    made: list[int] = []
    with pytest.raises(FormalimgError, match=r"at most 4 different items with k=2, fewer than 5: ask for fewer"):
        generate_concept_items(ConceptRecipe((2, 1), 5, concepts=tmp_path, only="size"), on_progress=made.append)
    assert made == []
    assert len(generate_concept_items(ConceptRecipe((1,), 4, concepts=tmp_path, only="size")).items) == 4
    with pytest.raises(FormalimgError, match="different items with k=1"):
        generate_concept_items(ConceptRecipe((1,), 5000, concepts=tmp_path))
    (tmp_path / "object.toml").write_text('values = ["man"]')
    with pytest.raises(FormalimgError, match=r"1000 draws for k=1 were all rejected \(1000 shape\)"):
        generate_concept_items(ConceptRecipe((1,), 1, concepts=tmp_path, only="shape"))


def test_the_commands_make_show_and_count_them(tmp_path: Path) -> None:
    code, out, err = formalimg(
        "items", "synth", "conceptmix", "--out", str(tmp_path), "--levels", "1,109", "--per-level", "3", "--published"
    )
    assert (code, err) == (0, "")
    assert "6 items of conceptmix (k=1: 3, k=109: 3)" in out
    assert sorted(path.name for path in (tmp_path / "published").iterdir()) == [
        "3_refined_config_k=1.json",
        "3_refined_config_k=109.json",
        "3_sentences_k=1.json",
        "3_sentences_k=109.json",
    ]
    shown = formalimg("items", "show", "conceptmix/5", "--items", str(tmp_path)).out
    assert shown.startswith("conceptmix/5, k = 109\n")
    assert formalimg("items", "show", "conceptmix/5", "--draw", str(tmp_path / "a.png")).code == 2
    assert formalimg("items", "synth", "conceptmix", "--out", str(tmp_path), "--objects", "3").err == (
        "error: conceptmix has no --objects: that is for knolling and natural\n"
    )
    assert formalimg("items", "synth", "knolling", "--out", str(tmp_path), "--only", "color").err == (
        "error: knolling has no --only: that is for conceptmix\n"
    )
    assert "orange" in formalimg("items", "census", "conceptmix").out
