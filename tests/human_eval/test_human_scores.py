"""Scores of people beside those of a judge: summed up by the same weights, and compared by hand."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import closing
from math import sqrt
from pathlib import Path

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.score_studies import study_human_scores
from formalimg.benchmarks.cfworld.spec import Dimension
from formalimg.cli.agree import agree_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import RatingsError, load_score_file
from formalimg.human_eval.agreement.score_agreement import HumanScoreStudy, ScorePair, score_gap
from formalimg.runs.reader import open_run
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Profile
from tests.human_eval.concept_runs import PlannedJudge, concept_item, concept_run
from tests.human_eval.counterfactual_runs import Scores, scored_item, scored_run
from tests.support.values import not_none

FOUR: tuple[Dimension, ...] = ("integrity", "logic", "logic", "assessment")
ITEMS = [
    scored_item("a-l1", 1, dimensions=FOUR),
    scored_item("b-l2", 2),
    scored_item("c-l2", 2),
    scored_item("d-l3", 3, dimensions=FOUR),
    scored_item("e-l3", 3),
    scored_item("f-l3", 3),
]
JUDGED: Scores = {"a-l1": [[1, 0, 1, 0.5]], "b-l2": [0.5], "c-l2": [0.9], "d-l3": [1.0], "e-l3": [None], "f-l3": [0.7]}
PEOPLE = """\
model,item,question,rater,score
run,a-l1,1,ann,1
run,a-l1,2,ann,0
run,a-l1,3,ann,1.0
run,a-l1,4,ann,1
run,a-l1,1,bob,1
run,a-l1,2,bob,.5
run,a-l1,3,bob,1
run,a-l1,4,bob,0.5
run,b-l2,1,ann,0.5
run,b-l2,1,bob,0.25
run,c-l2,1,ann,0.6
run,d-l3,4,ann,0.5
run,e-l3,1,ann,1
run,f-l3,,ann,0.4
run,f-l3,all,bob,0.6
run,z-l9,1,bob,0.6
"""
A, A_OFFICIAL = -4.75 / 26, -5.75 / 34
"""Judge minus people for a: 14.5 − 19.25 of 26, or with full weights 18.5 − 24.25 of 34."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scored_run(tmp_path_factory.mktemp("runs") / "run", ITEMS, JUDGED)


def _studied(folder: Path, tmp_path: Path, text: str = PEOPLE, profile: Profile = "paper") -> HumanScoreStudy:
    (tmp_path / "scores.csv").write_text(text)
    with closing(open_run(folder)) as run:
        return study_human_scores(load_score_file(tmp_path / "scores.csv").require_valid(), [run], profile=profile)


def test_differences_by_hand(folder: Path, tmp_path: Path) -> None:
    found = _studied(folder, tmp_path)
    assert found.questions is not None
    gap = found.questions.overall
    mean = (A + 0.125 + 0.3) / 3
    assert (gap.n, gap.left_out) == (3, 2)
    assert gap.mean == pytest.approx(mean)
    assert gap.sd == pytest.approx(sqrt(((A - mean) ** 2 + (0.125 - mean) ** 2 + (0.3 - mean) ** 2) / 2))
    assert gap.quantiles[0.5] == pytest.approx(0.125)
    assert gap.human == pytest.approx((19.25 / 26 + 0.375 + 0.6) / 3)
    assert (gap.near.happened, gap.near.n, gap.near.interval) == (1, 3, clopper_pearson(1, 3))  # 0.125 is near
    levels = found.questions.by_level
    assert {level: it.n for level, it in levels.items()} == {1: 1, 2: 2, 3: 0}
    assert levels[1].mean == pytest.approx(A)
    assert levels[2].mean == pytest.approx(0.2125)
    assert levels[3].mean is None


def test_dimensions_by_hand(folder: Path, tmp_path: Path) -> None:
    """The assessment of d was scored by people, so that it enters here; its other questions were not."""
    found = _studied(folder, tmp_path).by_dimension
    assert {dimension: (it.n, it.left_out) for dimension, it in found.items()} == {
        "integrity": (1, 0),
        "assessment": (4, 1),
        "logic": (1, 0),
    }
    assert found["assessment"].mean == pytest.approx((-0.25 + 0.125 + 0.3 + 0.5) / 4)
    assert found["logic"].mean == pytest.approx(-0.125)
    assert found["logic"].near.happened == 1


def test_whole_images_are_a_study_of_their_own(folder: Path, tmp_path: Path) -> None:
    found = _studied(folder, tmp_path)
    assert found.whole is not None
    assert found.whole.overall.n == 1
    assert found.whole.overall.mean == pytest.approx(0.2)


def test_what_cannot_enter_is_counted(folder: Path, tmp_path: Path) -> None:
    found = _studied(folder, tmp_path)
    assert (found.scores, found.images, found.raters) == (16, 6, ("ann", "bob"))
    assert found.unscored == {"not understood": 1}
    assert found.incomplete == 1
    assert (found.without_image, found.not_rated) == (("line 17: run has no sample 0 of item z-l9",), 0)


def test_the_published_code_gives_each_question_its_full_weight(folder: Path, tmp_path: Path) -> None:
    found = not_none(_studied(folder, tmp_path, profile="official-code").questions)
    assert found.by_level[1].mean == pytest.approx(A_OFFICIAL)


