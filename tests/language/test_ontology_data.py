"""The data of the ontology: complete, consistent, and refused with a clear word where it is not."""

from __future__ import annotations

import shutil
import tomllib
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.language.ontology.knowledge import RELATIONS, OntologyError, load_ontology, ontology
from formalimg.language.ontology.plausibility import find_implausible
from formalimg.logic.vocabulary import vocabulary

NATURAL = vocabulary("natural")
CLASSES = NATURAL.words["class"]
SIDE_BY_SIDE = ("LeftOf", "RightOf", "NextTo")

classes = st.sampled_from(CLASSES)


def test_every_class_of_the_vocabulary_is_described() -> None:
    assert tuple(ontology().entries) == CLASSES
    assert set(RELATIONS) == {p.name for p in NATURAL.predicates.values() if p.arguments == ("variable", "variable")}


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_can_be_described_and_placed(cls: str) -> None:
    known = ontology()
    looks = [word for kind in ("color", "material") for word in known.words_for(cls, kind)]
    assert len(looks) >= 2 or known.entry(cls).category == "people"
    assert len(known.words_for(cls, "state")) >= 2
    assert len(known.partners("NextTo", cls)) == len(CLASSES)
    places = {*known.partners("On", cls), *known.partners("In", cls)}
    assert len(places) >= 2 or cls in ("car", "bus", "boat", "tree", "house")


def test_words_come_in_the_order_of_the_vocabulary() -> None:
    known = ontology()
    for cls in CLASSES:
        for kind in ("color", "material", "shape", "state"):
            words = known.words_for(cls, kind)
            assert list(words) == [word for word in NATURAL.words[kind] if known.suits(cls, kind, word)]


def test_every_word_suits_some_class() -> None:
    for kind in ("color", "material", "shape", "state"):
        for word in NATURAL.words[kind]:
            assert sum(ontology().suits(cls, kind, word) for cls in CLASSES) >= 2, word


@given(classes, classes, st.sampled_from(RELATIONS))
def test_partners_are_those_that_can(a: str, b: str, predicate: str) -> None:
    known = ontology()
    assert (b in known.partners(predicate, a)) == known.can(predicate, a, b)
    assert (a in known.partners(predicate, b, "second")) == known.can(predicate, a, b)
    assert known.can(predicate, a, b) == (known.why_not(predicate, a, b) is None)


@given(classes, classes)
def test_anything_can_be_beside_anything(a: str, b: str) -> None:
    assert all(ontology().can(predicate, a, b) for predicate in SIDE_BY_SIDE)


@given(classes, classes)
def test_only_like_objects_can_be_in_each_other(a: str, b: str) -> None:
    """What is inside is no longer than what it is in; two baskets may be in each other, one at a time."""
    known = ontology()
    if known.can("In", a, b) and known.can("In", b, a) and not known.wears(a, b) and not known.wears(b, a):
        assert known.entry(a).size.length <= known.entry(b).size.length
        assert known.entry(b).size.length <= known.entry(a).size.length


@given(classes, classes, st.sampled_from(RELATIONS))
def test_the_checker_says_what_the_ontology_says(a: str, b: str, predicate: str) -> None:
    text = f"(exists ?a (exists ?b (and (Is ?a '{a}') (Is ?b '{b}') ({predicate} ?a ?b))))"
    assert (find_implausible(text) == []) == ontology().can(predicate, a, b)


@given(classes, st.data())
def test_the_checker_says_which_words_suit(cls: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["color", "material", "shape", "state"]))
    word = data.draw(st.sampled_from(NATURAL.words[kind]))
    text = f"(exists ?a (and (Is ?a '{cls}') (Has{kind.capitalize()} ?a '{word}')))"
    assert (find_implausible(text) == []) == ontology().suits(cls, kind, word)


@given(classes, st.sampled_from(RELATIONS))
def test_nothing_is_related_to_itself(cls: str, predicate: str) -> None:
    assert len(find_implausible(f"(exists ?a (and (Is ?a '{cls}') ({predicate} ?a ?a)))")) == 1


