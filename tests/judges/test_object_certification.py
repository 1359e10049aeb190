"""Judges of objects are measured by drawings of all six tasks; another implementation of the rule agrees with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from formalimg.benchmarks.geneval.drawings import make_drawn_items
from formalimg.benchmarks.geneval.form import TAGS
from formalimg.benchmarks.loader import load
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.base import LoadedImage
from formalimg.judges.certificates.certificate import JudgeCertificate
from formalimg.judges.certificates.findings import find_faults
from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes
from formalimg.judges.certificates.measurement import (
    FLIPPED,
    SHOWN,
    DrawingAnswer,
    ExampleAnswers,
    certify_judge,
    count_answers,
    count_nuisances,
)
from formalimg.judges.factory import open_judge
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.command import formalimg
from tests.support.geneval_oracle import expect
from tests.support.sizes import tries

SUITE, SEED = "geneval", 5
EXAMPLES = Path(__file__).parents[2] / "examples" / "geneval"


@pytest.fixture(scope="module")
def examples() -> list[FlippedScene]:
    return list(flipped_scenes(SUITE, tries(48, 300), SEED))


def _expected(item: Item[object], drawn: DrawnScene) -> tuple[bool, int]:
    """Whether the rule passes a scene, and its number of reasons, by the oracle."""
    found: dict[str, list[dict[str, object]]] = {}
    for obj in drawn.scene.objects:
        found.setdefault(obj.label, []).append({"box": list(obj.box), "score": 1.0, "color": obj.color})
    return expect(item.spec.to_metadata(), found)  # type: ignore[attr-defined]


def test_one_reason_by_another_implementation(examples: list[FlippedScene]) -> None:
    for example in examples:
        assert _expected(example.item, example.shown) == (True, 0)
        assert _expected(example.item, example.flipped) == (False, 1), example.part


def test_all_tasks_kinds_relations_and_both_sides_of_a_count(examples: list[FlippedScene]) -> None:
    assert {example.item.spec.tag for example in examples} == set(TAGS)
    assert {example.part.kind for example in examples} == {"object", "count", "attribute", "relation"}
    relations = {example.word for example in examples if example.part.kind == "relation"}
    assert len(relations) >= 3
    counted = [it for it in examples if it.item.spec.tag == "counting" and it.part.kind == "count"]
    assert {it.part.name.startswith("fewer than") for it in counted} == {True, False}


def test_items_are_in_our_words_and_each_is_another() -> None:
    items = make_drawn_items(SUITE)
    assert len({item.prompt for item in items}) == len({item.id for item in items}) == len(items)
    assert items == make_drawn_items(SUITE)
    assert not [
        item.prompt for item in items if re.search(r"\ba [aeiou]|\ban [^aeiou]|ss\b|knifes|scissorss", item.prompt)
    ]
    assert {item.level for item in items} == {item.level for item in load(SUITE, EXAMPLES)}


@pytest.mark.parametrize("profile", ["strict", "logic"])
def test_every_profile_has_the_part_that_was_flipped(profile: str) -> None:
    found = certify_judge(open_judge(SUITE, "builtin/icons", {"profile": profile}), SUITE, 8, SEED)
    assert found.reaches(1.0), found
    assert found.clauses.true == found.clauses.false == 8


def test_a_certificate_in_which_a_kind_was_never_asked_about_reaches_nothing() -> None:
    found = certify_judge(open_judge(SUITE, "builtin/icons"), SUITE, 2, SEED)
    assert found.whole.sensitivity.value == found.whole.specificity.value == 1
    assert {each.false for each in found.by("kind")} == {0, 2}
    assert not found.reaches(0.5)


def _answers(examples: Sequence[FlippedScene], blind: str) -> list[ExampleAnswers]:
    """The answers of a judge that says yes to one kind of check, and is right elsewhere."""
    found = []
    for example in examples:
        said = example.part.kind == blind
        pair = {SHOWN: DrawingAnswer(True, True), FLIPPED: DrawingAnswer(said, said)}
        found.append(ExampleAnswers(example, dict(pair)))
    return found


@pytest.mark.parametrize(("blind", "named"), [("count", "counts"), ("attribute", "colours"), ("relation", "relations")])
def test_a_judge_that_does_not_see_one_kind_is_named(examples: list[FlippedScene], blind: str, named: str) -> None:
    answers = _answers(examples, blind)
    counts = count_answers(SUITE, answers)
    certificate = JudgeCertificate("lab/blind", SUITE, len(answers), SEED, 0, {}, counts, count_nuisances(answers))
    faults = " ".join(find_faults(certificate))
    assert f"does not see {named}, at chance" in faults
    assert not [kind for kind in ("counts", "colours", "relations") if kind != named and f"see {kind}" in faults]


@dataclass(frozen=True)
class KnowsOneClass:
    """A judge, and a grounder, that knows cups and forks only."""

    name: str = "lab/cups"
    concurrency: int = 1

    @property
    def settings(self) -> dict[str, Setting]:
        return {}

    @property
    def grounder(self) -> KnowsOneClass:
        return self

    def unknown_classes(self, wanted: Item[object] | Sequence[str]) -> tuple[str, ...]:
        classes = wanted.spec.object_classes if isinstance(wanted, Item) else wanted  # type: ignore[attr-defined]
        return tuple(name for name in classes if name not in ("cup", "fork"))

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        return Unscored("not understood")


def test_only_classes_that_the_judge_knows_are_shown() -> None:
    shown = list(flipped_scenes(SUITE, 5, SEED, KnowsOneClass()))
    assert shown
    for example in shown:
        assert {obj.label for obj in (*example.shown.scene.objects, *example.flipped.scene.objects)} <= {"cup", "fork"}


def test_icons_read_all_tasks_and_the_command_names_them() -> None:
    wanted = ("certify", "builtin/icons", "--suite", SUITE, "--scenes", "6", "--seed", str(SEED), "--require", "1")
    done = formalimg(*wanted)
    assert done.code == 0, done.err
    assert done.out.startswith("builtin/icons: 6 scenes of geneval, each with one clause flipped, seed 5")
    for task in ("single object", "two object", "counting", "colors", "position", "color attribution"):
        assert f"  {task}  " in done.out


def test_an_anchor_set_finds_its_items_again(tmp_path: Path) -> None:
    wanted = ("certify", "builtin/icons", "--suite", SUITE, "--scenes", "1", "--anchor", str(tmp_path / "anchor"))
    assert formalimg(*wanted).code == 0
    done = formalimg(*wanted)
    assert done.code == 0, done.err
    assert "0 of 2 answers changed" in done.out
