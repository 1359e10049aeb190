"""Likert ratings: what passes, how alike people rate, and what the command says."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path
from statistics import variance
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from formalimg.cli.agree import agree_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rater_agreement import Case, CaseInfo, build_panel, cronbach_of_ratings
from formalimg.human_eval.agreement.rating_files import LikertRating, RatingsError, VotesError, load_likert_file
from formalimg.human_eval.agreement.studies import HumanRatings, human_study_text, study_human_ratings
from formalimg.human_eval.agreement.vote_study import study_likert
from formalimg.human_eval.protocol import AnswerValue, RatingProtocol, RatingStep
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.study import RatingTask, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.human_eval.study_export import export_study
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import StoredRun, open_run
from formalimg.stats.intervals import clopper_pearson
from tests.human_eval.concept_runs import PlannedJudge, concept_run
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.rated_runs import SEEN, concept_items, formula_items, grounded_run, opened, rated_run, take
from tests.human_eval.voted_runs import JUDGED, voted_runs
from tests.support.models import NumberJudge, Speckles
from tests.support.values import not_none

GIVEN = {
    ("one", "a1"): "545",  # 14 of 15: passes
    ("one", "a2"): "444",  # just passes
    ("one", "b1"): "543",  # just passes, though one says no
    ("one", "b2"): "122",
    ("two", "b1"): "553",
    ("two", "b2"): "344",  # 11: does not pass, though two say yes
    ("three", "b1"): "112",
    ("three", "b2"): "21-",  # cy is still to come
}
"""What ann, bob and cy give. The judge passes a1 and b1 of one, b1 and b2 of two."""

RATERS = ("ann", "bob", "cy")


def _points(given: dict[tuple[str, str], str] = GIVEN) -> list[LikertRating]:
    return [
        LikertRating(run, item, 0, rater, None if mark == "-" else int(mark))
        for (run, item), marks in given.items()
        for rater, mark in zip(RATERS, marks, strict=True)
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoredRun]]:
    folders = voted_runs(tmp_path_factory.mktemp("runs"))
    with ExitStack() as opened:
        yield [opened.enter_context(closing(open_run(folder))) for folder in folders.values()]


def test_most_ratings_of_four_or_more_pass_whatever_the_mean(runs: list[StoredRun]) -> None:
    panel = not_none(study_likert(_points(), runs).whole)
    answers = {(case.run, case.item): (case.yes, case.votes, case.human) for case in panel.case_answers}
    assert answers["two", "b2"] == (2, 3, True), "3, 4 and 4: a mean below 4"
    assert answers["three", "b2"] == (0, 2, None)
    assert panel.classified.confusion == (4, 0, 1, 2)


def test_a_mean_of_four_passes_by_that_rule_and_missing_ratings_leave_it_open(runs: list[StoredRun]) -> None:
    found = study_likert(_points(), runs, rule="mean")
    passed = {(it.run, it.item): it.passed for it in not_none(found.points).images}
    assert [image for image, said in passed.items() if said] == [
        ("one", "a1"),
        ("one", "a2"),
        ("one", "b1"),
        ("two", "b1"),
    ]
    assert passed["three", "b2"] is None
    assert passed["two", "b2"] is False
    panel = not_none(found.whole)
    assert (panel.cases, panel.undecided, found.votes) == (8, 1, 23)
    # The judge misses a2 of one and finds b2 of two.
    assert (panel.classified.confusion, panel.classified.accuracy.value) == ((3, 1, 1, 2), 5 / 7)
    assert panel.classified.accuracy.interval is not None
    assert panel.classified.accuracy.interval.low < clopper_pearson(5, 7).low  # items are the same in all runs
    assert panel.classified.f1.value == 0.75
    assert (panel.classified.sensitivity.value, panel.classified.specificity.value) == (3 / 4, 2 / 3)
    yes = {(it.run, it.item): (it.yes, it.votes, it.human, it.judge) for it in panel.case_answers}
    assert (yes["two", "b2"], yes["three", "b2"]) == ((2, 3, False, True), (0, 2, None, False))
    matrix = panel.matrix["ann"]["bob"]
    assert (matrix.equal, matrix.n) == (7, 8)  # only b2 of two tells them apart
    shares = {(it.rater, it.run, it.level): it.rate for it in panel.by_rater}
    assert (shares["cy", "one", 2].passed, shares["cy", "one", 2].scored) == (0, 2)
    assert (shares["cy", "one", None].passed, shares["cy", "one", None].scored) == (2, 4)
    assert (shares["cy", "three", None].scored, shares["bob", "two", None].passed) == (1, 2)


def test_alphas_of_the_points_by_hand(runs: list[StoredRun]) -> None:
    found = not_none(study_likert(_points(), runs).points)
    rows = [[int(mark) for mark in marks] for marks in GIVEN.values() if "-" not in marks]
    columns = list(zip(*rows, strict=True))
    of_raters = sum(variance(map(Fraction, column)) for column in columns)
    alpha = Fraction(3, 2) * (1 - of_raters / variance(Fraction(sum(row)) for row in rows))
    assert found.cronbach.value == pytest.approx(float(alpha))
    assert (found.cronbach.n, found.cronbach.left_out, found.one_rater_per_column) == (7, 1, True)
    assert found.alpha.value == pytest.approx(
        _ordinal_alpha([[int(m) for m in it if m != "-"] for it in GIVEN.values()])
    )
    assert found.histogram == {1: 4, 2: 4, 3: 3, 4: 7, 5: 5}
    means = {(it.run, it.level): it for it in found.means}
    assert means["one", 2].mean == pytest.approx((4 + 5 / 3) / 2)
    assert means["three", None].mean == pytest.approx((4 / 3 + 3 / 2) / 2)
    assert (means["one", 2].ratings, means["three", None].ratings) == (6, 5)


def _ordinal_alpha(units: list[list[int]]) -> float:
    count = {value: sum(unit.count(value) for unit in units) for value in range(1, 6)}
    n = sum(count.values())

    def apart(one: int, other: int) -> Fraction:
        low, high = min(one, other), max(one, other)
        return (sum(count[value] for value in range(low, high + 1)) - Fraction(count[low] + count[high], 2)) ** 2

    seen = sum(Fraction(1, len(unit) - 1) * sum(apart(one, other) for one in unit for other in unit) for unit in units)
    chance = sum(count[one] * count[other] * apart(one, other) for one in count for other in count)
    return float(1 - (n - 1) * seen / chance)


def test_people_who_take_turns_share_columns(runs: list[StoredRun]) -> None:
    """Nobody sees everything: the first rating of each image makes the first column, as in the paper."""
    seats = [("ann", "bob"), ("bob", "rater-2"), ("rater-2", "rater-10"), ("ann", "rater-10")]
    marks = [(5, 4), (2, 3), (1, 1), (4, 5)]
    points = [
        LikertRating("one", item, 0, rater, mark)
        for item, who, those in zip(("a1", "a2", "b1", "b2"), seats, marks, strict=True)
        for rater, mark in zip(who, those, strict=True)
    ]
    found = study_likert(points, runs)
    assert found.raters == ("ann", "bob", "rater-2", "rater-10")
    assert found.points is not None
    assert not found.points.one_rater_per_column
    # Columns 5 2 1 4 and 4 3 1 5 with variances 10/3 and 35/12; that of the sums 9 5 2 9 is 139/12.
    assert found.points.cronbach.value == pytest.approx(2 * (1 - 75 / 139))
    assert "raters take turns" in human_study_text([found], "terminal")


def test_one_more_rating_than_usual_takes_nothing_away(runs: list[StoredRun]) -> None:
    """Seven images have two ratings by turns, and one has three: all eight enter, the third rating does not."""
    images = [(run, item) for run in ("one", "two") for item in ("a1", "a2", "b1", "b2")]
    marks = [(5, 4), (2, 3), (1, 1), (4, 5), (3, 3), (2, 1), (5, 5), (1, 2)]
    points = []
    for number, ((run, item), those) in enumerate(zip(images, marks, strict=True)):
        points += [LikertRating(run, item, 0, f"rater-{2 * number + at}", mark) for at, mark in enumerate(those)]
    points.append(LikertRating("two", "b2", 0, "zoe", 5))
    found = not_none(study_likert(points, runs).points)
    assert (found.cronbach.n, found.cronbach.left_out) == (8, 0)
    first, second, sums = (
        [*column] for column in zip(*((one, other, one + other) for one, other in marks), strict=True)
    )
    unshared = (variance(first) + variance(second)) / variance(sums)
    assert found.cronbach.value == pytest.approx(2 * (1 - unshared))


def test_an_image_that_everybody_rated_does_not_stand_for_all(runs: list[StoredRun]) -> None:
    """Of eight images one was rated by all six people: columns of one person each would have a single row."""
    images = [(run, item) for run in ("one", "two") for item in ("a1", "a2", "b1", "b2")]
    points = [LikertRating("one", "a1", 0, f"rater-{number}", 4) for number in range(6)]
    for number, (run, item) in enumerate(images[1:]):
        points += [LikertRating(run, item, 0, f"rater-{(number + at) % 6}", 1 + (number + at) % 5) for at in range(2)]
    found = not_none(study_likert(points, runs).points)
    assert not found.one_rater_per_column
    assert found.cronbach.n == 8


def test_the_same_item_by_several_models_is_not_independent(runs: list[StoredRun]) -> None:
    """Three models, one of whose items is misjudged each time: worth three cases of one, and no more."""
    images = [(run, item) for run in ("one", "two", "three") for item in ("a1", "a2", "b1", "b2", "c1", "c2")]
    judged = {(run, item): set(JUDGED[run][item]) == {"y"} for run, item in images}
    points = [
        LikertRating(run, item, 0, "ann", 5 if passed != (item in ("a1", "b2")) else 1)
        for (run, item), passed in judged.items()
    ]
    panel = not_none(study_likert(points, runs).whole)
    assert (panel.with_judge.equal, panel.with_judge.n) == (12, 18)
    assert panel.with_judge.interval is not None
    alone = clopper_pearson(4, 6)
    assert panel.with_judge.interval.low == pytest.approx(alone.low, abs=0.05)
    assert panel.with_judge.interval.low < clopper_pearson(12, 18).low - 0.1
    assert panel.with_judge_by_run["one"].interval == alone


def test_means_stay_between_one_and_five(runs: list[StoredRun]) -> None:
    found = not_none(study_likert(_points({("one", "a1"): "111", ("one", "a2"): "555"}), runs).points)
    assert {it.interval for it in found.means} == {(1, 5)}  # the normal interval reaches from -0.9 to 6.9


@pytest.mark.parametrize("given", ["333", "3--"])
def test_why_there_is_no_alpha_is_told(runs: list[StoredRun], given: str) -> None:
    alike = study_human_ratings(HumanRatings(points=_points({("one", "a1"): given, ("one", "a2"): given})), runs)
    assert "there is nothing to compare" in human_study_text([alike], "md")
    assert "nothing to compare" not in human_study_text(
        [study_human_ratings(HumanRatings(points=_points()), runs)], "md"
    )


def test_every_form_tells_the_same(runs: list[StoredRun]) -> None:
    found = study_human_ratings(HumanRatings(points=_points()), runs)
    data = json.loads(human_study_text([found], "json"))["people"][0]
    rows = list(csv.DictReader(human_study_text([found], "csv").splitlines()))
    figures = {(row["figure"], row["of"]): row for row in rows if not row["level"] and not row["run"]}
    alpha = data["points"]["cronbach"]["value"]
    assert float(figures["Cronbach's alpha of people", "five points"]["value"]) == alpha
    assert float(figures["F1", "whole pictures"]["value"]) == data["whole"]["classified"]["f1"]["value"] == 8 / 9
    words = human_study_text([found], "md")
    assert f"| Cronbach's, Likert ratings | {alpha:.3f} | 7 | 1 |" in words
    assert "Undecided, because ratings are missing: 1 image." in words


def test_mistakes_are_told(runs: list[StoredRun], tmp_path: Path) -> None:
    table = tmp_path / "likert.csv"
    table.write_text("model,item,rater,rating,question\none,a1,ann,5,all\none,a2,ann,4,\n")
    assert [it.points for it in load_likert_file(table).require_valid()] == [5, 4]
    table.write_text("model,item,rater,rating,question\none,a1,ann,6,all\none,a2,ann,4,1\n")
    with pytest.raises(RatingsError, match="the rating is '6': write 1, 2, 3, 4 or 5") as caught:
        load_likert_file(table).require_valid()
    assert len(caught.value.findings) == 2
    with pytest.raises(VotesError, match="ann votes twice"):
        study_likert([LikertRating("one", "a1", 0, "ann", 5)] * 2, runs)
    with pytest.raises(VotesError, match=r"^one has no item zz"):
        study_likert([LikertRating("one", "zz", 0, "ann", 5)], runs)
    with pytest.raises(FormalimgError, match="give 1 to 5"):
        study_likert([LikertRating("one", "a1", 0, "ann", 0)], runs)
    with pytest.raises(FormalimgError, match="no rater has rated an image yet"):
        study_likert([LikertRating("one", "a1", 0, "ann", None)], runs)


def test_the_numbers_of_the_paper_come_out_of_the_same_functions() -> None:
    """322 of 400 right and an F1 of 0.840; four models at ten levels, ranked alike but for one swap at some levels.

    Of 243 images that pass by people, the judge passes 205, and 40 of the others.
    """
    outcomes = [(True, True)] * 205 + [(True, False)] * 38 + [(False, True)] * 40 + [(False, False)] * 117
    cases = [Case(f"model {number % 4}", str(number), 0, None) for number in range(400)]
    people = {case: one for case, (one, _) in zip(cases, outcomes, strict=True)}
    judge = {case: other for case, (_, other) in zip(cases, outcomes, strict=True)}
    about = {case: CaseInfo(1 + int(case.item) % 10) for case in cases}
    panel = build_panel({"people": people}, people, judge, about, 0.95)
    accuracy = panel.classified.accuracy
    assert (accuracy.happened, accuracy.n, accuracy.value) == (322, 400, 0.805)
    assert panel.classified.f1.value == pytest.approx(0.840, abs=5e-4)
    assert accuracy.interval == clopper_pearson(322, 400)


def test_a_mean_rank_correlation_by_hand() -> None:
    """Ten images each of four models at two levels; at the second the judge swaps two neighbours: 1 and 0.8."""
    passes = {1: ((9, 8), (6, 5), (4, 3), (1, 0)), 2: ((9, 6), (6, 9), (4, 3), (1, 0))}
    people, judge, about = {}, {}, {}
    for level, models in passes.items():
        for model, (by_people, by_judge) in enumerate(models):
            for number in range(10):
                case = Case(f"model {model}", f"{level}-{number}", 0, None)
                people[case], judge[case], about[case] = number < by_people, number < by_judge, CaseInfo(level)
    ranks = build_panel({"ann": people}, people, judge, about, 0.95).ranks
    assert [found.value for found in ranks.by_level.values()] == [pytest.approx(1), pytest.approx(0.8)]
    assert ranks.mean == pytest.approx(0.9)


@pytest.mark.parametrize(("by_all", "by_one", "one_rater_per_column"), [(2, 2, True), (2, 3, False), (1, 2, False)])
def test_raters_have_columns_of_their_own_if_half_of_all_is_rated_by_everybody(
    by_all: int, by_one: int, one_rater_per_column: bool
) -> None:
    ratings = [{"ann": 1 + number, "bob": 2 + number} for number in range(by_all)] + [{"ann": 5}] * by_one
    found = cronbach_of_ratings(ratings, items=range(len(ratings)), confidence=0.95)
    assert found.one_rater_per_column == one_rater_per_column


Say = Callable[[str, RatingTask, RatingStep], AnswerValue]

APP = typer.Typer()
APP.command()(agree_command)


def _agree(*arguments: object) -> Any:
    done = CliRunner().invoke(APP, [*map(str, arguments), "--format", "json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def _study(folder: Path, protocol: RatingProtocol, runs: list[Path], say: Say, **how: Any) -> Path:
    with opened(*runs) as there:
        made = create_study(folder, there, protocol, **{"raters": 2, "per_image": 2, **how})
    with open_study(made.folder) as study:
        for rater in made.links:
            take(study, rater, lambda task, step, rater=rater: say(rater, task, step))  # type: ignore[misc]
    return folder


def test_who_misses_attention_checks_is_named_and_left_out_on_demand(tmp_path: Path) -> None:
    """The second rater gives five points to everything, also where the words are those of another image."""
    run = concept_run(
        tmp_path / "run", concept_items(28, levels=1), [PlannedJudge("test/judge", lambda item: [True, True])]
    )

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        return 5 if rater == "rater-2" else 2

    study = _study(tmp_path / "study", "likert", [run], say, per_level=8, checks=0.2)
    (people,) = _agree(run, "--ratings", study)["people"]
    conduct = people["conduct"]
    assert [(it["checks"], it["checks_passed"], it["left_out"]) for it in conduct["raters"]] == [
        (2, 2, False),
        (2, 0, False),
    ]
    assert (people["votes"], people["whole"]["cases"]) == (16, 8)  # checks are no ratings
    assert people["points"]["histogram"] == {"1": 0, "2": 8, "3": 0, "4": 0, "5": 8}
    assert people["whole"]["classified"]["left_out"] == 8  # 2 and 5: as many ratings of 4 or more as below
    (by_mean,) = _agree(run, "--ratings", study, "--rule", "mean")["people"]
    assert by_mean["whole"]["classified"]["accuracy"]["value"] == 0  # 3.5 does not pass, and the judge says yes
    (without,) = _agree(run, "--ratings", study, "--exclude-inattentive", "0.5")["people"]
    assert [it["left_out"] for it in without["conduct"]["raters"]] == [False, True]
    assert (without["raters"], without["votes"]) == (["rater-1"], 8)
    (all_there,) = _agree(run, "--ratings", study, "--exclude-inattentive", "1")["people"]
    assert (all_there["votes"], all_there["whole"]) == (people["votes"], people["whole"])
    result = CliRunner().invoke(
        APP, [str(run), "--ratings", str(study), "--exclude-inattentive", "0"], env={"COLUMNS": "200"}
    )
    assert "Excluded for missing more than 0 % of theirs: rater-2." in result.stdout
    with opened(run) as runs, pytest.raises(FormalimgError, match="not a share"):
        human_ratings(study, runs, 1.5)


def test_votes_of_a_study_are_those_of_its_export(tmp_path: Path) -> None:
    judge = PlannedJudge("test/judge", lambda item: [item.id < "003", True])
    run = concept_run(tmp_path / "run", concept_items(6, levels=1), [judge])

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        return random.Random(f"{rater} {task.words} {step.name}").random() < 0.7

    study = _study(tmp_path / "study", "questions", [run], say)
    export_study(study, tmp_path / "out")
    (from_study,) = _agree(run, "--ratings", study)["people"]
    (from_table,) = _agree(run, "--ratings", tmp_path / "out" / "votes.csv")["people"]
    (from_votes,) = _agree(run, "--votes", tmp_path / "out" / "votes.csv")["people"]
    assert from_table == from_votes
    assert from_study.pop("conduct")["unfinished"] == 0
    from_table.pop("conduct")
    assert from_study == from_table
    assert len(from_study["divergence_by_rater"]) == 2
    assert len(from_study["questions"]["told"]) == 12


def test_scores_of_a_study_beside_those_of_the_judge(tmp_path: Path) -> None:
    """Two images; 0.9 and 0.3 by the judge, 0.8 and 0.6 by the first rater, 0.4 and 0.2 by the second."""
    items = [scored_item("a-l2", 2), scored_item("b-l2", 2)]
    run = scored_run(tmp_path / "run", items, {"a-l2": [0.9], "b-l2": [0.3]})
    given = {"rater-1": {"a": 0.8, "b": 0.6}, "rater-2": {"a": 0.4, "b": 0.2}}

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        return given[rater]["a" if "a-l2" in task.words else "b"]

    study = _study(tmp_path / "study", "scores", [run], say)
    (found,) = _agree(run, "--ratings", study)["scores"]
    pairs = {it["item"]: it for it in found["pairs"]}
    assert pairs["a-l2"]["people"] == pytest.approx(0.6)
    assert pairs["b-l2"]["by_rater"] == {"rater-1": 0.6, "rater-2": 0.2}
    assert found["cronbach"]["value"] == pytest.approx(1)  # one gives 0.4 more throughout
    # Krippendorff's, by squares: 0.16 within both images; of all pairs, six differ by 0.2, four by 0.4 and so on.
    seen, chance = 0.16, (6 * 0.04 + 4 * 0.16 + 2 * 0.36) / 12
    assert found["alpha"]["value"] == pytest.approx(1 - seen / chance)
    passing = found["passing"]
    assert passing["classified"]["confusion"] == {
        "true_positives": 1,
        "false_positives": 0,
        "false_negatives": 0,
        "true_negatives": 1,
    }
    assert passing["matrix"]["rater-1"]["rater-2"]["equal"] == 0
    assert found["by_tag"]["physics"]["mean"] == pytest.approx((0.3 - 0.1) / 2)
    assert found["questions"]["overall"]["n"] == 2


def test_corrected_boxes_measure_the_grounder(tmp_path: Path) -> None:
    run = grounded_run(tmp_path / "run", formula_items(4), unread=frozenset("3"))
    pen = {"label": "pen", "color": "blue", "box_2d": [500, 500, 700, 600]}

    def say(rater: str, task: RatingTask, step: RatingStep) -> AnswerValue:
        if task.grounded is None:
            return {"objects": [pen]}
        return SEEN if rater == "rater-1" else {"objects": [*SEEN["objects"], pen]}

    study = _study(tmp_path / "study", "boxes", [run], say)
    (found,) = _agree(run, "--ratings", study, "--iou", "0.5")["boxes"]
    assert (found["iou"], found["refused"], found["unchanged"]) == (0.5, 2, 3)
    counts = {name: found["overall"][name] for name in ("things", "found", "matched")}
    assert counts == {"things": 3 + 6 + 2, "found": 6, "matched": 6}
    assert found["between_mean"] == 2 * 4 / (4 + 7)
    assert found["judges"] == {"run": "test/number"}
    assert found["conduct"]["unfinished"] == 0


def test_what_is_refused(tmp_path: Path) -> None:
    items = concept_items(4, levels=1)
    runs = [rated_run(tmp_path / name, items) for name in ("one", "two")]
    study = _study(tmp_path / "study", "likert", runs, lambda rater, task, step: 4)

    def refused(*arguments: object) -> str:
        with pytest.raises(FormalimgError) as caught:
            CliRunner().invoke(APP, [*map(str, arguments)], catch_exceptions=False)
        return str(caught.value)

    other = rated_run(tmp_path / "three", items)
    assert "is about one, two: name at least one of these runs" in refused(other, "--ratings", study)
    assert "leave --iou out" in refused(*runs, "--ratings", study, "--iou", "0.5")
    assert "no rater has had an attention check" in refused(*runs, "--ratings", study, "--exclude-inattentive", "0.1")
    assert "give --votes, --scores or --ratings" in refused(*runs, "--ratings", study, "--votes", "votes.csv")
    assert "give it with --ratings" in refused(*runs, "--iou", "0.5")
    assert "is not a study" in refused(*runs, "--ratings", tmp_path)
    table = tmp_path / "table.csv"
    table.write_text("model,item,rater,mark\n")
    assert "one of the columns vote, score or rating" in refused(*runs, "--ratings", table)
    assert "has no attention checks" in refused(*runs, "--ratings", table, "--exclude-inattentive", "0")
    assert "cannot read" in refused(*runs, "--ratings", tmp_path / "nowhere.csv")
    other = tmp_path / "elsewhere" / "two"
    execute(RunConfig(items, Speckles(), size=16), other, NumberJudge())
    assert "are not those that raters saw" in refused(runs[0], other, "--ratings", study)