@given(st.sampled_from(["color", "material", "shape", "state"]), st.data())
def test_agreement_is_symmetric(kind: str, data: st.DataObject) -> None:
    one = (kind, data.draw(st.sampled_from(NATURAL.words[kind])))
    other_kind = data.draw(st.sampled_from(["color", "material", "shape", "state"]))
    other = (other_kind, data.draw(st.sampled_from(NATURAL.words[other_kind])))
    assert ontology().agree(one, other) == ontology().agree(other, one)
    assert ontology().agree(one, one)


def test_who_holds_and_who_wears() -> None:
    known = ontology()
    holders = {cls for cls in CLASSES if known.partners("Holding", cls)}
    assert holders == {cls for cls in CLASSES if known.entry(cls).category in ("people", "animals")} - {
        "fish",
        "butterfly",
    } | {"teddy bear"}
    assert {cls for cls in CLASSES if known.entry(cls).worn} == {
        "hat", "shirt", "shoes", "jacket", "glasses", "backpack", "headphones",
    }  # fmt: skip


def test_a_broader_class_allows_what_a_narrower_does() -> None:
    known = ontology()
    for cls in CLASSES:
        for broader in known.entry(cls).broader:
            assert set(known.words_for(cls, "state")) <= set(known.words_for(broader, "state")) | {
                "open", "closed", "broken",
            }  # fmt: skip


def test_unknown_words_are_refused_with_advice() -> None:
    known = ontology()
    with pytest.raises(OntologyError, match="no class 'cup2': did you mean 'cup'"):
        known.entry("cup2")
    with pytest.raises(OntologyError, match="no predicate 'Inn'"):
        known.can("Inn", "cup", "cup")
    with pytest.raises(OntologyError, match="no color 'redd': did you mean 'red'"):
        known.suits("cup", "color", "redd")
    with pytest.raises(OntologyError, match="no kind of word 'colour': did you mean 'color'"):
        known.words_for("cup", "colour")


BROKEN = {
    "missing size": ("food.toml", "size = [8, 8, 0.2]\n", "", "apple: missing size"),
    "unknown field": ("food.toml", "[apple]\n", "[apple]\ntaste = 1\n", "apple: unknown taste"),
    "unknown colour": ("food.toml", '"red", "green"', '"rad", "green"', "unknown color 'rad', did you mean 'red'"),
    "unknown group": ("food.toml", '"@eaten"', '"@eatn"', "unknown state '@eatn', did you mean 'eaten'"),
    "unknown class": ("people.toml", '"teddy bear"', '"tedy bear"', "unknown class 'tedy bear'"),
    "class left out": ("food.toml", "[apple]", "[pear]", "classes: missing apple; unknown pear"),
    "class twice": ("vehicles.toml", "[car]", "[apple]", "classes described twice: unknown apple"),
    "clash": ("clashes.toml", '["on", "off"]', '["on", "of"]', "unknown state 'of'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_data_is_refused(name: str, tmp_path: Path) -> None:
    file, original, replacement, message = BROKEN[name]
    folder = tmp_path / "data"
    with as_file(files("formalimg.language.ontology") / "data") as data:
        shutil.copytree(data, folder)
    assert load_ontology(folder, NATURAL)[0] == ontology().entries
    text = (folder / file).read_text(encoding="utf-8")
    assert original in text
    (folder / file).write_text(text.replace(original, replacement, 1), encoding="utf-8")
    with pytest.raises(OntologyError, match=message):
        load_ontology(folder, NATURAL)


def test_the_data_obey_the_rules() -> None:
    data = files("formalimg.language.ontology") / "data"
    rules, groups = (tomllib.loads((data / name).read_text("utf-8")) for name in ("rules.toml", "groups.toml"))

    def expand(names: list[str]) -> set[str]:
        categories = {cls: entry.category for cls, entry in ontology().entries.items()}
        return {
            cls
            for name in names
            for cls in (
                [name]
                if name[0] != "@"
                else expand(groups["class"].get(name[1:], [cls for cls in CLASSES if categories[cls] == name[1:]]))
            )
        }

    shapeless, solid = expand(rules["shapeless"]), expand(rules["solid"])
    assert len(shapeless) > 20
    assert len(solid) > 20
    for name, entry in ontology().entries.items():
        assert name not in shapeless or not entry.words["shape"]
        assert name not in solid or entry.inside is None
        assert entry.size.length >= entry.size.across > 0 < entry.size.weight
        abilities = (entry.holds, entry.inside, entry.top)
        assert all(ability is None or ability.length > 0 for ability in abilities), name
