"""Absurdities are reported with their reason, sensible statements pass."""

from __future__ import annotations

import pytest

from formalimg.language.ontology.plausibility import find_implausible
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Exists
from tests.support.published import published_instances


def formula_of(objects: str, facts: str = "") -> str:
    """A formula: "cat c, cup u" are the objects, "In c u; HasColor c black" the facts."""
    named = [obj.rsplit(" ", 1) for obj in objects.split(", ")]
    claims = [f"(Is ?{name} '{cls}')" for cls, name in named]
    for fact in filter(None, facts.split("; ")):
        predicate, obj, other = fact.split(" ")
        claims.append(f"({predicate} ?{obj} {repr(other) if predicate.startswith('Has') else '?' + other})")
    text = f"(and {' '.join(claims)})"
    for _, name in reversed(named):
        text = f"(exists ?{name} {text})"
    return text


ABSURD = {
    # What an object is like
    "a rectangular lion": ("lion l", "HasShape l rectangular", "a lion cannot be rectangular"),
    "a wooden cat": ("cat c", "HasMaterial c wooden", "a cat cannot be wooden"),
    "a brick woman": ("woman w", "HasMaterial w brick", "a woman cannot be brick"),
    "a purple man": ("man m", "HasColor m purple", "a man cannot be purple"),
    "a fluffy hammer": ("hammer h", "HasMaterial h fluffy", "a hammer cannot be fluffy"),
    "a triangular bus": ("bus b", "HasShape b triangular", "a bus cannot be triangular"),
    "a cylindrical book": ("book b", "HasShape b cylindrical", "a book cannot be cylindrical"),
    "a sliced car": ("car c", "HasState c sliced", "a car cannot be sliced"),
    "a flying elephant": ("elephant e", "HasState e flying", "an elephant cannot be flying"),
    "a rusty apple": ("apple a", "HasState a rusty", "an apple cannot be rusty"),
    "shoes that are switched on": ("shoes s", "HasState s on", "shoes cannot be on"),
    # Words that exclude each other
    "a book open and closed": ("book b", "HasState b open; HasState b closed", "open and closed at once"),
    "a lamp on and off": ("lamp l", "HasState l on; HasState l off", "on and off at once"),
    "a man standing and lying": ("man m", "HasState m standing; HasState m lying", "standing and lying at once"),
    "a flower in bloom and withered": ("flower f", "HasState f blooming; HasState f withered", "at once"),
    "a bird flying and sitting": ("bird b", "HasState b flying; HasState b sitting", "flying and sitting at once"),
    "a car of two colours": ("car c", "HasColor c red; HasColor c blue", "red and blue at once"),
    "a cup of two materials": ("cup c", "HasMaterial c glass; HasMaterial c paper", "glass and paper at once"),
    "a table of two shapes": ("table t", "HasShape t round; HasShape t square", "round and square at once"),
    "a rusty wooden bench": ("bench b", "HasMaterial b wooden; HasState b rusty", "wooden and rusty at once"),
    "a withered plastic plant": ("plant p", "HasState p withered; HasMaterial p plastic",
     "withered and plastic at once"),
    # Holding
    "a woman holds a refrigerator": ("woman w, refrigerator r", "Holding w r", "a refrigerator would be too heavy"),
    "a man holds a house": ("man m, house h", "Holding m h", "a house would be too heavy"),
    "a table holds a fork": ("table t, fork f", "Holding t f", "no hand, paw or mouth"),
    "a bird holds a bicycle": ("bird b, bicycle c", "Holding b c", "a bicycle would be too heavy"),
    # Inside
    "a key in an apple": ("key k, apple a", "In k a", "nothing goes inside an apple"),
    "an elephant in a cup": ("elephant e, cup c", "In e c", "an elephant would be too big"),
    "a man in a bottle": ("man m, bottle b", "In m b", "a man would be too big"),
    "a refrigerator in a backpack": ("refrigerator r, backpack b", "In r b", "a refrigerator would be too big"),
    "a spoon in a cat": ("spoon s, cat c", "In s c", "nothing goes inside a cat"),
    "a fork in a bed": ("fork f, bed b", "In f b", "that is no place for a fork"),
    # Resting on
    "a horse on a cup": ("horse h, cup c", "On h c", "a horse would be too big"),
    "a table on a butterfly": ("table t, butterfly b", "On t b", "nothing rests on a butterfly"),
    "an elephant on a table": ("elephant e, table t", "On e t", "an elephant would be too big"),
    "a man on a flower": ("man m, flower f", "On m f", "a man would be too big"),
    "a fork on a house": ("fork f, house h", "On f h", "that is no support for a fork"),
    "a house on a boat": ("house h, boat b", "On h b", "a house would be too big|a house would be too heavy"),
    # Several objects together
    "two baskets in each other": ("basket a, basket b", "In a b; In b a", "would be inside, on or held by itself"),
    "two books on each other": ("book a, book b", "On a b; On b a", "would be inside, on or held by itself"),
    "a chain that bites its tail": ("cup a, book b, plate c", "On a b; On b c; On c a", "held by itself"),
    "a child in the basket it holds": ("child c, basket b", "In c b; Holding c b", "held by itself"),
    "a cup left of a plate left of it": ("cup a, plate b", "LeftOf a b; LeftOf b a", "to the left of itself"),
    "left and right of one thing": ("cup a, plate b", "LeftOf a b; RightOf a b", "to the left of itself"),
    "a basket in itself": ("basket b", "In b b", "a basket cannot be inside itself"),
    "a man in a car and a bus": ("man m, car c, bus b", "In m c; In m b", "inside a car and inside a bus at once"),
    "a key in two cups": ("key k, cup a, cup b", "In k a; In k b", "inside a cup and inside a cup at once"),
    "a cup on a table and a bed": ("cup c, table t, bed b", "On c t; On c b", "on a table and on a bed at once"),
    "a hat on two heads": ("hat h, man m, woman w", "On h m; On h w", "on a man and on a woman at once"),
    "a key in two hands": ("key k, man m, woman w", "Holding m k; Holding w k", "too small to be held by two"),
    "a cup in a bowl in a cup": ("cup d, bowl b, cup c", "In d b; In b c", "a bowl would be too big"),
    "a child in a basket in a drawer": ("child c, basket b, desk d", "In c b; In b d", "by way of a basket"),
    "a bed in a bus in a wardrobe": ("bed b, bus s, wardrobe w", "In b s; In s w",
     "by way of a bus: a bed would be too"),
    "a cat in a toy car": ("cat c, toy car t", "In c t", "nothing goes inside a toy car"),
    "a fish in and beside a bowl": ("fish f, bowl b", "In f b; NextTo f b", "cannot be beside it too"),
    "a cup on and beside a table": ("cup c, table t", "On c t; NextTo t c", "cannot be beside it too"),
    "a cat in and on a car": ("cat c, car a", "In c a; On c a", "cannot be on it too"),
    "an empty bowl with fruit in it": ("bowl b, fruit f", "HasState b empty; In f b",
     "cannot be empty while a fruit is"),
    "an empty plate under a cake": ("plate p, cake c", "On c p; HasState p empty", "cannot be empty while a cake is"),
    "a flying bird that rests": ("bird b, bench c", "On b c; HasState b flying", "on a bench cannot be flying"),
}  # fmt: skip


