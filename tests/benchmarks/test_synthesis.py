"""Made items keep their promises: satisfiable, exact, unlike each other, and the same wherever they are made."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.formal.synthesis import generator
from formalimg.benchmarks.formal.synthesis.generator import VERSION, Recipe, SynthesisError, make_items
from formalimg.benchmarks.formal.synthesis.geometry import find_redundant
from formalimg.benchmarks.formal.synthesis.natural import draw_natural, is_possible_together
from formalimg.benchmarks.formal.texts import count_contents
from formalimg.benchmarks.loader import load
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.ontology.plausibility import find_implausible
from formalimg.language.parser import parse_prompt
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.prenex import complexity, component_sizes
from formalimg.logic.syntax import And, Not, Or, Value, atoms, subformulas
from formalimg.logic.verification import verify
from formalimg.scenes.rules import AS_READ
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.spatial_relations import is_natural_witness
from formalimg.types import Item
from tests.support.sizes import only_in_full, tries

SUITES = ("knolling", "natural")
PER_LEVEL = tries(2, 12)


@pytest.fixture(scope="module", params=SUITES)
def made(request: pytest.FixtureRequest) -> list[Item[FormulaSpec]]:
    return make_items(Recipe(request.param, per_level=PER_LEVEL, seed=7)).items


def test_items_are_well_formed_and_exact(made: list[Item[FormulaSpec]]) -> None:
    assert len(made) == 10 * PER_LEVEL
    for item in made:
        formula = item.spec.formula
        assert check(formula, item.suite, k=item.level, single_component=True) == []
        assert complexity(formula) == item.level
        assert int(item.id) // PER_LEVEL + 1 == item.level


def test_prompts_have_no_words_that_join_nothing(made: list[Item[FormulaSpec]]) -> None:
    for item in made:
        for words in ("in each case", "finally", "additionally", "furthermore", " while "):
            assert words not in item.prompt.lower(), item.prompt


def test_natural_formulas_say_nothing_odd_of_a_class() -> None:
    """Lists by hand, not the data that formulas are drawn from."""
    living = ["person", "man", "woman", "child", "cat", "dog", "bird", "horse", "elephant", "lion", "butterfly"]
    kinds = [{"fruit", word} for word in ("apple", "banana", "orange")]
    kinds += [{"person", word} for word in ("man", "woman", "child")] + [{"plant", word} for word in ("tree", "flower")]
    drawn = 0
    for seed in range(tries(300, 3000)):
        formula = draw_natural(seed % 10 + 1, random.Random(seed))
        if formula is None:
            continue
        drawn += 1
        text = str(formula)
        classes = set(re.findall(r"\(Is \?\w+ '([\w ]+)'\)", text))
        assert not any(pair <= classes for pair in kinds), text
        for name, _ in re.findall(r"\(HasState \?(\w+) '(standing|sitting|lying|kneeling)'\)", text):
            assert name in living, text
        assert "(HasShape ?orange 'round')" not in text
        assert "(HasColor ?orange 'orange')" not in text
        assert not re.search(r"\(In \?(fork|knife|spoon) \?bottle\)|\(In \?\w+ \?tree\)", text), text
    assert drawn > tries(150, 1500)


def test_formulas_are_as_long_as_the_published_ones(made: list[Item[FormulaSpec]]) -> None:
    for item in made:
        most = 2.9 if item.suite == "knolling" else 2.5
        assert len(list(atoms(item.spec.formula))) <= most * item.level + 1, str(item.spec.formula)


def test_the_words_say_what_the_formula_says(made: list[Item[FormulaSpec]]) -> None:
    for item in made:
        assert is_equivalent_as_written(parse_prompt(item.prompt, item.suite), item.spec.formula), item.prompt


def test_items_are_proven_and_say_nothing_twice(made: list[Item[FormulaSpec]]) -> None:
    for item in made:
        if item.suite != "knolling":
            assert item.spec.witness is not None
            assert is_natural_witness(item.spec.formula, item.spec.witness, AS_READ.margin, style=item.spec.style)
            continue
        formula, witness = item.spec.formula, item.spec.witness
        assert witness is not None
        assert verify(formula, witness)
        assert keeps_margin(formula, witness, AS_READ)
        assert not verify(formula, Scene(()))
        assert find_redundant([atom for atom in atoms(formula) if atom.predicate not in ("Is", "Has")], AS_READ) == []


def test_natural_items_are_plausible(made: list[Item[FormulaSpec]]) -> None:
    for item in made:
        if item.suite == "natural":
            assert find_implausible(item.spec.formula) == [], str(item.spec.formula)


def test_what_is_in_a_closed_place_would_not_be_seen() -> None:
    for item in load("natural"):
        said = list(atoms(item.spec.formula))
        closed = {atom.variables for atom in said if Value("closed") in atom.arguments}
        assert not any(atom.predicate == "In" and atom.variables[1:] in closed for atom in said), item.prompt


@pytest.mark.parametrize(
    ("relations", "is_drawn"),
    [
        ("(In ?rug ?wardrobe) (On ?bicycle ?rug)", False),  # the bicycle would be in the wardrobe
        ("(In ?rug ?car) (On ?book ?rug)", True),
        ("(In ?sofa ?bus) (NextTo ?rug ?sofa) (In ?rug ?house)", False),  # the bus would be in the house
        ("(In ?orange ?refrigerator) (NextTo ?lamp ?orange)", False),
        ("(Holding ?woman ?rug) (On ?desk ?rug)", False),
        ("(Holding ?woman ?rug) (On ?book ?rug)", True),
        ("(On ?rug ?chair) (On ?wardrobe ?rug)", False),
        ("(On ?rug ?chair) (On ?cat ?rug)", True),
        ("(In ?cat ?wardrobe) (HasState ?wardrobe 'closed')", False),
        ("(In ?cat ?wardrobe) (HasState ?wardrobe 'open')", True),
    ],
)
def test_what_holds_one_by_one_must_hold_together(relations: str, is_drawn: bool) -> None:
    together = list(atoms(parse(f"(and {relations})")))
    assert is_possible_together(together) == is_drawn


def test_the_same_items_from_several_processes() -> None:
    recipe = Recipe("natural", levels=(1, 4), per_level=tries(4, 15))
    assert make_items(recipe, jobs=2) == make_items(recipe, jobs=1)


@only_in_full
def test_the_same_bytes_under_another_hash_seed(tmp_path: Path) -> None:
    def bytes_under(seed: str) -> bytes:
        folder = tmp_path / seed
        subprocess.run(
            [
                sys.executable,
                "-m",
                "formalimg",
                "items",
                "synth",
                "knolling",
                "--levels",
                "2,5",
                "--per-level",
                "1",
                "--out",
                str(folder),
            ],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        return (folder / "items.jsonl").read_bytes()

    assert bytes_under("1") == bytes_under("2")


def test_only_the_default_recipe_has_a_version() -> None:
    assert Recipe("natural").version == Recipe("knolling-counts", (1, 2, 3, 4, 5)).version == VERSION
    for other in (Recipe("natural", (1,)), Recipe("natural", per_level=3), Recipe("natural", seed=2)):
        assert other.version == ""


def test_the_controlled_set_has_many_objects_and_low_k() -> None:
    for suite in SUITES:
        for item in make_items(Recipe(suite, (1, 2), tries(2, 4), objects=10)).items:
            sizes = component_sizes(item.spec.formula)
            assert sizes == [item.level] * (10 // item.level)
            assert item.tags == ("objects-10",)
            assert len(item.spec.object_classes) == 10


def test_components_are_plausible_together() -> None:
    items = make_items(Recipe("natural", (1, 2), tries(3, 20), seed=2, objects=10)).items
    assert [item.prompt for item in items if find_implausible(item.spec.formula)] == []


def test_connectives_are_an_option() -> None:
    for suite in SUITES:
        items = make_items(Recipe(suite, (3, 5), tries(16, 24), connectives=True)).items
        used = {type(node) for item in items for node in subformulas(item.spec.formula)}
        assert {And, Or, Not} <= used
        for item in items:
            assert complexity(item.spec.formula) == item.level
            assert is_equivalent_as_written(parse_prompt(item.prompt, suite), item.spec.formula), item.prompt


def test_wrong_recipes_are_refused() -> None:
    for arguments, says in [
        (("zoo",), "unknown suite"),
        (("natural", (0,)), "between 1 and 30"),
        (("natural", ()), "between 1 and 30"),
        (("natural", (1,), 0), "at least one"),
        (("natural", (3,), 1, 1, 10), "cannot be divided"),
    ]:
        with pytest.raises(SynthesisError, match=says):
            Recipe(*arguments)  # type: ignore[arg-type]


def test_draws_that_come_to_nothing_end_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "draw_natural", lambda level, chance, styled: None)
    with pytest.raises(SynthesisError, match=r"came out of 4,000 draws \(4,000 draw\): take another level or seed"):
        make_items(Recipe("natural", (3,), 1))
    monkeypatch.setattr(generator, "draw_natural", lambda level, chance, styled: parse("(exists ?a (Is ?a 'cup'))"))
    monkeypatch.setattr(generator, "_MAX_DRAWS", 50)
    with pytest.raises(SynthesisError, match="50 draws gave nothing new of level 1: ask for at most 1 items per level"):
        make_items(Recipe("natural", (1,), 2))


def test_census_counts_everything(made: list[Item[FormulaSpec]]) -> None:
    census = count_contents(made[0].suite, made)
    assert census.items == sum(census.levels.values()) == sum(census.patterns.values()) == len(made)
    assert sum(census.classes.values()) == sum(census.levels[k] * k for k in census.levels)
    assert abs(sum(census.predicate_shares.values()) / len(census.predicate_shares) - 1) < 1e-9