@pytest.mark.parametrize("profile", ["paper", "official-code"])
def test_blank_images_score_nothing_in_sum_and_in_each_dimension(tmp_path: Path, profile: Profile) -> None:
    folder = scored_run(tmp_path / "run", ITEMS[:1], {"a-l1": [1.0]}, blank=frozenset({"a-l1"}))
    found = _studied(folder, tmp_path, "\n".join(PEOPLE.splitlines()[:5]), profile)
    assert (not_none(found.questions).overall.judge, found.unscored) == (0.0, {})
    assert {dimension: it.judge for dimension, it in found.by_dimension.items()} == {
        "integrity": 0,
        "assessment": 0,
        "logic": 0,
    }


def test_scores_that_make_no_sense_are_refused_together(folder: Path, tmp_path: Path) -> None:
    head = "model,item,question,rater,score\n"
    with pytest.raises(RatingsError) as unreadable:
        _studied(folder, tmp_path, f"{head}run,b-l2,1,ann,1.1\nrun,b-l2,1,ann,nan\nrun,b-l2,1,,1\nrun,b-l2,0,ann,1\n")
    assert [finding.split(":")[1] for finding in unreadable.value.findings] == ["2", "3", "4", "5"]
    with pytest.raises(RatingsError) as misplaced:
        _studied(folder, tmp_path, f"{head}run,b-l2,2,ann,1\nrun,b-l2,1,ann,1\nrun,b-l2,1,ann,0\n")
    assert [finding.split(":")[0] for finding in misplaced.value.findings] == ["line 2", "line 4"]
    (tmp_path / "both.csv").write_text(f"{head}run,b-l2,1,ann,1\nrun,b-l2,1,ann,2\nrun,b-l2,2,ann,1\n")
    with closing(open_run(folder)) as run, pytest.raises(RatingsError) as together:
        study_human_scores(tmp_path / "both.csv", [run])
    assert [finding.split(": ")[0] for finding in together.value.findings] == [
        f"{tmp_path / 'both.csv'}:{line}" for line in (3, 4)
    ]


@pytest.mark.parametrize("text", ["-0.5", "-0", "+1", "1e-3", "1_0", "0x1", "0,5", "½", "٠", ".", "inf", "1.01"])
def test_what_is_no_score_from_0_to_1_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "scores.csv").write_text(
        f'model,item,question,rater,score\nrun,b-l2,1,ann,"{text}"\n', encoding="utf-8"
    )
    with pytest.raises(RatingsError, match="write a number from 0 to 1"):
        load_score_file(tmp_path / "scores.csv").require_valid()


def test_each_of_several_runs_is_what_it_is_alone(folder: Path, tmp_path: Path) -> None:
    judged: Scores = {**JUDGED, "b-l2": [0.1], "c-l2": [0.2]}
    other = scored_run(tmp_path / "other", ITEMS, judged)
    head, *lines = PEOPLE.splitlines(keepends=True)
    others = [line.replace("run,", "other,", 1).replace(",0.6\n", ",0.9\n") for line in lines]
    (tmp_path / "scores.csv").write_text("".join([head, *lines, *others]))
    with closing(open_run(folder)) as one, closing(open_run(other)) as two:
        both = study_human_scores(load_score_file(tmp_path / "scores.csv").require_valid(), [one, two])
    alone = {
        "run": _studied(folder, tmp_path, "".join([head, *lines])),
        "other": _studied(other, tmp_path, "".join([head, *others])),
    }
    for which in ("questions", "whole"):
        apart = {name: getattr(studied, which).overall for name, studied in alone.items()}
        assert getattr(both, which).by_run == apart
        assert apart["run"] != apart["other"]


def test_suites_without_weighted_questions_are_refused(tmp_path: Path) -> None:
    judge = PlannedJudge("test/judge", lambda item: [True, True])
    with pytest.raises(FormalimgError, match="run of conceptmix"):
        _studied(concept_run(tmp_path / "run", [concept_item("a", ["object", "color"])], [judge]), tmp_path)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([step / 40 for step in range(41)])] * 2), min_size=1))
def test_histograms_lose_nothing_and_their_middle_is_what_is_near(scores: Sequence[tuple[float, float]]) -> None:
    gap = score_gap([ScorePair(judge, people, number) for number, (judge, people) in enumerate(scores)])
    middle = len(gap.histogram) // 2
    assert sum(it.images for it in gap.histogram) == len(scores)
    assert sum(it.images for it in gap.histogram[middle - 2 : middle + 3]) == gap.near.happened
    assert (gap.histogram[middle - 2].low, gap.histogram[middle + 2].high) == (-0.125, 0.125)
    for low, high, images in gap.histogram:
        inside = sum(low - 1e-9 <= judge - people <= high + 1e-9 for judge, people in scores)
        assert images <= inside


def test_the_command_prints_and_writes(folder: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(agree_command)
    scores = tmp_path / "scores.csv"
    scores.write_text(PEOPLE)

    def run(*arguments: object) -> str:
        command = [str(folder), "--scores", str(scores), *map(str, arguments)]
        return CliRunner().invoke(app, command, env={"COLUMNS": "120"}).output

    printed = run()
    for expected in ("-0.125 to +0.125", "33.3 (0.8–90.6)", "Not all questions scored by raters: 1"):
        assert expected in printed
    assert len(json.loads(run("--format", "json"))["scores"][0]["questions"]["overall"]["histogram"]) == 41
    (published,) = json.loads(run("--format", "json", "--profile", "official-code"))["scores"]
    assert published["profile"] == "official-code"
    rows = list(csv.DictReader(io.StringIO(run("--format", "csv"))))
    differences = [row["value"] for row in rows if (row["figure"], row["kind"]) == ("judge minus people", "logic")]
    assert [*map(float, differences)] == [pytest.approx(-0.125)]
    with pytest.raises(FormalimgError, match="not both"):
        CliRunner().invoke(app, [str(folder), "--scores", "a", "--votes", "b"], catch_exceptions=False)
