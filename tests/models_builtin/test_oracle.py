"""The oracle draws what the formula asks for, or says why it cannot."""

from __future__ import annotations

import pytest

from formalimg.benchmarks.formal.spec import NO_FORMULA, FormulaSpec
from formalimg.logic.parser import parse
from formalimg.logic.verification import verify
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.models.builtin.oracle import compose_solution
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import SolverLimitError
from tests.models_builtin.knolling import knolling

FORMULA = parse("(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') (LeftOf ?a ?b))))")


def _request(spec: object, sample: int = 0, seed: int = 0) -> ImageRequest:
    return ImageRequest("1", sample, "", seed, 256, spec)


def test_further_samples_differ_and_satisfy_the_formula() -> None:
    for item in knolling()[::250]:
        scenes = [compose_solution(_request(item.spec, sample, seed=sample)) for sample in range(3)]
        for scene in scenes:
            assert isinstance(scene, Scene)
            assert verify(item.spec.formula, scene)
        assert scenes[0] == item.spec.witness
        assert len({str(scene) for scene in scenes}) == 3


def test_without_a_witness_one_is_found() -> None:
    scene = compose_solution(_request(FormulaSpec.of(FORMULA)))
    assert isinstance(scene, Scene)
    assert verify(FORMULA, scene)


def test_what_no_image_can_show_is_refused() -> None:
    formula = parse("(exists ?a (and (Is ?a 'cup') (OnLeftSide ?a) (OnRightSide ?a)))")
    answer = compose_solution(_request(FormulaSpec.of(formula)))
    assert isinstance(answer, Refused)
    assert answer.reason.endswith("(OnLeftSide ?a) and (OnRightSide ?a) cannot be true together")


def test_what_is_not_proven_impossible_is_a_failure_not_a_refusal() -> None:
    follows = "(exists ?b (and (Is ?b 'cup') (LeftOf ?a ?b) (LargerThan ?a ?b)))"
    answer = compose_solution(_request(FormulaSpec.of(parse(f"(forall ?a (implies (Is ?a 'cup') {follows}))"))))
    assert isinstance(answer, Failed)
    assert "no scene of up to" in answer.reason


@pytest.mark.parametrize(
    "formula",
    [
        "(exists ?a (Is ?a 'cat'))",
        "(and (IsStyle 'photo') (exists ?a (Is ?a 'cup')))",
        "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'bowl') (In ?a ?b))))",
        "(exists ?a (and (Is ?a 'cup') (HasMaterial ?a 'glass')))",
    ],
)
def test_other_suites_are_failures_that_say_what_to_use(formula: str) -> None:
    answer = compose_solution(_request(FormulaSpec.of(parse(formula))))
    assert isinstance(answer, Failed)
    assert "draws only knolling" in answer.reason
    assert "\n" not in answer.reason


def test_specs_of_another_kind_are_failures() -> None:
    for spec in (None, {"questions": ["is it red?"]}):
        assert isinstance(compose_solution(_request(spec)), Failed)


def test_it_says_that_a_published_text_is_no_formula() -> None:
    answer = compose_solution(_request(FormulaSpec(NO_FORMULA, unreadable="(and")))
    assert isinstance(answer, Failed)
    assert "the published dsl is no formula" in answer.reason


def test_a_search_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise SolverLimitError("too many steps")

    monkeypatch.setattr("formalimg.models.builtin.oracle.solve", give_up)
    spec = FormulaSpec.of(parse("(exists ?x (Is ?x 'cup'))"))
    assert compose_solution(_request(spec)) == Failed("builtin/oracle found no scene: too many steps")
