"""The words of a formula lead back to the formula, and are well formed."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.parser import parse_prompt
from formalimg.language.realization import realize
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.prenex import complexity
from formalimg.logic.syntax import And, Atom, Exists, Formula, Value, Variable, atoms
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.published import published_instances
from tests.support.sayable_formulas import Sayable, Taste
from tests.support.sizes import only_in_full, tries

SUITES = ("knolling", "natural")
TASTES = {
    "plain": Taste(),
    "with or and not": Taste(logic=0.25, twins=0.3),
    "many of one class": Taste(logic=0.2, twins=0.6, nameless=0.15),
}


def made(suite: str, taste: str, count: int) -> Iterator[tuple[int, Formula]]:
    for seed in range(count):
        yield seed, Sayable(suite, seed, TASTES[taste]).formula(seed % 10 + 1)


def test_all_published_formulas_come_back() -> None:
    instances = published_instances()
    assert len(instances) == 62
    for suite, number, data in instances:
        formula = parse(data["dsl"])
        texts = {realize(formula, suite, seed=seed) for seed in range(tries(1, 4))}
        for text in texts:
            assert is_equivalent_as_written(parse_prompt(text, suite), formula), (suite, number, text)
            assert_well_formed(text)


@pytest.mark.parametrize("taste", TASTES)
@pytest.mark.parametrize("suite", SUITES)
def test_random_formulas_come_back(suite: str, taste: str) -> None:
    for seed, formula in made(suite, taste, tries(20, 350)):
        text = realize(formula, suite, seed=seed)
        found = parse_prompt(text, suite)
        assert check(found, suite) == [], text
        assert is_equivalent_as_written(found, formula), (text, str(formula))
        assert_well_formed(text)


@pytest.mark.parametrize("taste", TASTES)
def test_the_formula_that_comes_back_is_true_of_the_same_scenes(taste: str) -> None:
    """Held against the geometry, so that it does not hang on our own comparison of formulas."""
    chance = random.Random(taste)
    truths = []
    for seed, formula in made("knolling", taste, tries(20, 150)):
        found = parse_prompt(realize(formula, "knolling", seed=seed), "knolling")
        for _ in range(8):
            scene = scene_for(formula, chance)
            truths.append(bool(verify(formula, scene)))
            assert bool(verify(found, scene)) is truths[-1]
    assert 0.025 < sum(truths) / len(truths) < 0.975


def scene_for(formula: Formula, chance: random.Random) -> Scene:
    """Things of the classes and colours that the formula speaks of."""
    said = list(atoms(formula))
    classes = [a.arguments[1].text for a in said if a.predicate == "Is" and isinstance(a.arguments[1], Value)]
    colors = [a.arguments[1].text for a in said if a.predicate == "Has" and isinstance(a.arguments[1], Value)]

    def box() -> Box:
        (left, right), (top, bottom) = (sorted(chance.sample(range(0, 1001, 50), 2)) for _ in range(2))
        return Box(left, top, right, bottom)

    count = chance.randint(len(classes), 2 * len(classes) + 1)
    picked = classes + chance.choices(classes or ["cup"], k=count)
    return Scene.of(SceneObject(label, box(), chance.choice(colors or ["red"])) for label in picked)


@pytest.mark.parametrize("suite", SUITES)
def test_every_word_of_the_vocabulary_can_be_said(suite: str) -> None:
    words = vocabulary(suite)
    for name, predicate in words.predicates.items():
        kinds = [kind for kind in predicate.arguments if kind != "variable"]
        for word in words.words[kinds[0]] if kinds else [""]:
            for formula in with_atom(name, predicate.arguments, word):
                for seed in range(tries(1, 3)):
                    text = realize(formula, suite, seed=seed)
                    assert is_equivalent_as_written(parse_prompt(text, suite), formula), text
                    assert_well_formed(text)


def with_atom(name: str, kinds: tuple[str, ...], word: str) -> Iterator[Formula]:
    """The atom of a cup, beside a plate, and in a rule."""
    cup, plate = Variable("a"), Variable("b")
    values = {"variable": iter([cup, plate])}
    atom = Atom(name, tuple(next(values[kind]) if kind in values else Value(word) for kind in kinds))
    things = (Atom("Is", (plate, Value("plate"))), *(() if name == "Is" else (Atom("Is", (cup, Value("cup"))),)))
    yield Exists(cup, Exists(plate, And((*things, atom))))
    if kinds.count("variable") == 1 and name != "Is":
        yield parse(f"(forall ?a (implies (Is ?a 'cup') {atom}))")
        yield parse(f"(forall ?a (implies {atom} (Is ?a 'cup')))")
    if name == "Is":
        yield parse(f"(forall ?a (implies {atom} (exists ?b (and (Is ?b 'cup') (LeftOf ?b ?a)))))")


@only_in_full
def test_the_same_seed_gives_the_same_words_whatever_the_hash_seed() -> None:
    script = (
        "from tests.language.test_wording_round_trip import made\n"
        "from formalimg.language import realize\n"
        "for suite in ('knolling', 'natural'):\n"
        "    for seed, formula in made(suite, 'many of one class', 60):\n"
        "        print(realize(formula, suite, seed=seed))\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "77")
    }
    assert len(texts) == 1
    assert len(texts.pop().splitlines()) == 120


def test_seeds_vary_the_words() -> None:
    formula = Sayable("knolling", 8, TASTES["plain"]).formula(6)
    assert len({realize(formula, "knolling", seed=seed) for seed in range(20)}) > 5


def assert_well_formed(text: str) -> None:
    """Capitals, full stops, spaces, articles and verbs."""
    assert text == text.strip()
    assert "  " not in text
    assert "_" not in text
    assert "?" not in text
    assert text.endswith(".")
    for sentence in text.removesuffix(".").split(". "):
        assert sentence[0].isupper(), sentence
        assert "." not in sentence
    assert not re.search(r" [.,;]|[,;][^ ]|,,", text), text
    for article, letter in re.findall(r"\b(an?) (\w)", text, re.IGNORECASE):
        assert (article.lower() == "an") is (letter in "aeiou"), text
    pairs = r"(jeans|scissors|pliers|headphones|glasses|keys|shoes)"
    assert not re.search(rf"(^|[.;] |, and )the {pairs} (is|has)\b", text, re.IGNORECASE), text
    assert not re.search(rf"\b(an?|every) {pairs}\b", text), text
    assert not re.search(r"\b(\w+) \1\b", text.replace("orange orange", "").replace("glass glasses", "")), text


DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "wording.md"
_EXAMPLE = re.compile(r"^(\w+), K = (\d+), seed (\d+)\n\n```text\n(.+)\n```\n\n> (.+)$", re.MULTILINE)


def test_the_examples_of_the_documentation_are_up_to_date() -> None:
    examples = _EXAMPLE.findall(DOCS.read_text(encoding="utf-8"))
    assert len(examples) == 4
    for suite, level, seed, formula, words in examples:
        assert complexity(parse(formula)) == int(level)
        assert realize(parse(formula), suite, seed=int(seed)) == words
