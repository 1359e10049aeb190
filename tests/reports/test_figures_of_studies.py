"""Figures of studies tell the numbers of the study, stand where the axes say, and hold nothing but text of others."""

from __future__ import annotations

import json
import random
import re
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.calibration import GateCalibration, calibrate_gate
from formalimg.benchmarks.cfworld.score_studies import study_human_scores
from formalimg.benchmarks.conceptmix.captions.files import CategoryCounts
from formalimg.benchmarks.conceptmix.captions.study import CaptionStudy, study_captions
from formalimg.benchmarks.conceptmix.spec import Category
from formalimg.cli.group_studies import calibrate_command
from formalimg.human_eval.agreement.boxes import BoxCorrection, study_boxes
from formalimg.human_eval.agreement.judge_agreement import compare_judges
from formalimg.human_eval.agreement.rater_agreement import JUDGE, MAJORITY
from formalimg.human_eval.agreement.rating_files import Rating, Vote
from formalimg.human_eval.agreement.score_agreement import HumanScoreStudy
from formalimg.human_eval.agreement.thresholds import LabelledScore, at_thresholds
from formalimg.human_eval.agreement.vote_study import VoteStudy, study_votes
from formalimg.reports.figures.charts import five_numbers
from formalimg.reports.figures.plots import count_axis
from formalimg.reports.figures.studies import study_figures
from formalimg.reports.figures.svg import Figure, write_figures
from formalimg.runs.reader import open_run
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.stats.correlation import pearson
from tests.human_eval.concept_runs import PlannedJudge, concept_item, concept_run
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.voted_runs import ITEMS, JUDGED, voted_runs
from tests.reports.figures_read import SVG, TAGS, axis, figures, marks, parsed, place, words
from tests.support.values import not_none

HOSTILE = '<script>alert(1)</script> "x" \x00 ]]>'
RATERS = ("ann", "bob", HOSTILE)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> VoteStudy:
    """Three persons vote on all images of three runs, as a whole and question by question, with some mistakes."""
    folders = voted_runs(tmp_path_factory.mktemp("voted"))
    dice = random.Random(5)
    votes = []
    for name, judged in JUDGED.items():
        for item in ITEMS:
            for rater in RATERS:
                answers = [(letter == "y") ^ (dice.random() < 0.2) for letter in judged[item.id]]
                votes.append(Vote(name, item.id, 0, None, rater, all(answers) ^ (dice.random() < 0.2), 0))
                votes += [Vote(name, item.id, 0, number, rater, yes, 0) for number, yes in enumerate(answers, 1)]
    return study_votes(votes, [open_run(folder) for folder in folders.values()])


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> HumanScoreStudy:
    dice = random.Random(6)
    items = [
        scored_item(f"g{group}-l{level}", level, dimensions=("assessment", "logic"))
        for group in range(8)
        for level in (1, 2, 3)
    ]
    given = {item.id: [[dice.choice((0, 0.25, 0.5, 1)) for _ in range(2)]] for item in items}
    folder = scored_run(tmp_path_factory.mktemp("scored") / "run", items, given)
    ratings = [
        Rating("run", item.id, 0, number, rater, max(0.0, min(1.0, score + dice.choice((-0.25, -0.1, 0, 0, 0.1)))), 0)
        for item in items
        for number, score in enumerate(given[item.id][0], 1)
        for rater in ("ann", "bob")
    ]
    with closing(open_run(folder)) as run:
        return study_human_scores(ratings, [run])


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> tuple[GateCalibration, list[LabelledScore]]:
    counted = [LabelledScore(score, score > 0.4) for score in (0.2, 0.35, 0.45, 0.5, 0.8, 0.9)]
    counted[1], counted[4] = LabelledScore(0.35, True), LabelledScore(0.8, False)
    items = [scored_item(f"g{number}-l1") for number in range(len(counted))]
    scores = {item.id: [image.score] for item, image in zip(items, counted, strict=True)}
    folder = scored_run(tmp_path_factory.mktemp("gate") / "run", items, scores)
    labels = [
        Rating("run", item.id, 0, None, "ann", float(image.recognisable), 0)
        for item, image in zip(items, counted, strict=True)
    ]
    with closing(open_run(folder)) as run:
        return calibrate_gate(labels, [run]), counted


