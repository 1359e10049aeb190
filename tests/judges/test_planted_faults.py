"""Certificates with the default settings name planted faults, accuse no good judge, and clear what they measure."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import comb
from pathlib import Path

import pytest

from formalimg.judges.certificates.certificate import (
    MIN_ANSWERS,
    AnswerCounts,
    JudgeCertificate,
    certified_errors,
    detectable_error,
    read_certificate,
    significance_level,
)
from formalimg.judges.certificates.findings import find_faults
from formalimg.judges.certificates.flipped_scenes import flipped_scenes, suite_groups
from formalimg.judges.certificates.measurement import SCENES
from formalimg.stats.judge_error import ErrorRates, tipping_point
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
    errors = certified_errors(certificate)
    assert errors is not None
    assert errors == ErrorRates(false_pass=0.25, false_fail=0.1)
    sharp, blunt = tipping_point(0.7, 0.6, errors), tipping_point(0.7, 0.6)
    assert sharp is not None
    assert blunt is not None
    assert (sharp.false_pass or 1) < (blunt.false_pass or 0)
    assert certified_errors(replace(certificate, counts=())) is None
