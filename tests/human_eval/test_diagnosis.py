"""Diagnosis of models by probes, and studies that few benchmarks have."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks import registry
from formalimg.benchmarks.cfworld.diagnosis import Diagnosis, diagnose, diagnosis_text
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.cli.group_studies import diagnose_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.study_tables import StudyName, find_study
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Profile
from tests.human_eval.counterfactual_runs import Scores, scored_item, scored_run
from tests.support.values import not_none

Sides: TypeAlias = Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]]

RULES: Sides = {
    "gravity": ([1.0], [0.5, 0.3]),
    "mirror": ([0.8, 0.6], [0.2]),
    "shadow": ([0.9], [None]),
    "heat": ([None], [0.4]),
    "ice": ([None], [None]),
}
"""By rule, what its factual and its changed images score."""

PAIRS: Sides = {"cup": ([1.0], [0.5]), "dog": ([0.5], [0.5])}  # The same for pairs that are seen often and rarely
GROUPS: dict[str, tuple[float | None, float | None, float | None]] = {
    "g1": (0.9, 0.4, 0.6),
    "g2": (0.3, 0.8, 1.0),  # the gate is closed
    "g3": (None, 0.5, 0.7),  # nobody knows whether it is
    "g4": (0.5, 0.2, 0.1),  # just open
    "g5": (0.8, 0.6, None),
}
"""By group: L1, L2, and L2 without names."""


def _probe(folder: Path, suite: str, scores: Sides) -> Path:
    planned = {
        f"{group}-{level}-{number}": (group, level, score)
        for group, sides in scores.items()
        for level, side in enumerate(sides, 1)
        for number, score in enumerate(side)
    }
    items = [scored_item(name, level, group=group, suite=suite) for name, (group, level, _) in planned.items()]
    return scored_run(folder, items, {name: [score] for name, (*_, score) in planned.items()})


def _main(folder: Path, levels: Scores) -> Path:
    items = [scored_item(name, int(name[-1])) for name in levels]
    return scored_run(folder, items, levels)


def _described(
    folder: Path, scores: Scores, *, model: str = "test/speckles", judge: str | None = "test/scorer"
) -> Path:
    items = [scored_item(name, 2, suite="cf-world-denominalised") for name in scores]
    return scored_run(folder, items, scores, model=model, judge=judge)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    here = tmp_path_factory.mktemp("runs")
    levels = {f"{name}-l{level}": [scores[level - 1]] for name, scores in GROUPS.items() for level in (1, 2)}
    return {
        "rules": _probe(here / "rules", "cf-world-rules", RULES),
        "pairs": _probe(here / "pairs", "cf-world-attributes", PAIRS),
        "main": _main(here / "main", levels),
        "described": _described(here / "described", {f"{name}-l2": [it[2]] for name, it in GROUPS.items()}),
    }


def _diagnosed(
    *folders: Path, model: str | None = None, threshold: float = 0.5, profile: Profile = "paper"
) -> list[Diagnosis]:
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in folders]
        return diagnose(runs, model=model, threshold=threshold, profile=profile)


def test_rules_by_hand(folders: dict[str, Path]) -> None:
    (found,) = _diagnosed(folders["rules"])
    rules = not_none(found.rules)
    assert (rules.first.value, rules.second.value) == pytest.approx((0.8, 1 / 3))
    assert (rules.first.scored, rules.second.scored) == (3, 3)
    assert rules.difference == pytest.approx((-0.6 - 0.5) / 2)  # by rule, not by image
    assert rules.interval is not None
    assert rules.interval.low <= -0.6 < -0.5 <= rules.interval.high
    assert (rules.groups, rules.higher, rules.lower) == (2, 0, 2)
    assert (rules.only_first, rules.only_second, rules.unscored) == (("shadow",), ("heat",), ("ice",))
    assert (found.attributes, found.lexical) == (None, None)


def test_pairs_by_hand(folders: dict[str, Path]) -> None:
    (found,) = _diagnosed(folders["pairs"])
    assert found.attributes is not None
    assert found.attributes.difference == pytest.approx(-0.25)
    assert (found.attributes.groups, found.attributes.higher, found.attributes.lower) == (2, 0, 1)


def test_names_gated_with_gated_and_ungated_with_ungated(folders: dict[str, Path]) -> None:
    (found,) = _diagnosed(folders["described"], folders["main"])
    lexical = not_none(found.lexical)
    ungated, gated = lexical.ungated, lexical.gated
    assert (ungated.first.value, ungated.second.value, ungated.difference) == pytest.approx((1.9 / 4, 2.4 / 4, 0.5 / 4))
    assert (ungated.groups, ungated.only_first, ungated.unscored) == (4, ("g5",), ())
    # g2 counts as 0 on both sides; g3 has no score that counts on either.
    assert (gated.first.value, gated.second.value, gated.difference) == pytest.approx((0.6 / 3, 0.7 / 3, 0.1 / 3))
    assert (gated.groups, gated.only_first, gated.unscored) == (3, ("g5",), ("g3",))
    assert (lexical.closed, lexical.unknown) == (("g2",), ("g3",))


def test_the_published_code_closes_gates_that_nobody_knows(folders: dict[str, Path]) -> None:
    (found,) = _diagnosed(folders["described"], folders["main"], profile="official-code")
    assert found.lexical is not None
    assert (found.lexical.gated.only_first, found.lexical.gated.unscored) == (("g5",), ())
    assert found.lexical.gated.difference == pytest.approx(0.1 / 4)  # g3 is 0 on both sides
    assert (found.lexical.closed, found.lexical.unknown) == (("g2", "g3"), ())


def test_a_group_without_a_factual_image_has_no_gate_in_any_profile(tmp_path: Path) -> None:
    main = _main(tmp_path / "main", {"g1-l1": [0.9], "g1-l2": [0.4], "g2-l2": [0.8]})
    described = _described(tmp_path / "described", {"g1-l2": [0.6], "g2-l2": [1.0]})
    for profile in ("paper", "official-code"):
        (found,) = _diagnosed(main, described, profile=profile)
        assert found.lexical is not None
        assert (found.lexical.closed, found.lexical.unknown) == ((), ("g2",))
        assert (found.lexical.gated.groups, found.lexical.gated.unscored) == (1, ("g2",))
        assert found.lexical.ungated.groups == 2
        said = " ".join(diagnosis_text([found], "md").split())
        assert "left out of gated, for want of a factual" in said


def test_long_names_are_told_in_full_in_narrow_tables(tmp_path: Path) -> None:
    names = [f"folder/pictures/of/a/model/with/a/long/name/{name}" for name in ("one", "two")]
    rules = [scored_item(f"r-{level}", level, suite="cf-world-rules") for level in (1, 2)]
    runs = [scored_run(tmp_path / name[-3:], rules, {"r-1": [1.0], "r-2": [0.5]}, model=name) for name in names]
    shown = diagnosis_text(_diagnosed(*runs), "terminal")
    first_column = "".join(line[1:].partition(" ")[0] for line in shown.splitlines() if line.startswith(" "))
    assert all(name in first_column for name in names)
    assert "…" not in shown


def test_the_threshold_can_be_set(folders: dict[str, Path]) -> None:
    (found,) = _diagnosed(folders["described"], folders["main"], threshold=0.6)
    assert found.lexical is not None
    assert found.lexical.closed == ("g2", "g4")
    (found,) = _diagnosed(folders["described"], folders["main"], threshold=0.0)
    assert not_none(found.lexical).closed == ()


def test_each_sample_has_its_own_gate(tmp_path: Path) -> None:
    main = _main(tmp_path / "main", {"g-l1": [0.9, 0.2], "g-l2": [0.6, 0.8]})
    (found,) = _diagnosed(main, _described(tmp_path / "described", {"g-l2": [0.5, 0.7]}))
    assert found.lexical is not None
    assert (found.lexical.gated.first.value, found.lexical.gated.second.value) == (0.3, 0.25)
    assert (found.lexical.ungated.first.value, found.lexical.ungated.second.value) == pytest.approx((0.7, 0.6))


def test_models_stand_side_by_side_and_are_not_mixed(folders: dict[str, Path], tmp_path: Path) -> None:
    other = _described(tmp_path / "other", {"g1-l2": [1.0]}, model="test/other")
    first, second = _diagnosed(folders["main"], folders["rules"], other)
    assert (first.model, second.model) == ("test/speckles", "test/other")
    assert (first.lexical, second.lexical) == (None, None)
    way_out = "is by the same model, say so: --as NAME"
    assert first.notes == (f"no run of cf-world-denominalised to compare main with (if other {way_out})",)
    assert second.notes == (f"no run of cf-world to compare other with (if main {way_out})",)
    (alone,) = _diagnosed(folders["main"], folders["rules"])
    assert alone.notes == ("no run of cf-world-denominalised to compare main with",)
    (found,) = _diagnosed(folders["main"], other, model="mine")
    assert (found.model, not_none(found.lexical).ungated.groups) == ("mine", 1)


def test_what_cannot_be_compared_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    strict = _described(tmp_path / "strict", {"g1-l2": [1.0]}, judge="test/strict")
    with pytest.raises(FormalimgError, match=r"judged by test/scorer and .*strict by test/strict"):
        _diagnosed(folders["main"], strict)
    with pytest.raises(FormalimgError, match="both runs of cf-world-denominalised"):
        _diagnosed(folders["described"], strict)
    with pytest.raises(FormalimgError, match="nothing to compare"):
        _diagnosed(folders["main"])
    with pytest.raises(FormalimgError, match="nobody has judged"):
        _diagnosed(folders["rules"], _described(tmp_path / "new", {"g1-l2": [1.0]}, judge=None))


def test_runs_that_were_made_differently_are_told(folders: dict[str, Path], tmp_path: Path) -> None:
    (found,) = _diagnosed(folders["main"], _described(tmp_path / "two", {"g1-l2": [1.0, 0.5]}))
    assert found.notes == ("main and two differ in the samples",)


def test_the_command_prints_and_writes(folders: dict[str, Path], tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(diagnose_command)

    def run(*arguments: object) -> str:
        return CliRunner().invoke(app, [*map(str, folders.values()), *map(str, arguments)]).output

    printed = " ".join(run("--format", "md").split())
    for expected in (
        "1 rule not paired, only factual scored (shadow)",
        "test/speckles, gated: 1 group not paired, neither scored (g3)",
        "closed for 1 group (g2)",
        "left out of gated, for want of a factual score: 1 group (g3)",
        "| gated | 0.20",
        "| ungated | 0.48",
    ):
        assert expected in printed
    assert "L2" in run()
    run("--out", tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["models"][0]["rules"]["only_first"] == ["shadow"]
    rows = list(csv.DictReader(io.StringIO(run("--format", "csv"))))
    assert [(row["probe"], row["gate"], row["groups"]) for row in rows] == [
        ("rules", "", "2"),
        ("attributes", "", "2"),
        ("names", "gated", "3"),
        ("names", "ungated", "4"),
    ]


@pytest.mark.parametrize(
    ("name", "having"),
    [
        ("calibrate", "cf-world"),
        ("diagnose", "cf-world"),
        ("human scores", "cf-world"),
        ("judge scores", "cf-world"),
        ("captions", "conceptmix"),
    ],
)
def test_a_study_is_that_of_the_benchmark_that_has_it(name: StudyName, having: str) -> None:
    own = not_none(suite(having).study(name))
    assert find_study(name).make is own.make
    assert find_study(name, ["knolling", having]).make is own.make
    with_it = {suite(each).source for each in suite_names() if suite(each).study(name) is not None}
    assert with_it == {suite(having).source}


def test_without_a_benchmark_there_is_no_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FOLDERS", {"formal": ("knolling",)})
    with pytest.raises(FormalimgError, match="no benchmark has a study of this kind: captions"):
        find_study("captions")