def drawn(study: VoteStudy | HumanScoreStudy | GateCalibration | CaptionStudy) -> dict[str, Figure]:
    found = study_figures(study)
    assert len({drawing.name for drawing in found}) == len(found)
    return {drawing.name: drawing for drawing in found}


def test_votes_have_a_figure_for_each_step_and_one_between_them(people: VoteStudy) -> None:
    steps = ("whole", "all-questions", "questions")
    expected = {f"conceptmix-people-{step}-{kind}" for step in steps for kind in ("rates", "runs", "pairs")}
    assert set(drawn(people)) == expected | {"conceptmix-people-questions-kinds", "conceptmix-people-steps"}


def test_rates_of_people_and_judge_are_those_of_the_study(people: VoteStudy) -> None:
    assert people.whole is not None
    drawing = drawn(people)["conceptmix-people-whole-rates"]
    expected = {}
    for score in people.whole.scores:
        if score.level is not None:
            r = people.whole.within_levels_by_run[score.run].value
            title = score.run if r is None else f"{score.run}, r = {r:.2f}"
            expected[f"{score.run}, k {score.level}, majority"] = f"{score.human_of_both.value:.3f}"
            expected[f"{score.run}, k {score.level}, judge"] = f"{score.judge_of_both.value:.3f}"
            assert title in words(drawing)
    assert figures(drawing) == expected
    zero, hundred = axis(drawing, "y", anchor="end")
    first = {title: mark for title, mark in marks(drawing).items() if title.startswith(people.whole.scores[0].run)}
    for title, mark in first.items():
        share = (zero - 2.4 - place(mark)[1]) / (zero - hundred)
        assert share == pytest.approx(float(title.rsplit(" ", 1)[1]), abs=0.01)


def test_a_single_run_has_both_correlations_named(tmp_path: Path) -> None:
    folder = voted_runs(tmp_path)["one"]
    votes = [Vote("one", item.id, 0, None, "ann", item.id not in ("b2", "c1", "c2"), 0) for item in ITEMS]
    with closing(open_run(folder)) as run:
        study = study_votes(votes, [run])
    # People: 1, ½, 0 of the images of k 1, 2, 3; the judge: ½, ½, 0.
    labels = words(drawn(study)["conceptmix-people-whole-rates"])
    assert "one, r = 0.71 within, r = 0.87 over k" in labels


def test_the_shade_spans_from_person_to_person(people: VoteStudy) -> None:
    drawing = drawn(people)["conceptmix-people-whole-rates"]
    zero, hundred = axis(drawing, "y", anchor="end")
    shade = next(one for one in parsed(drawing).iter(f"{SVG}path") if one.get("fill-opacity"))
    heights = [(zero - 2.4 - float(y)) / (zero - hundred) for y in re.findall(r" ([\d.]+)", shade.attrib["d"])]
    run = not_none(people.whole).scores[0].run
    own = {
        level: [one.rate.value for one in not_none(people.whole).by_rater if (one.run, one.level) == (run, level)]
        for level in (1, 2, 3)
    }
    most = [max(value for value in own[level] if value is not None) for level in (1, 2, 3)]
    least = [min(value for value in own[level] if value is not None) for level in (3, 2, 1)]
    assert heights == pytest.approx([*most, *least], abs=0.01)
    assert any(high > low for high, low in zip(most, reversed(least), strict=True))


