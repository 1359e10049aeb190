"""Words for formulas whose things look alike: found, read back, and in a number of steps that hardly grows."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.language import equivalence
from formalimg.language.equivalence import FactSet, SignedAtom, is_equivalent_as_written, is_isomorphic
from formalimg.language.lexicon import WordingError
from formalimg.language.parser import parse_prompt
from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from tests.support.sizes import only_in_full

Pairs = list[tuple[str, int, int]]


def chain(count: int) -> Pairs:
    return [("Above", one, other) for one, other in pairwise(range(count))]


def ring(count: int) -> Pairs:
    return [*chain(count), ("Above", count - 1, 0)]


def star(count: int) -> Pairs:
    return [("LeftOf", place, 0) for place in range(1, count)]


def row(count: int) -> Pairs:
    return [("AlignedHorizontally", one, other) for other in range(count) for one in range(other)]


def grid(count: int, width: int = 3) -> Pairs:
    beside = [("LeftOf", place, place + 1) for place in range(count - 1) if (place + 1) % width]
    return beside + [("Above", place, place + width) for place in range(count - width)]


SHAPES = {"chain": chain, "ring": ring, "star": star, "row": row, "grid": grid}


def formula_of(pairs: Pairs, count: int, classes: tuple[str, ...], names: list[int] | None = None) -> str:
    names = names or list(range(count))
    said = [f"(Is ?v{names[place]} '{classes[place % len(classes)]}')" for place in range(count)]
    said += [f"({relation} ?v{names[one]} ?v{names[other]})" for relation, one, other in pairs]
    opened = "".join(f"(exists ?v{name} " for name in sorted(names))
    return f"{opened}(and {' '.join(said)}){')' * count}"


@given(st.data())
def test_words_read_back_in_few_steps(data: st.DataObject) -> None:
    shape = SHAPES[data.draw(st.sampled_from(sorted(SHAPES)))]
    count = data.draw(st.integers(4, 14))
    classes = data.draw(st.sampled_from([("cup",), ("cup", "book"), ("cup", "book", "fork")]))
    pairs = data.draw(st.permutations(shape(count)))
    formula = parse(formula_of(pairs, count, classes, data.draw(st.permutations(range(count)))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equivalence, "MAX_STEPS", 20 * (count + len(pairs)))
        understood = parse_prompt(realize(formula, "knolling"), "knolling")
        assert is_equivalent_as_written(understood, formula)
        other = [*pairs[:-1], ("SmallerThan", *pairs[-1][1:])]
        assert not is_equivalent_as_written(understood, parse(formula_of(other, count, classes)))


@pytest.mark.parametrize(
    ("pairs", "count", "classes"),
    [
        (chain(32), 32, ("cup", "book")),
        (chain(40), 40, ("cup", "book", "fork")),
        (ring(32), 32, ("cup", "book")),
        (grid(48, 6), 48, ("cup", "book", "fork")),
        (row(16), 16, ("cup",)),
    ],
)
def test_as_many_as_have_names_can_be_told_apart(
    pairs: Pairs, count: int, classes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(equivalence, "MAX_STEPS", 30 * (count + len(pairs)))
    text = formula_of(pairs, count, classes, random.Random(count).sample(range(count), count))
    understood = parse_prompt(realize(parse(text), "knolling"), "knolling")
    assert is_equivalent_as_written(understood, parse(text))
    turned = formula_of([*pairs[1:], ("Above", pairs[0][2], pairs[0][1])], count, classes)
    assert not is_equivalent_as_written(understood, parse(turned))


def test_more_than_that_cannot_be_said() -> None:
    with pytest.raises(WordingError, match="too many objects of the class cup"):
        realize(parse(formula_of(chain(34), 34, ("cup", "book"))), "knolling")
    sentences = " ".join(f"(forall ?a (implies (Is ?a 'cup') (Has ?a '{color}')))" for color in ["red", "blue"] * 600)
    with pytest.raises(
        WordingError, match=r"no words found for the formula: they have \d\d,\d{3} characters, over 20,000"
    ):
        realize(parse(f"(and {sentences})"), "knolling")


@only_in_full
def test_what_is_too_confusing_is_given_up_and_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two triangles and a ring of six look alike from each of their things, and so do those hung up beside them."""
    triangles = [("Above", one, other) for one, other in [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]]
    beside = [("LeftOf", one, other) for one in range(6, 18) for other in range(6)]
    names = [*range(12, 18), *range(12)]
    one, other = (parse(formula_of([*beside, *shape], 18, ("cup",), names)) for shape in (triangles, ring(6)))
    with pytest.raises(WordingError, match="too many of its objects look alike"):
        is_equivalent_as_written(one, other)
    assert is_equivalent_as_written(one, one)
    monkeypatch.setattr(equivalence, "MAX_STEPS", 10)
    with pytest.raises(WordingError, match="no words found for the formula: too many of its objects look alike"):
        realize(parse(formula_of(ring(6), 6, ("cup",))), "knolling")


NAMES = ("?a", "?b", "?c", "?d", "?e")
ARGUMENTS = st.tuples(st.sampled_from(NAMES), st.sampled_from((*NAMES, "'red'")))
WORDS = st.builds(SignedAtom, st.sampled_from(["Above", "LeftOf"]), st.booleans(), ARGUMENTS)
FACTS = st.lists(st.frozensets(WORDS, min_size=1, max_size=2), max_size=8).map(Counter)


@given(FACTS, FACTS, st.permutations(NAMES), st.sampled_from(["same", "other", "turned", "crossed"]))
def test_sides_are_the_same_exactly_if_one_of_all_renamings_says_so(
    facts: Counter[frozenset[SignedAtom]], others: Counter[frozenset[SignedAtom]], order: list[str], change: str
) -> None:
    kinds = dict.fromkeys(NAMES, "exists") | {"?e": "forall"}
    new = dict(zip(NAMES, order, strict=True)) if change != "other" else {name: name for name in NAMES}
    kinds_of_others = {new[name]: kind for name, kind in kinds.items()}
    if change != "other":
        others = renamed(facts, new)
    if change == "turned" and others:
        first = next(iter(others))
        others[frozenset(word._replace(arguments=word.arguments[::-1]) for word in first)] += others.pop(first)
    if change == "crossed" and len(others) > 1:
        one, other = (min(fact) for fact in list(others)[:2])
        for fact, word, end in zip(list(others)[:2], (one, other), (other, one), strict=True):
            crossed = word._replace(arguments=(word.arguments[0], end.arguments[1]))
            others[fact - {word} | {crossed}] += others.pop(fact)
    expected = any(
        renamed(facts, tried) == others and all(kinds_of_others[tried[name]] == kind for name, kind in kinds.items())
        for tried in (dict(zip(NAMES, names, strict=True)) for names in permutations(NAMES))
    )
    assert is_isomorphic(FactSet(kinds, facts), FactSet(kinds_of_others, others)) is expected


def renamed(facts: Counter[frozenset[SignedAtom]], names: dict[str, str]) -> Counter[frozenset[SignedAtom]]:
    new: Counter[frozenset[SignedAtom]] = Counter()
    for fact, count in facts.items():
        new[frozenset(SignedAtom(w.text, w.positive, tuple(names.get(a, a) for a in w.arguments)) for w in fact)] += (
            count
        )
    return new
