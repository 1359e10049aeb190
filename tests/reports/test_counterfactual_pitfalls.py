"""Where reports of CF-World could mislead: what has no gate, no parts or no score, and judges with much in common."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.conceptmix.pools import PoolProfile
from formalimg.cli.report import report_command
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.notes import main_remarks
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import open_run
from tests.human_eval.counterfactual_runs import scored_item as planned_item
from tests.human_eval.counterfactual_runs import scored_run as run_with_blanks
from tests.reports.counterfactual_runs import groups_of, judge_by, scored_item, scored_run
from tests.reports.drawn_runs import DrawnRun, plain_run
from tests.reports.test_counterfactual_tables import figures, table


def test_images_that_failed_by_rule_are_0_in_each_dimension(tmp_path: Path) -> None:
    items = [planned_item(f"g{n}-l1", dimensions=("integrity", "assessment")) for n in range(4)]
    scores = {item.id: [[1.0, 0.5]] for item in items}
    folder = run_with_blanks(tmp_path / "run", items, scores, blank=frozenset({"g0-l1"}))
    comparison = compare([open_run(folder)])
    (row,) = comparison.sections[0].rows
    assert sum(row.by_rule.values()) == 1
    dimensions = table(comparison, "dimensions")
    found = {name: figures(dimensions, name)[0] for name in ("integrity", "assessment")}
    assert {name: it.value for name, it in found.items()} == {"integrity": 0.75, "assessment": 1.5 / 4}
    mean = row.summary.levels[1]
    assert mean.value == pytest.approx(3 / 18 * 0.75 + 15 / 18 * 1.5 / 4)  # the mean of a level is made of dimensions
    assert {(it.scored, it.expected) for it in found.values()} == {(mean.scored, mean.expected)} == {(4, 4)}


@pytest.mark.parametrize("profile", ["paper", "official-code"])
def test_without_level_1_in_the_run_nothing_counts_and_nothing_is_0(profile: PoolProfile, tmp_path: Path) -> None:
    above = [item for item in groups_of(3) if item.level > 1]
    run = open_run(scored_run(tmp_path / "run", above, judge_by({item.id: [1.0, 1.0, 1.0] for item in above})))
    comparison = compare([run], profile=profile)
    (row,) = comparison.sections[0].rows
    assert row.unscored == {"level 1 is not part of the run": 6}
    assert [(rate.value, rate.scored, rate.expected) for rate in row.summary.levels.values()] == [(None, 0, 3)] * 2
    raw, gated, closed, _, unknown = figures(table(comparison, "raw and gated"), "test/speckles", "L3")
    assert (raw.value, gated.value, closed.value, unknown.value) == (1.0, None, 0, 3)
    assert "groups without scores" not in [table.name for table in comparison.sections[0].tables]
    assert "6 of 6 images unscored: 6 level 1 is not part of the run" in " ".join(main_remarks(comparison.sections[0]))


def test_tags_of_rules_are_no_disciplines(tmp_path: Path) -> None:
    items = [
        scored_item("r", level, ("assessment",), suite="cf-world-rules", tags=("to the left",)) for level in (1, 2)
    ]
    run = open_run(scored_run(tmp_path / "run", items, judge_by({item.id: [1.0] for item in items})))
    assert "disciplines" not in [table.name for table in compare([run]).sections[0].tables]


def test_a_score_that_is_none_is_told_with_its_item_and_judge(tmp_path: Path) -> None:
    items = groups_of(1)
    folder = scored_run(tmp_path / "run", items, judge_by({item.id: [1.0, 1.5, 0.0] for item in items}, "lab/odd"))
    with pytest.raises(FormalimgError, match=r"lab/odd gave item g0-l1 of .*run the score 1.5: scores are from 0 to 1"):
        compare([open_run(folder)])


def test_one_model_in_two_personas_is_called_by_them() -> None:
    run = plain_run("m", {1: [True]})

    def judged(persona: str, **more: str) -> DrawnRun:
        texts = {"prompt_factual": "factual, version 1", "prompt_counterfactual": f"{persona} text, version 1"}
        judge = Identity("openai/q", {"temperature": 0.0, "persona": persona, **texts, **more})
        return replace(run, manifest=replace(run.manifest, judge=judge))

    (section,) = compare([judged("strict"), judged("standard")]).sections
    assert [row.name for row in section.rows] == ["m, by openai/q (strict)", "m, by openai/q (standard)"]
    assert section.notes == ("The runs differ in their judges.",)
    own = judged("strict", prompt_factual="factual, the user's own, 1a2b")
    (section,) = compare([own, judged("standard")]).sections
    assert section.rows[0].name == "m, by openai/q (strict, prompt_factual=factual, the user's own, 1a2b)"
    twice = [judged("strict"), judged("strict", prompt_counterfactual="strict text, version 2"), judged("standard")]
    assert len({row.name for row in compare(twice).sections[0].rows}) == 3


def test_options_without_effect_are_told(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(report_command)
    groups = groups_of(1)
    folder = scored_run(tmp_path / "main", groups, judge_by({item.id: [1.0, 1.0, 1.0] for item in groups}))
    items = [scored_item("r", level, ("assessment",), suite="cf-world-rules", tags=()) for level in (1, 2)]
    probe = scored_run(tmp_path / "probe", items, judge_by({item.id: [1.0] for item in items}))

    def warnings(*arguments: object) -> list[str]:
        done = CliRunner().invoke(app, [*map(str, arguments), "--format", "json"], catch_exceptions=False)
        return done.stderr.splitlines()

    assert warnings(probe) == warnings(folder, "--threshold", 0.3) == warnings(folder, probe, "--threshold", 0.3) == []
    assert warnings(probe, "--threshold", 0.5) == [
        "--threshold has no effect on cf-world-rules: only cf-world has a gate"
    ]
    assert warnings(folder, "--epsilon", 0.7) == [
        "--epsilon has no effect on cf-world: it has mean scores instead of pass rates"
    ]
