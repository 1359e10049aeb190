"""Prompts: plain English that says each concept once and nothing else."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.phrasing import phrasing_tables
from formalimg.benchmarks.conceptmix.plausibility import pool_objects, reference_objects
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.prompt_check import extra_concepts, missing_concepts
from formalimg.benchmarks.conceptmix.realization import write_prompt
from formalimg.benchmarks.conceptmix.spec import (
    Binding,
    BindingError,
    BoundConcept,
    BoundObject,
    Concept,
    SpatialRelation,
)
from formalimg.benchmarks.conceptmix.words import join_list, plural_of, singular_of, with_a, with_article
from tests.benchmarks.conceptmix.given import drawn, given
from tests.support.sizes import tries

POOLS = load_pools(profile="official-code")


@settings(max_examples=tries(15, 70), deadline=None)
@for_all(st.integers(1, 12), st.integers(0, 10**6))
def test_a_prompt_says_everything_and_nothing_else(k: int, seed: int) -> None:
    found = drawn(k, POOLS, random.Random(seed))
    prompt = write_prompt(*found, random.Random(seed + 1))
    assert missing_concepts(prompt, *found) == ()
    assert extra_concepts(prompt, *found, POOLS) == ()
    for obj in found.binding.objects:
        assert obj.item in prompt.lower() or plural_of(obj.item) in prompt.lower()


@settings(max_examples=tries(15, 70), deadline=None)
@for_all(st.integers(1, 12), st.integers(0, 10**6))
def test_a_prompt_is_well_formed(k: int, seed: int) -> None:
    found = drawn(k, POOLS, random.Random(seed))
    prompt = write_prompt(*found, random.Random(seed + 1))
    assert re.fullmatch(r"([A-Z][^.]*\.)( [A-Z][^.]*\.)*", prompt), prompt
    assert not re.search(r"  | ,|,,|,\.", prompt)
    for article, letter in re.findall(r"\b([Aa]n?) (\w)", prompt):
        assert (article.lower() == "an") == (letter in "aeiou"), prompt


ONE = r"(is|has|stands|sits|lies|rests|hovers|floats|appears|shares|completes|features|belongs)"
MANY = r"(are|have|stand|sit|lie|rest|hover|float|appear|share|complete|feature|belong)"


@settings(max_examples=tries(30, 120), deadline=None)
@for_all(st.integers(1, 9), st.integers(0, 10**6))
def test_verbs_agree(k: int, seed: int) -> None:
    """The verb right behind a name, as the only thing before it in its sentence, has the number of the name."""
    found = drawn(k, POOLS, random.Random(seed))
    prompt = write_prompt(*found, random.Random(seed + 1))
    for obj in found.binding.objects:
        many = obj.attributes.get("number", "1") != "1"
        name = plural_of(obj.item) if many else singular_of(obj.item)
        if sum(other.item == obj.item for other in found.binding.objects) > 1:
            continue
        verbs = re.findall(rf"(?:^|[.] )The {name} (\w+)", prompt)
        between = r"(?: (?!an?\b|another\b|one\b|the\b)[\w-]+){0,4}"  # an article would begin another name
        verbs += re.findall(
            rf"(?:^|[.] )(?:An?|[Ee]xactly \w+|Two|Three|Four){between} {name} {ONE[:-1]}|{MANY[1:]}\b", prompt
        )
        for verb in (verb for verb in verbs if verb):
            assert re.fullmatch(MANY if many else ONE, verb) or not re.fullmatch(f"{ONE}|{MANY}", verb), prompt


def test_the_same_chance_gives_the_same_words_and_another_gives_others() -> None:
    found = given("2 tiny heart red pizza | glass table | duck | 1 top 2 | 3 left 2 | style manga")
    prompts = [write_prompt(*found, random.Random(seed)) for seed in range(60)]
    assert prompts == [write_prompt(*found, random.Random(seed)) for seed in range(60)]
    assert len(set(prompts)) > 30
    assert len({" ".join(prompt.split()[:2]) for prompt in prompts}) >= 6


def test_a_name_that_occurs_twice_is_told_apart() -> None:
    for seed in range(20):
        prompt = write_prompt(*given("red cat | +cat | dog | 1 left 2 | 3 behind 2"), random.Random(seed)).lower()
        assert prompt.count("a red cat") == 1
        assert "the other cat" in prompt or "the first cat" in prompt
        assert "another red" not in prompt


def test_two_styles_are_both_said() -> None:
    binding = Binding((BoundObject("cat"),), "manga")
    concepts = [Concept("object", "cat"), Concept("style", "ink"), Concept("style", "manga")]
    bound = tuple(map(BoundConcept, concepts, ((1,), (), ())))
    assert write_prompt(bound, binding, random.Random(1)).endswith("The style of the picture is both ink and manga.")


def test_concepts_of_the_user_get_regular_words() -> None:
    prompt = write_prompt(*given("star unicorn | wooden fox | 1 next to 2 | style anime"), random.Random(4))
    for words in ("unicorn", "star", "wooden", "next to", "style of anime"):
        assert words in prompt
    braces = write_prompt(*given("fox | style a{b}c{}"), random.Random(4))
    assert "in the style of a{b}c{}" in braces


def test_colours_stand_where_they_name_no_species_and_no_race() -> None:
    for seed in range(30):
        prompt = write_prompt(*given("red tiny oak tree | brown 2 man | white rose | +bench"), random.Random(seed))
        assert re.search(r"oak tree colored red|(tree|plant|it) is (.* )?(red|colored red)", prompt, re.IGNORECASE), (
            prompt
        )
        assert re.search(r"men (are )?(entirely )?painted brown", prompt, re.IGNORECASE), prompt
        assert "white rose" in prompt


def test_what_follows_a_noun_is_not_read_into_another() -> None:
    """Not "a woman painted purple all over outside a cup", nor "a tunnel behind a tree with a metallic texture"."""
    for seed in range(60):
        prompt = write_prompt(*given("purple woman | +cup | 1 left 2"), random.Random(seed))
        assert re.match(
            r"(In [a-z ]+, a|Here, a|A) woman painted purple all over (is|has|appears|stands|can) ", prompt
        ), prompt
        prompt = write_prompt(
            *given("metallic oak tree | red man | +tunnel | 3 behind 1 | 3 left 2"), random.Random(seed)
        )
        assert not re.search(r"tunnel [^.]*\b(with a metallic|painted)", prompt), prompt
        assert not re.search(r"(behind|back of|left|side) [^.]*(with a metallic|man painted)", prompt), prompt


def test_what_touches_from_below_is_directly_underneath() -> None:
    for seed in range(40):
        found = given("cat | novel | 1 bottom 2")
        prompt = write_prompt(*found, random.Random(seed))
        assert re.search(
            "directly (underneath|beneath) a novel, (touching it|in contact with it|which .* on it)", prompt, re.I
        )
        assert missing_concepts(prompt, *found) == ()


ALOFT = r"\b(hover|float|drift|flies|fly|flying|glid|soar|flutter|levitat|midair|suspend|cruis|sail|bob)"
GROUNDED = r"\b(stand|sit|lies|lie|lying|rest|park|crouch|grow|lay|laid|seat|perch|balanc|reclin)"


@settings(max_examples=tries(60, 300), deadline=None)
@for_all(st.integers(1, 9), st.integers(0, 10**6))
def test_no_pose_contradicts_a_relation(k: int, seed: int) -> None:
    """Only what is above something and rests on nothing is said to be in the air, and it is never said to stand."""
    found = drawn(k, POOLS, random.Random(seed))
    prompt = write_prompt(*found, random.Random(seed + 1)).lower()
    relations = {relation.name for relation in found.binding.relations}
    if not relations & {"above", "below"} and not {"cloud", "balloon"} & {obj.item for obj in found.binding.objects}:
        assert not re.search(ALOFT, prompt), prompt
    if len(found.binding.objects) == 2 and relations == {"above"} and found.binding.relations[0].first == 1:
        first, second = (obj.item for obj in found.binding.objects)
        subject = re.search(rf"{first}s? ([a-z ]+) above", prompt)
        assert subject is None or not re.search(GROUNDED, subject[1]), prompt
        assert first == second or not re.search(rf"{second}s? (is |are )?{ALOFT}", prompt), prompt


def test_objects_hold_themselves_as_they_can() -> None:
    said = {
        text: " ".join(write_prompt(*given(text), random.Random(seed)) for seed in range(80)).lower()
        for text in (
            "cup | +table | 1 top 2",
            "cat | +bed | 1 top 2",
            "bee | +ball | 1 above 2",
            "fork | +cup | 1 left 2",
        )
    }
    cup, cat, bee, fork = said.values()
    for pose, prompts in (("cup stands", cup), ("cat sits", cat), ("bee (flies|hovers)", bee), ("fork lies", fork)):
        assert re.search(pose, prompts), pose
    assert not re.search("fork (stand|sit)", fork)
    assert not re.search("cup (lie|hover|grow|park)", cup)
    assert not re.search("cat (hover|float|grow|park)", cat)
    assert not re.search("bee (stand|sit|perch|rest|is perched)", bee)


def test_every_verb_and_name_in_the_data_exists_and_can_be_read() -> None:
    tables = phrasing_tables()
    for facts in (*pool_objects(), *reference_objects()):
        assert {*facts.rests, *facts.aloft_as} <= tables["poses"].keys(), facts.name
        assert all(name == name.lower() for name in facts.names)
    assert tables["poses_only"].keys() <= tables["poses"].keys()
    assert tables["styles"].keys() == set(POOLS["style"].values)
    assert tables["relations"].keys() == set(POOLS["spatial"].values)
    for category, table in tables["attributes"].items():
        assert table.keys() - {"default", "people"} <= set(POOLS[category].values)


def test_a_relation_of_the_user_is_said_in_its_own_words() -> None:
    concepts, binding = given("cat | dog | 1 next to 2")
    relation = replace(binding.relations[0], description="the {ObjectA} is right {value} the {ObjectB}")
    for seed in range(10):
        prompt = write_prompt(concepts, replace(binding, relations=(relation,)), random.Random(seed))
        assert "right next to a dog" in prompt.lower()


def test_an_open_relation_cannot_be_put_into_words() -> None:
    with pytest.raises(BindingError, match="still open"):
        write_prompt((), Binding((BoundObject("cat"),), None, (SpatialRelation("left", ""),)), random.Random(1))


def test_every_object_has_its_plural() -> None:
    plurals = {item: plural_of(item) for item in POOLS["object"].values}
    irregular = {item: many for item, many in plurals.items() if many != f"{item}s"}
    assert irregular == {
        "broccoli": "heads of broccoli",
        "butterfly": "butterflies",
        "cactus": "cacti",
        "man": "men",
        "sheep": "sheep",
        "sushi": "pieces of sushi",
        "volcano": "volcanoes",
        "woman": "women",
    }


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("street lamp", "street lamps"), ("bench", "benches"), ("box", "boxes"), ("toy", "toys"), ("bus", "buses"),
        ("piece of cake", "pieces of cake"), ("snowman", "snowmen"), ("human", "humans"), ("cherry", "cherries"),
        ("child", "children"), ("pine shelf", "pine shelves"),
    ],
)  # fmt: skip
def test_plurals_of_other_words(one: str, many: str) -> None:
    assert plural_of(one) == many


def test_articles_go_by_sound() -> None:
    assert [with_article(item) for item in ("apple", "sushi", "oak tree", "unicorn", "hour", "umbrella", "house")] == [
        "an apple", "a piece of sushi", "an oak tree", "a unicorn", "an hour", "an umbrella", "a house",
    ]  # fmt: skip
    assert with_a("orange cat") == "an orange cat"
    for right in ("an L-shaped pizza", "a U-shaped pizza", "an Éclair", "an X-ray", "a T-shirt", "an SUV", "a UFO"):
        assert with_a(right.partition(" ")[2]) == right
    assert join_list(["a", "b", "c"]) == "a, b, and c"