def test_where_people_take_turns_the_shade_spans_from_answer_to_answer(tmp_path: Path) -> None:
    """Twelve people with an image or two each: one says yes to all of theirs, another to none, and that tells nothing.

    Two answers to each image: the first are all yes but one in six, the second half yes.
    """
    folder = voted_runs(tmp_path)["one"]
    people = [f"rater-{number}" for number in range(1, 13)]
    votes = []
    for number, item in enumerate(ITEMS):
        first, second = people[2 * number : 2 * number + 2]
        votes += [Vote("one", item.id, 0, None, first, number != 5, 0)]
        votes += [Vote("one", item.id, 0, None, second, number % 2 == 0, 0)]
    with closing(open_run(folder)) as run:
        study = study_votes(votes, [run])
    assert {one.rater for one in not_none(study.whole).by_turn} == {"answer 1", "answer 2"}
    overall = {one.rater: one.rate.value for one in not_none(study.whole).by_turn if one.level is None}
    assert overall == {"answer 1": 5 / 6, "answer 2": 3 / 6}
    drawing = drawn(study)["conceptmix-people-whole-rates"]
    zero, hundred = axis(drawing, "y", anchor="end")
    shade = next(one for one in parsed(drawing).iter(f"{SVG}path") if one.get("fill-opacity"))
    heights = [(zero - 2.4 - float(y)) / (zero - hundred) for y in re.findall(r" ([\d.]+)", shade.attrib["d"])]
    assert heights == pytest.approx([1, 1, 0.5, 0.5, 0.5, 0.5], abs=0.01)
    assert "range of answers" in words(drawing)


def test_runs_whose_names_begin_alike_can_be_told_apart_and_keep_their_r(people: VoteStudy) -> None:
    assert people.whole is not None
    long = {run: f"conceptmix-a-laboratory-with-a-name-{run}" for run in people.whole.within_levels_by_run}
    scores = tuple(score._replace(run=long[score.run]) for score in people.whole.scores)
    within = {long[run]: pearson([(0, 0), (1, 2), (2, 1)]) for run in long}
    panel = replace(people.whole, scores=scores, by_rater=(), within_levels_by_run=within)
    labels = words(drawn(replace(people, whole=panel))["conceptmix-people-whole-rates"])
    assert {f"…{run}, r = 0.50" for run in long} <= set(labels)


def test_many_raters_have_names_that_do_not_lie_on_each_other(tmp_path: Path) -> None:
    folder = voted_runs(tmp_path)["one"]
    votes = [Vote("one", item.id, 0, None, f"rater-{number}", True, 0) for item in ITEMS for number in range(40)]
    with closing(open_run(folder)) as run:
        study = study_votes(votes, [run])
    drawing = drawn(study)["conceptmix-people-whole-pairs"]
    turned = [re.search(r"translate\(([\d.]+)", one.get("transform", "")) for one in parsed(drawing).iter(f"{SVG}text")]
    across = sorted(float(found[1]) for found in turned if found)
    assert len(across) > 10
    assert min(after - before for before, after in pairwise(across)) >= 7
    # All forty always say the same, and the most agreement is the darkest, not the palest.
    shades = {one.get("fill") for one in parsed(drawing).iter(f"{SVG}rect")}
    assert "#1d5ba6" in shades


def test_runs_stand_where_people_and_judge_put_them(people: VoteStudy) -> None:
    drawing = drawn(people)["conceptmix-people-questions-runs"]
    left, right = axis(drawing, "x", anchor="middle")
    zero, hundred = axis(drawing, "y", anchor="end")
    spots = {title: mark for title, mark in marks(drawing).items() if title.startswith("all levels")}
    assert len(spots) == 3
    for score in (one for one in not_none(people.questions).scores if one.level is None):
        said, judged = score.human_of_both.value, score.judge_of_both.value
        assert said is not None
        assert judged is not None
        mark = spots[f"all levels, {score.run}: majority {said:.3f}, judge {judged:.3f}"]
        x, y = place(mark)
        assert (x - left) / (right - left) == pytest.approx(said, abs=0.03)
        assert (zero - 2.4 - y) / (zero - hundred) == pytest.approx(judged, abs=0.03)


def test_pairs_are_those_of_the_study(people: VoteStudy) -> None:
    labels = figures(drawn(people)["conceptmix-people-all-questions-pairs"])
    shown = {name: name.replace("\x00", "·") for name in (*RATERS, MAJORITY, JUDGE)}
    assert labels == {
        f"{shown[one]}, {shown[other]}": f"{found.value:.2f}"
        for one, row in not_none(people.all_questions).matrix.items()
        for other, found in row.items()
        if one != other
    }


