"""Only what a formula asserts is judged: under negation, choice and conditions as the logic reads them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from formalimg.language.ontology.plausibility import find_implausible
from formalimg.logic.parser import parse
from formalimg.logic.prenex import to_prenex

CAT_OPEN = "(and (Is ?c 'cat') (HasState ?c 'open'))"
HORSE_ON_CUP = "(exists ?u (and (Is ?u 'cup') (forall ?h (implies (Is ?h 'horse') (On ?h ?u)))))"


def messages(text: str) -> list[str]:
    return [problem.message for problem in find_implausible(text)]


NOT_ASSERTED = [
    f"(not (exists ?c {CAT_OPEN}))",
    f"(exists ?c (or {CAT_OPEN} (Is ?c 'dog')))",
    "(exists ?c (and (Is ?c 'cat') (not (HasState ?c 'open'))))",
    "(exists ?c (and (Is ?c 'cat') (or (HasState ?c 'open') (HasState ?c 'lying'))))",
    "(exists ?c (and (or (Is ?c 'cat') (Is ?c 'book')) (HasState ?c 'open')))",
    "(exists ?c (iff (Is ?c 'cat') (HasState ?c 'open')))",
    f"(at-most 2 ?c {CAT_OPEN})",
    f"(exactly 0 ?c {CAT_OPEN})",
    f"(not (at-least 1 ?c {CAT_OPEN}))",
    "(exists ?c (and (not (Is ?c 'cat')) (HasState ?c 'open')))",
    "(exists ?c (and (Is ?c 'dog') (implies (HasColor ?c 'blue') (HasState ?c 'open'))))",
    "(exists ?b (and (Is ?b 'book') (HasState ?b 'open') (not (HasState ?b 'closed'))))",
    "(not (forall ?c (implies (Is ?c 'cat') (HasState ?c 'open'))))",
    "(exists ?a (exists ?b (and (Is ?a 'cup') (LeftOf ?a ?b) (not (LeftOf ?b ?a)))))",
]


@pytest.mark.parametrize("text", NOT_ASSERTED)
def test_what_is_not_asserted_is_not_reported(text: str) -> None:
    assert messages(text) == []


ASSERTED = [
    f"(exists ?c {CAT_OPEN})",
    f"(exactly 2 ?c {CAT_OPEN})",
    f"(not (not (exists ?c {CAT_OPEN})))",
    "(exists ?c (and (Is ?c 'cat') (or (HasState ?c 'open'))))",
    "(not (forall ?c (not (and (Is ?c 'cat') (HasState ?c 'open')))))",
    "(not (forall ?c (or (not (Is ?c 'cat')) (not (HasState ?c 'open')))))",
    "(exists ?c (not (implies (Is ?c 'cat') (not (HasState ?c 'open')))))",
    "(forall ?c (implies (Is ?c 'cat') (HasState ?c 'open')))",
    "(forall ?c (or (not (Is ?c 'cat')) (HasState ?c 'open')))",
    "(forall ?c (implies (and (Is ?c 'cat') (HasState ?c 'open')) (HasColor ?c 'black')))",
    "(forall ?c (and (Is ?c 'cat') (HasState ?c 'open')))",
    "(exists ?c (and (Is ?c 'cat') (implies (Is ?c 'cat') (HasState ?c 'open'))))",
]


@pytest.mark.parametrize("text", ASSERTED)
def test_what_is_asserted_is_reported_once(text: str) -> None:
    assert messages(text) == ["a cat cannot be open"]


def test_conditions_reach_the_objects_around_them() -> None:
    assert messages(HORSE_ON_CUP) == ["a horse cannot be on a cup: a horse would be too big"]
    inner = "(forall ?m (implies (Is ?m 'man') (exists ?h (and (Is ?h 'house') (Holding ?m ?h)))))"
    assert messages(inner) == ["a man cannot hold a house: a house would be too heavy"]


def test_every_cat_is_also_this_cat() -> None:
    cat = "(exists ?c (and (Is ?c 'cat') (HasState ?c 'sleeping')))"
    assert messages(f"(and {cat} (forall ?x (implies (Is ?x 'cat') (HasState ?x 'running'))))") == [
        "a cat cannot be sleeping and running at once"
    ]
    assert messages(f"(and {cat} (forall ?x (implies (Is ?x 'dog') (HasState ?x 'running'))))") == []


def test_every_person_is_also_this_man() -> None:
    man = "(exists ?m (and (Is ?m 'man') (HasState ?m 'sitting')))"
    assert messages(f"(and {man} (forall ?p (implies (Is ?p 'person') (HasState ?p 'standing'))))") != []
    person = man.replace("'man'", "'person'")
    assert messages(f"(and {person} (forall ?p (implies (Is ?p 'man') (HasState ?p 'standing'))))") == []


def test_two_conditions_on_one_class_meet() -> None:
    placed = "(exists ?{0} (and (Is ?{0} '{1}') ({2} ?{3} ?{0})))"
    first = f"(forall ?a (implies (Is ?a 'apple') {placed.format('t', 'table', 'On', 'a')}))"
    second = f"(forall ?b (implies (Is ?b 'apple') {placed.format('r', 'refrigerator', 'In', 'b')}))"
    expected = ["an apple cannot be on a table and inside a refrigerator at once"]
    assert messages(f"(and {first} {second})") == expected


def test_objects_of_each_condition_are_their_own() -> None:
    """Every cat has a basket of its own: two cats do not share the key in it."""
    text = (
        "(and (exists ?k (and (Is ?k 'cat') (HasColor ?k 'black'))) (forall ?c (implies (Is ?c 'cat') "
        "(exists ?b (and (Is ?b 'key') (Holding ?c ?b))))))"
    )
    assert messages(text) == []


def test_a_variable_bound_twice_is_two_objects() -> None:
    cat = "(exists ?x (and (Is ?x 'cat') (HasState ?x 'lying')))"
    book = "(exists ?x (and (Is ?x 'book') (HasState ?x 'open')))"
    assert messages(f"(and {cat} {book})") == []


def test_the_lifted_form_is_judged_alike() -> None:
    text = (
        "(exists ?r (and (Is ?r 'rock') (forall ?f (implies (Is ?f 'fish') "
        "(and (On ?f ?r) (HasState ?f 'swimming') (exists ?k (and (Is ?k 'key') (In ?k ?f))))))))"
    )
    expected = {
        "a fish that is on a rock cannot be swimming",
        "a key cannot be inside a fish: nothing goes inside a fish",
    }
    assert set(messages(text)) == expected
    assert set(messages(to_prenex(parse(text)).text)) == expected


def test_many_objects_and_conditions_are_judged_in_time() -> None:
    names = [f"a{number}" for number in range(120)]
    facts = " ".join(f"(Is ?{name} 'cup') (LeftOf ?{name} ?{after})" for name, after in pairwise(names))
    rules = " ".join(
        f"(forall ?x{number} (implies (Is ?x{number} 'cup') (HasColor ?x{number} 'red')))" for number in range(60)
    )
    text = f"(and {facts} {rules})"
    for name in names:
        text = f"(exists ?{name} {text})"
    assert messages(text) == []
