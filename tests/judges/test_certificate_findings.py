"""Certificates with the default settings name planted faults, accuse no good judge, and clear what they measure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path

import pytest

from formalimg.benchmarks.geneval.drawings import make_drawn_items
from formalimg.benchmarks.geneval.form import TAGS
from formalimg.benchmarks.loader import load
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.base import LoadedImage
from formalimg.judges.certificates.certificate import (
    MIN_ANSWERS,
    AnswerCounts,
    JudgeCertificate,
    detectable_error,
    find_error_rates,
    read_certificate,
    significance_level,
)
from formalimg.judges.certificates.findings import find_faults
from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes, suite_groups
from formalimg.judges.certificates.measurement import (
    FLIPPED,
    SCENES,
    SHOWN,
    DrawingAnswer,
    ExampleAnswers,
    certify_judge,
    count_answers,
    count_nuisances,
)
from formalimg.judges.factory import open_judge
from formalimg.stats.judge_error import ErrorRates, tipping_point
from formalimg.types import Item, Setting, Unscored, Verdict
from tests.support.command import formalimg
from tests.support.geneval_oracle import expect
from tests.support.planted_judges import ALWAYS_RIGHT, PLANTED, WRONG_IMAGES, KnownScenes, is_color, passes
from tests.support.sizes import only_in_full, tries

SUITE = "geneval"
_COLOR_FAULTS = ("colours weak", "does not see colours")


@pytest.fixture(scope="module")
def scenes() -> KnownScenes:
    return KnownScenes(SUITE, SCENES, 7)


@pytest.fixture(scope="module")
def few() -> KnownScenes:
    return KnownScenes(SUITE, 30, 7)


def _flips(suite: str, count: int) -> Counter[tuple[str, str]]:
    return Counter(group for example in flipped_scenes(suite, count, 3) for group in example.groups)


# --- what is flipped


def test_every_word_of_the_suite_is_flipped_often_enough() -> None:
    flips = _flips(SUITE, SCENES)
    assert {group: flips[group] for group in suite_groups(SUITE) if flips[group] < MIN_ANSWERS} == {}


@only_in_full
@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix"])
def test_every_word_of_other_suites_is_flipped_often_enough(suite: str) -> None:
    flips = _flips(suite, SCENES)
    assert {group: flips[group] for group in suite_groups(suite) if flips[group] < MIN_ANSWERS} == {}
    assert sum(flips["word", word] for word in ("Has", "HasColor", "color")) >= 24


# --- faults


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_named(name: str, scenes: KnownScenes) -> None:
    fault, words = PLANTED[name]
    found = scenes.certify(fault)
    assert any(words in finding for finding in found.findings), found.findings
    assert not any(finding.startswith("no fault found") for finding in found.findings)


def test_good_judges_are_not_accused(scenes: KnownScenes) -> None:
    accused = [scenes.certify(WRONG_IMAGES, seed).findings for seed in range(tries(5, 60))]
    accused = [findings for findings in accused if not findings[0].startswith("no fault found")]
    assert len(accused) <= tries(1, 3), accused
    [finding] = scenes.certify(ALWAYS_RIGHT).findings
    assert finding.startswith("no fault found in objects, counts, colours, relations, ")


def test_the_level_is_shared_by_all_tests() -> None:
    groups = (
        AnswerCounts("kind", "object", 10, 10, 10, 10),
        AnswerCounts("kind", "color", 8, 8, 8, 8),
        AnswerCounts("word", "color", 8, 8, 8, 8),  # the same answers once more
        AnswerCounts("word", "LeftOf", 10, 10, 7, 7),  # too few
    )
    certificate = JudgeCertificate("j", "natural", 20, 7, 160, {}, groups, ())
    assert significance_level(certificate) == pytest.approx(0.05 / (2 * 2 + 3))


def test_the_stated_error_rate_is_found_as_often_as_stated(scenes: KnownScenes) -> None:
    right = scenes.certify(ALWAYS_RIGHT)
    colors = next(each for each in right.by("kind") if each.value == "attribute")
    rate = detectable_error(right, colors)
    assert rate is not None
    named = [
        any(fault.startswith(_COLOR_FAULTS) for fault in find_faults(_with_errors(right, colors, errors)))
        for errors in range(colors.false + 1)
    ]
    power = sum(_chance(errors, colors.false, rate) for errors in range(colors.false + 1) if named[errors])
    assert power >= 0.9
    smaller = sum(_chance(errors, colors.false, rate - 0.05) for errors in range(colors.false + 1) if named[errors])
    assert smaller < 0.9
    assert f"{100 * rate:.0f} %" in next(line for line in str(right).splitlines() if "  attribute " in line)


def _with_errors(right: JudgeCertificate, group: AnswerCounts, errors: int) -> JudgeCertificate:
    worse = replace(group, no_to_false=group.false - errors)
    return replace(right, counts=tuple(worse if each is group else each for each in right.counts))


def _chance(errors: int, of: int, rate: float) -> float:
    return comb(of, errors) * rate**errors * (1 - rate) ** (of - errors)


# --- what is not measured


def test_too_few_flips_are_no_all_clear(few: KnownScenes, tmp_path: Path) -> None:
    found = few.certify(passes(is_color, 1.0))
    groups = {(each.by, each.value): each for each in found.counts}
    assert all(tuple(group) in groups for group in suite_groups(SUITE))
    rare = [each.value for each in found.groups if each.by == "word" and min(each.true, each.false) < MIN_ANSWERS]
    assert set(rare) <= set(found.not_measured)
    assert "pink" in rare
    [last] = [finding for finding in found.findings if "not measured: " in finding]
    cleared, _, left_out = last.rpartition("not measured: ")
    assert all(f"{word} ({found.not_measured[word]})" in left_out for word in rare)
    assert not any(f" {word}," in cleared for word in rare)
    assert last in str(found)
    assert found.to_json()["not_measured"] == found.not_measured
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(found.to_json()))
    assert read_certificate(path) == found


def test_the_all_clear_of_an_old_file_is_made_anew(tmp_path: Path) -> None:
    """Version 1 called a colour-blind judge faultless, because three colours were flipped."""
    counts = (
        AnswerCounts("image", "", 40, 40, 40, 37),
        AnswerCounts("clause", "", 40, 40, 40, 37),
        AnswerCounts("kind", "object", 37, 37, 37, 37),
        AnswerCounts("kind", "color", 3, 3, 3, 0),
    )
    cleared = ("no fault found with 40 scenes",)
    certificate = JudgeCertificate("j", "conceptmix", 40, 7, 320, {}, counts, (), cleared)
    data = {**certificate.to_json(), "version": 1}
    del data["not_measured"]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(data))
    [finding] = read_certificate(path).findings
    assert finding.startswith("no fault found in objects (of whole images, ")
    assert finding.endswith("; not measured: colours (3)")
    path.write_text(json.dumps({**data, "version": 3}))
    with pytest.raises(Exception, match="version 3 of the format, this formalimg reads 2"):
        read_certificate(path)


# --- error rates for reports


def test_the_error_rates_sharpen_a_tipping_point() -> None:
    counts = (AnswerCounts("image", "", 50, 45, 40, 30), AnswerCounts("clause", "", 50, 50, 40, 38))
    certificate = JudgeCertificate("j", "natural", 50, 7, 400, {}, counts, ())
    errors = find_error_rates(certificate)
    assert errors is not None
    assert errors == ErrorRates(false_pass=0.25, false_fail=0.1)
    sharp, blunt = tipping_point(0.7, 0.6, errors), tipping_point(0.7, 0.6)
    assert sharp is not None
    assert blunt is not None
    assert (sharp.false_pass or 1) < (blunt.false_pass or 0)
    assert find_error_rates(replace(certificate, counts=())) is None


# --- judges by boxes

OBJECTS_SUITE, SEED = "geneval", 5
EXAMPLES = Path(__file__).parents[2] / "examples" / "geneval"


@pytest.fixture(scope="module")
def examples() -> list[FlippedScene]:
    return list(flipped_scenes(OBJECTS_SUITE, tries(48, 300), SEED))


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
    items = make_drawn_items(OBJECTS_SUITE)
    assert len({item.prompt for item in items}) == len({item.id for item in items}) == len(items)
    assert items == make_drawn_items(OBJECTS_SUITE)
    assert not [
        item.prompt for item in items if re.search(r"\ba [aeiou]|\ban [^aeiou]|ss\b|knifes|scissorss", item.prompt)
    ]
    assert {item.level for item in items} == {item.level for item in load(OBJECTS_SUITE, EXAMPLES)}


@pytest.mark.parametrize("profile", ["strict", "logic"])
def test_every_profile_has_the_part_that_was_flipped(profile: str) -> None:
    found = certify_judge(open_judge(OBJECTS_SUITE, "builtin/icons", {"profile": profile}), OBJECTS_SUITE, 8, SEED)
    assert found.reaches(1.0), found
    assert found.clauses.true == found.clauses.false == 8


def test_a_certificate_in_which_a_kind_was_never_asked_about_reaches_nothing() -> None:
    found = certify_judge(open_judge(OBJECTS_SUITE, "builtin/icons"), OBJECTS_SUITE, 2, SEED)
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
    counts = count_answers(OBJECTS_SUITE, answers)
    certificate = JudgeCertificate(
        "lab/blind", OBJECTS_SUITE, len(answers), SEED, 0, {}, counts, count_nuisances(answers)
    )
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
    shown = list(flipped_scenes(OBJECTS_SUITE, 5, SEED, KnowsOneClass()))
    assert shown
    for example in shown:
        assert {obj.label for obj in (*example.shown.scene.objects, *example.flipped.scene.objects)} <= {"cup", "fork"}


def test_icons_read_all_tasks_and_the_command_names_them() -> None:
    wanted = (
        "certify",
        "builtin/icons",
        "--suite",
        OBJECTS_SUITE,
        "--scenes",
        "6",
        "--seed",
        str(SEED),
        "--require",
        "1",
    )
    done = formalimg(*wanted)
    assert done.code == 0, done.err
    assert done.out.startswith("builtin/icons: 6 scenes of geneval, each with one clause flipped, seed 5")
    for task in ("single object", "two object", "counting", "colors", "position", "color attribution"):
        assert f"  {task}  " in done.out


def test_an_anchor_set_finds_its_items_again(tmp_path: Path) -> None:
    wanted = (
        "certify",
        "builtin/icons",
        "--suite",
        OBJECTS_SUITE,
        "--scenes",
        "1",
        "--anchor",
        str(tmp_path / "anchor"),
    )
    assert formalimg(*wanted).code == 0
    done = formalimg(*wanted)
    assert done.code == 0, done.err
    assert "0 of 2 answers changed" in done.out
