"""The 2,100 items that ship: each asks what it should, says it in words, and contradicts nothing."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from formalimg import load
from formalimg.errors import FormalimgError
from formalimg.suites import (
    ConceptRecipe,
    ConceptSpec,
    Item,
    bound_concepts,
    conflicts,
    load_pools,
    make_concept_items,
    statements,
    template_questions,
    unasked,
    unsaid,
)
from tests.support.command import formalimg

ITEMS = load("conceptmix")
POOLS = load_pools()

# Another eye than the one that wrote the prompts: plain stems that must stand in the words, each concept by itself.
STEMS = {
    **dict(zip("234", ("two", "three", "four"), strict=True)),
    "butterfly": "butterfl",
    "circle": "circ|round",
    "rectangle": "rectang",
    "triangle": "triang",
    "top": "on top of",
    "bottom": "at the bottom of",
    "left": "to the left of",
    "right": "to the right of",
    "woman": "wom[ae]n",
    "man": r"\bm[ae]n\b",
    "cactus": "cact",
    "sketch": "sketch",
    "abstract": "abstract",
    "cubism": "cubis",
    "expressionism": "expressionis",
    "impressionism": "impressionis",
    "photorealism": "photorealis",
    "surrealism": "surrealis",
}


def test_there_are_300_for_each_k_with_their_ids_in_order() -> None:
    assert [(item.id, item.level) for item in ITEMS] == [(str(n), n // 300 + 1) for n in range(2100)]
    assert len({item.prompt for item in ITEMS}) == 2100
    asked = [tuple(sorted((each.statement, each.value) for each in item.spec.concepts)) for item in ITEMS]
    assert len(set(asked)) == 2100
    assert {(item.suite, item.version, item.tags) for item in ITEMS} == {("conceptmix", "1", ())}


def test_each_has_k_plus_one_statements_and_questions_all_different() -> None:
    for item in ITEMS:
        asked = item.spec.concepts
        assert len(asked) == item.level + 1
        assert len({each.question for each in asked}) == len({each.statement for each in asked}) == len(asked)
        assert all(each.question.endswith("?") for each in asked)


def test_every_concept_is_in_the_words_and_no_other() -> None:
    for item in ITEMS:
        binding = item.spec.binding
        assert binding is not None
        bound = bound_concepts([each.concept for each in item.spec.concepts], binding)
        assert unsaid(item.prompt, bound, binding) == ()
        assert unasked(item.prompt, bound, binding, POOLS) == ()
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
        assert conflicts(item.spec.binding) == ()


def test_statements_and_questions_are_those_of_the_binding() -> None:
    for item in ITEMS[::7]:
        binding = item.spec.binding
        assert binding is not None
        bound = bound_concepts([each.concept for each in item.spec.concepts], binding)
        assert statements(bound, binding, POOLS) == tuple(each.statement for each in item.spec.concepts)
        assert template_questions(bound, binding) == tuple(each.question for each in item.spec.concepts)


def test_the_first_items_are_made_anew_as_they_are() -> None:
    made = make_concept_items(ConceptRecipe(levels=(1,))).items
    assert made[:60] == ITEMS[:60]


def values(items: list[Item[ConceptSpec]], category: str) -> set[str]:
    return {each.value for item in items for each in item.spec.concepts if each.category == category}


def test_variants_take_only_what_they_should(tmp_path: Path) -> None:
    colors = make_concept_items(ConceptRecipe((1, 2), 20, only="color")).items
    assert {each.category for item in colors for each in item.spec.concepts} == {"object", "color"}
    assert all(any(each.category == "color" for each in item.spec.concepts) for item in colors)
    hard = make_concept_items(ConceptRecipe((3,), 60, difficulty="hard")).items
    assert values(hard, "color") == {"black", "brown"}
    assert values(hard, "spatial") == {"left", "bottom"}
    (tmp_path / "object.toml").write_text('values = ["kettle", "drum", "yak"]')
    mine = make_concept_items(ConceptRecipe((2,), 20, concepts=tmp_path)).items
    assert values(mine, "object") == {"kettle", "drum", "yak"}
    assert {item.version for item in (*colors, *hard, *mine)} == {""}


def test_what_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "object.toml").write_text('values = ["yak"]')
    with pytest.raises(FormalimgError, match=r"came to nothing .*duplicate"):
        make_concept_items(ConceptRecipe((1,), 5000, concepts=tmp_path))
    for text, message in [
        ("values = []", "list of words"),
        ('values = ["a", "a"]', "stands there twice"),
        ('values = ["a"]\neasy = ["b"]', "'b' is not among its values"),
        ("values", "cannot be read as concepts"),
    ]:
        (tmp_path / "object.toml").write_text(text)
        with pytest.raises(FormalimgError, match=message):
            load_pools(tmp_path)
    with pytest.raises(FormalimgError, match="there is no folder"):
        load_pools(tmp_path / "none")


def test_the_commands_make_show_and_count_them(tmp_path: Path) -> None:
    code, out, err = formalimg(
        "synth", "conceptmix", "--out", str(tmp_path), "--levels", "1,9", "--per-level", "3", "--published"
    )
    assert (code, err) == (0, "")
    assert "6 items of conceptmix (k=1: 3, k=9: 3)" in out
    assert sorted(path.name for path in (tmp_path / "published").iterdir()) == [
        "3_refined_config_k=1.json",
        "3_refined_config_k=9.json",
        "3_sentences_k=1.json",
        "3_sentences_k=9.json",
    ]
    shown = formalimg("show", "conceptmix/5", "--items", str(tmp_path)).out
    assert shown.startswith("conceptmix/5, k = 9\n")
    assert formalimg("show", "conceptmix/5", "--draw", str(tmp_path / "a.png")).code == 2
    assert formalimg("synth", "conceptmix", "--out", str(tmp_path), "--objects", "3").err == (
        "error: conceptmix has no --objects: that is for knolling and natural\n"
    )
    assert formalimg("synth", "knolling", "--out", str(tmp_path), "--only", "color").err == (
        "error: knolling has no --only: that is for conceptmix\n"
    )
    assert "orange" in formalimg("census", "conceptmix").out


def test_the_embedded_models_say_that_they_cannot_draw_them() -> None:
    for model in ("oracle", "reader", "scatter"):
        code, _, err = formalimg("run", "conceptmix", "-m", f"builtin/{model}")
        assert code == 2
        assert err.startswith(
            f"error: builtin/{model} draws plain scenes of FormalImg and cannot show what conceptmix asks"
        )
        assert "folder/my/pictures" in err
    assert "formalimg agree" in formalimg("run", "conceptmix", "-m", "folder/.").err