SENSIBLE = {
    "a fluffy cat": ("cat c", "HasMaterial c fluffy"),
    "a pink elephant": ("elephant e", "HasColor e pink"),
    "a brick house": ("house h", "HasMaterial h brick; HasState h burning"),
    "a round table": ("table t", "HasShape t round; HasMaterial t wooden; HasColor t brown"),
    "a sliced pizza": ("pizza p", "HasState p sliced; HasState p bitten"),
    "a lamp that is on": ("lamp l", "HasState l on"),
    "an open umbrella": ("umbrella u", "HasState u open; HasState u wet"),
    "a swimming dog": ("dog d", "HasState d swimming; HasState d wet"),
    "a sleeping child": ("child c", "HasState c sleeping; HasState c lying; HasState c smiling"),
    "a standing horse asleep": ("horse h", "HasState h standing; HasState h sleeping"),
    "a melting clock": ("clock c", "HasState c melting; HasShape c round"),
    "leather shoes": ("shoes s", "HasMaterial s leather; HasColor s brown; HasState s dirty"),
    "a teddy bear that sits": ("teddy bear t", "HasState t sitting; HasMaterial t fluffy"),
    "a woman holds a cup": ("woman w, cup c", "Holding w c"),
    "a lion holds a spoon": ("lion l, spoon s", "Holding l s"),
    "a teddy bear holds an apple": ("teddy bear t, apple a", "Holding t a"),
    "two hold one umbrella": ("man m, woman w, umbrella u", "Holding m u; Holding w u"),
    "two hold each other": ("teddy bear c, teddy bear d", "Holding c d; Holding d c"),
    "a key in a cup": ("key k, cup c", "In k c"),
    "a fish in a bowl": ("fish f, bowl b", "In f b; HasState f swimming"),
    "a lion in a wardrobe": ("lion l, wardrobe w", "In l w"),
    "people in a bus": ("man m, woman w, bus b", "In m b; In w b"),
    "a child in a bed": ("child c, bed b", "In c b; On c b; HasState c sleeping"),
    "a laptop in a backpack": ("laptop l, backpack b", "In l b"),
    "a woman in a jacket": ("woman w, jacket j", "In w j; On j w"),
    "an elephant in a house": ("elephant e, house h", "In e h"),
    "a bird in a tree": ("bird b, tree t", "In b t; On b t"),
    "fruit in a bowl in a refrigerator": ("fruit f, bowl b, refrigerator r", "In f b; In b r; In f r"),
    "a cat in a basket and in a house": ("cat c, basket b, house h", "In c b; In c h"),
    "a cup on a table": ("cup c, table t", "On c t"),
    "a cat on a keyboard": ("cat c, keyboard k", "On c k"),
    "a woman sits on and holds a chair": ("woman w, chair b", "On w b; Holding w b"),
    "a hat on a dog": ("hat h, dog d", "On h d"),
    "a stack of books": ("book a, book b, book c", "On a b; On b c"),
    "a cat across two chairs": ("cat c, chair a, chair b", "On c a; On c b"),
    "a cake on a plate on a table": ("cake c, plate p, table t", "On c p; On p t; On c t"),
    "a butterfly on a teddy bear": ("butterfly b, teddy bear t", "On b t"),
    "a ball held to the left": ("child c, ball b", "Holding c b; LeftOf b c"),
    "a house beside a key": ("house h, key k", "NextTo h k; NextTo k h"),
    "a row": ("car a, bus b, boat c", "LeftOf a b; LeftOf b c; RightOf c a"),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd(name: str) -> None:
    objects, facts, reason = ABSURD[name]
    formula = formula_of(objects, facts)
    assert check(formula, "natural") == []
    problems = find_implausible(formula)
    assert any(part in problem.message for problem in problems for part in reason.split("|")), [*map(str, problems)]
    assert len(problems) <= 2, [*map(str, problems)]


@pytest.mark.parametrize("name", SENSIBLE)
def test_sensible(name: str) -> None:
    objects, facts = SENSIBLE[name]
    formula = formula_of(objects, facts)
    assert check(formula, "natural") == []
    assert [*map(str, find_implausible(formula))] == []


def test_one_object_of_two_classes() -> None:
    assert [problem.message for problem in find_implausible("(exists ?x (and (Is ?x 'cat') (Is ?x 'dog')))")] == [
        "one object cannot be a cat and a dog"
    ]
    assert find_implausible("(exists ?x (and (Is ?x 'man') (Is ?x 'person') (HasState ?x 'smiling')))") == []
    assert find_implausible("(exists ?x (and (Is ?x 'apple') (Is ?x 'fruit') (HasColor ?x 'red')))") == []


def test_problems_stand_at_the_fact_that_is_to_blame() -> None:
    text = formula_of("cat c, cup u", "HasColor c black; Holding u c")
    (problem,) = find_implausible(text)
    assert problem.span.text == "(Holding ?u ?c)"
    (problem,) = find_implausible(formula_of("book b", "HasState b open; HasColor b red; HasState b closed"))
    assert problem.span.text == "(HasState ?b 'closed')"


def test_formulas_built_by_code_get_places_too() -> None:
    text = formula_of("lion l", "HasShape l rectangular")
    parsed = parse(text)
    assert find_implausible(parsed) == find_implausible(text)
    assert isinstance(parsed, Exists)
    (problem,) = find_implausible(Exists(parsed.variable, parsed.body))
    assert problem.span.text == "(HasShape ?l 'rectangular')"


def test_bad_syntax_is_reported() -> None:
    assert [problem.kind for problem in find_implausible("(exists ?x (Is ?x 'cat')")] == ["syntax"]


def test_what_check_reports_is_left_to_check() -> None:
    for text in (
        "(exists ?x (and (Is ?x 'dragon') (HasColor ?x 'gold') (Flies ?x)))",
        "(exists ?x (and (Is ?x 'cat') (In ?x) (On ?x 'cup') (HasColor ?x ?x) (LeftOf ?x ?y)))",
        "(IsStyle 'photo')",
    ):
        assert find_implausible(text) == []


def test_the_published_sample_is_plausible() -> None:
    natural = [instance for instance in published_instances() if instance.suite == "natural"]
    assert len(natural) == 32
    reported = {
        instance.id: [str(problem) for problem in find_implausible(instance.data["dsl"])]
        for instance in natural
        if find_implausible(instance.data["dsl"])
    }
    assert reported == {}


def test_the_lifted_form_says_the_same() -> None:
    for instance in published_instances():
        if instance.suite == "natural":
            assert find_implausible(instance.data["cnf"]) == [], instance.id