def test_steps_have_a_box_for_each_level_and_a_point_for_each_person(people: VoteStudy) -> None:
    labels = figures(drawn(people)["conceptmix-people-steps"])
    for level in (1, 2, 3):
        own = [people.divergence_by_rater[rater][level].agreement.value for rater in RATERS]
        for rater, value in zip(RATERS, own, strict=True):
            assert labels[f"k {level}, {rater}".replace("\x00", "·")] == f"{value:.3f}"
        expected = np.quantile([value for value in own if value is not None], (0, 0.25, 0.5, 0.75, 1))
        assert [float(part) for part in labels[f"k {level}"].split(", ")] == pytest.approx(list(expected), abs=1e-5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_boxes_end_at_the_quartiles(values: list[float]) -> None:
    assert five_numbers(values) == pytest.approx(tuple(np.quantile(values, (0, 0.25, 0.5, 0.75, 1))), abs=1e-12)


@given(st.integers(1, 10**9))
def test_counts_have_an_axis_of_whole_numbers_that_they_nearly_fill(most: int) -> None:
    scale = count_axis(most)
    steps = [value for value, _ in scale.ticks]
    assert 1 <= len(steps) - 1 <= 5
    assert scale.high >= most > scale.high - steps[1]
    assert all(value == int(value) for value in steps)


def test_differences_of_scores_are_those_of_the_study(scores: HumanScoreStudy) -> None:
    gap = not_none(scores.questions).overall
    found = drawn(scores)
    drawing = found["cf-world-people-differences"]
    labels = figures(drawing)
    assert labels == {f"{low:+.3f} to {high:+.3f}": f"{there:,}" for low, high, there in gap.histogram}
    heights = {name.rsplit(": ", 1)[0]: mark.find(f"{SVG}rect") for name, mark in marks(drawing).items()}
    dark = [name for name, bar in heights.items() if bar is not None and bar.get("fill") == "#1d5ba6"]
    assert sum(int(labels[name]) for name in dark) == gap.near.happened
    high = [
        float(bar.attrib["height"]) / int(labels[name])
        for name, bar in heights.items()
        if bar is not None and int(labels[name])
    ]
    assert high == pytest.approx([high[0]] * len(high), rel=0.01)
    assert figures(found["cf-world-people-levels"]) == {
        f"{who}, L{level}": f"{value:.3f}"
        for level, part in not_none(scores.questions).by_level.items()
        for who, value in (("people", part.human), ("judge", part.judge))
    }
    assert figures(found["cf-world-people-dimensions"])["judge, logic"] == f"{scores.by_dimension['logic'].judge:.3f}"
    assert figures(found["cf-world-people-fields"])["people, physics"] == f"{scores.by_tag['physics'].human:.3f}"


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_the_gate_is_drawn_in_steps_that_are_right_at_every_threshold(
    gate: tuple[GateCalibration, list[LabelledScore]], measure: str
) -> None:
    study, counted = gate
    drawing = drawn(study)["cf-world-gate"]
    name = "accuracy" if measure == "accuracy" else "F1"
    labels = figures(drawing)
    assert {at.threshold: labels[f"{name} at {at.threshold:g}"] for at in study.table} == {
        at.threshold: f"{getattr(at, measure):.3f}" for at in study.table
    }
    assert labels[f"best accuracy: {not_none(study.best).value:.2f}"] == f"{not_none(study.best).value:g}"
    zero, hundred = axis(drawing, "y", anchor="end")
    color = "#1d5ba6" if measure == "accuracy" else "#ad4c22"
    line = next(
        one for one in parsed(drawing).iter(f"{SVG}path") if one.get("stroke-linejoin") and one.get("stroke") == color
    )
    path = [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", line.attrib["d"])]
    left, right = path[0][0], path[-1][0]
    for threshold in (0.013, 0.21, 0.333, 0.36, 0.444, 0.51, 0.77, 0.953):
        x = left + (right - left) * threshold
        (y,) = {y for (start, y), (end, other) in pairwise(path) if start < x < end and y == other}
        expected = getattr(at_thresholds(counted, [threshold])[0], measure)
        assert (zero - 2.4 - y) / (zero - hundred) == pytest.approx(expected, abs=0.002)


def test_the_command_draws_the_gate(tmp_path: Path) -> None:
    folder = scored_run(tmp_path / "run", [scored_item("a-l1"), scored_item("b-l1")], {"a-l1": [0.2], "b-l1": [0.8]})
    (tmp_path / "labels.csv").write_text("model,item,rater,label\nrun,a-l1,ann,0\nrun,b-l1,ann,1\n")
    app = typer.Typer()
    app.command()(calibrate_command)
    wanted = [
        str(folder),
        "--labels",
        str(tmp_path / "labels.csv"),
        "--format",
        "json",
        "--figures",
        str(tmp_path / "f"),
    ]
    json.loads(CliRunner().invoke(app, wanted, catch_exceptions=False).stdout)
    assert {path.name for path in (tmp_path / "f").iterdir()} == {"cf-world-gate.svg", "cf-world-gate.png"}


def test_boxes_that_were_found_by_level_and_class() -> None:
    cup, pen, other = (SceneObject(label, Box(0, 0, 4, 4)) for label in ("cup", "pen", "pen"))
    study = study_boxes(
        [
            BoxCorrection("run", "a", 0, 1, "ann", Scene.of([cup, pen]), Scene.of([cup])),
            BoxCorrection("run", "b", 0, 2, "ann", Scene.of([cup]), Scene.of([cup, other])),
        ],
        suite="knolling",
    )
    found = {drawing.name: drawing for drawing in study_figures(study)}
    assert figures(found["knolling-boxes-by-level"]) == {
        "precision, K 1": "0.500",
        "recall, K 1": "1.000",
        "precision, K 2": "1.000",
        "recall, K 2": "0.500",
    }
    assert figures(found["knolling-boxes-by-class"])["precision, pen"] == "0.000"


def test_captions_have_the_counts_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text(
        "a red car\ntwo dogs beside a small tree\noil painting of a cat\nSale!\n" * 3
    )
    study = study_captions(tmp_path / "captions.txt")
    counts = study.with_object
    found = drawn(study)
    together = figures(found["captions-together"])
    assert together["object, object"] == "100.0"
    assert together["number, spatial"] == f"{100 * counts.together('number', 'spatial') / counts.captions:.1f}"
    assert figures(found["captions-categories"]) == {
        f"{size} categories": str(there) for size, there in enumerate(counts.histogram) if size
    }


def test_captions_without_objects_have_no_figures() -> None:
    assert study_figures(CaptionStudy("none", {}, CategoryCounts((4, *[0] * 255)))) == ()


def test_two_judges_stand_side_by_side(tmp_path: Path) -> None:
    kinds: tuple[Category, ...] = ("object", "color", "size")
    items = [concept_item(f"{level}-{n}", kinds[: level + 1]) for level in (1, 2) for n in (1, 2)]
    judges = [
        PlannedJudge("kind/judge", lambda item: [True] * len(item.spec.concepts)),
        PlannedJudge("strict/judge", lambda item: [item.id.endswith("1")] * len(item.spec.concepts)),
    ]
    study = compare_judges(concept_run(tmp_path / "A run & more", items, judges))
    found = {drawing.name: drawing for drawing in study_figures(study)}
    assert set(found) == {"conceptmix-judges-a-run-more-rates", "conceptmix-judges-a-run-more-kinds"}
    assert figures(found["conceptmix-judges-a-run-more-rates"]) == {
        f"k {level}, {judge}": share
        for level in (1, 2)
        for judge, share in (("kind/judge", "1.000"), ("strict/judge", "0.500"))
    }
    assert figures(found["conceptmix-judges-a-run-more-kinds"])["color"] == "0.500"


def test_names_of_others_stay_words(people: VoteStudy) -> None:
    for drawing in study_figures(people):
        assert {one.tag for one in parsed(drawing).iter()} <= TAGS
        assert "<script" not in drawing.svg()
        assert not [
            key for one in parsed(drawing).iter() for key in one.attrib if key.startswith("on") or "href" in key
        ]


def test_figures_of_one_name_do_not_replace_each_other(people: VoteStudy, tmp_path: Path) -> None:
    drawing = study_figures(people)[0]
    files = write_figures([drawing, drawing, drawing], tmp_path, ["svg"])
    assert [path.name for path in files] == [f"{drawing.name}{end}.svg" for end in ("", "-2", "-3")]
    assert all(path.is_file() for path in files)
