"""Exports in the forms that agreement reads, and hostile studies."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from formalimg.benchmarks.cfworld.calibration import calibrate_gate
from formalimg.benchmarks.cfworld.score_studies import study_human_scores
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import load_label_file, load_score_file, read_votes
from formalimg.human_eval.protocol import AnswerValue, RatingStep
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import RatingTask, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.human_eval.study_export import export_study
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.rated_runs import (
    SEEN,
    concept_items,
    formula_items,
    grounded_run,
    image_in,
    opened,
    rated_run,
    small_study,
    take,
)
from tests.support.command import formalimg
from tests.support.hostile_databases import SCHEMAS, apply_edit, change_schema, corrupt, edits_of, tables_of
from tests.support.values import not_none

ME = "rater-1"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _objects(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_votes_have_the_last_answers_of_finished_tasks(tmp_path: Path) -> None:
    with small_study(tmp_path, "questions", concept_items(3, levels=1)) as study:
        with pytest.raises(FormalimgError, match="no rater has finished an image"):
            export_study(study.folder, tmp_path / "out")
        task = not_none(study.next_task(ME))
        for step, value in (("alignment", False), ("question 1", False), ("question 2", True), ("question 1", True)):
            study.answer(ME, task.id, step, value, 2)
        study.finish(ME, task.id)
        begun = not_none(study.next_task(ME))
        study.answer(ME, begun.id, "alignment", True, 2)
        done = export_study(study.folder, tmp_path / "out")  # while answers are taken
    assert (done.finished, done.unfinished) == (1, 2)
    assert [path.name for path in done.files] == ["answers.jsonl", "raters.csv", "votes.csv"]
    (rated,) = [it for it in read_study(tmp_path / "study").tasks if it.finished]
    votes = read_votes(tmp_path / "out" / "votes.csv")
    assert [it[:6] for it in votes] == [
        ("run", rated.item, 0, question, ME, yes) for question, yes in ((None, False), (1, True), (2, True))
    ]
    said = _objects(tmp_path / "out" / "answers.jsonl")
    assert len(said) == 5
    mine = [(it["step"], it["value"], it["counts"]) for it in said if it["finished"]]
    assert mine == [
        ("alignment", False, True),
        ("question 1", False, False),
        ("question 2", True, True),
        ("question 1", True, True),
    ]
    (rater,) = _rows(tmp_path / "out" / "raters.csv")
    assert rater == {
        "rater": ME,
        "finished": "1",
        "of": "3",
        "checks": "0",
        "checks_passed": "0",
        "seconds": "10.0",
        "median_seconds": "8.0",
        "cannot_tell": "0",
        "excluded": "",
    }


@pytest.mark.parametrize(
    ("points", "mean", "passed"),
    [((5, 4, 3), "4", "1"), ((5, 5, 1), "3.667", "1"), ((5, 3, 3), "3.667", "0"), ((5, 4, None), "4.5", "")],
)
def test_images_pass_by_most_ratings_of_four_or_more(
    tmp_path: Path, points: tuple[int | None, ...], mean: str, passed: str
) -> None:
    with small_study(tmp_path, "likert", concept_items(1, levels=1), raters=3, per_image=3) as study:
        for number, given in enumerate(points, 1):
            if given is not None:
                take(study, f"rater-{number}", lambda task, step, given=given: given)  # type: ignore[misc]
    export_study(tmp_path / "study", tmp_path / "out")
    (row,) = _rows(tmp_path / "out" / "compliance.csv")
    assert (row["model"], row["item"], row["mean"], row["passed"]) == ("run", "000", mean, passed)
    likert = _rows(tmp_path / "out" / "likert.csv")
    assert [int(it["rating"]) for it in likert] == [it for it in points if it is not None]
    if passed:
        (vote,) = read_votes(tmp_path / "out" / "votes.csv")
        assert (vote.rater, vote.question, vote.yes) == ("people", None, passed == "1")
    else:
        assert _rows(tmp_path / "out" / "votes.csv") == []
        leave_out = export_study(tmp_path / "study", tmp_path / "out", leave_out=["rater-3"])
        assert leave_out.unfinished == 0
        assert [it["passed"] for it in _rows(tmp_path / "out" / "compliance.csv")] == ["1"]
    with pytest.raises(FormalimgError, match="unknown rater 'eve'"):
        export_study(tmp_path / "study", tmp_path / "out", leave_out=["eve"])
    with pytest.raises(FormalimgError, match="leave out fewer"):
        export_study(tmp_path / "study", tmp_path / "out", leave_out=["rater-1", "rater-2", "rater-3"])


def test_scores_are_read_back_and_compared_with_the_judge(tmp_path: Path) -> None:
    items = [scored_item(f"g{number}-l1", dimensions=("integrity", "assessment")) for number in range(3)]
    scores: Mapping[str, list[list[float]]] = {item.id: [[1.0, 0.4]] for item in items}
    given = {"question 1": 0.9, "question 2": 0.07}
    with opened(scored_run(tmp_path / "run", items, scores)) as runs:
        create_study(tmp_path / "study", runs, "scores", raters=2, per_image=2)
        with open_study(tmp_path / "study") as study:
            for rater in ("rater-1", "rater-2"):
                take(study, rater, lambda task, step: given[step.name])
        export_study(tmp_path / "study", tmp_path / "out")
        ratings = load_score_file(tmp_path / "out" / "scores.csv").require_valid()
        assert {(it.question, it.value) for it in ratings} == {(1, 0.9), (2, 0.07)}
        assert len(ratings) == 12
        found = study_human_scores(tmp_path / "out" / "scores.csv", runs)
    # The judge: (3 + 15 · 0.4) / 18 = 0.5. People: (3 · 0.9 + 15 · 0.07) / 18.
    assert not_none(found.questions).overall.mean == pytest.approx(0.5 - (3 * 0.9 + 15 * 0.07) / 18)


def test_labels_are_what_the_gate_is_calibrated_with(tmp_path: Path) -> None:
    items = [scored_item(f"g{number}-l{level}", level) for number in range(6) for level in (1, 2)]
    scores = {item.id: [number / 12] for number, item in enumerate(items)}
    with opened(scored_run(tmp_path / "run", items, scores)) as runs:
        with pytest.raises(FormalimgError, match=r"\(level 2\) cannot be rated by questions"):
            create_study(tmp_path / "study", runs, "questions", raters=1, per_image=1)
        create_study(tmp_path / "study", runs, "questions", raters=1, per_image=1, levels=[1])
        with open_study(tmp_path / "study") as study:
            take(study, ME, lambda task, step: scores[task.words.split()[-1].strip(".")][0] >= 0.4)
        export_study(tmp_path / "study", tmp_path / "out")
        labels = load_label_file(tmp_path / "out" / "labels.csv").require_valid()
        assert {it.item: it.value for it in labels} == {
            item.id: float(scores[item.id][0] >= 0.4) for item in items if item.level == 1
        }
        found = calibrate_gate(tmp_path / "out" / "labels.csv", runs)
    assert 4 / 12 < not_none(found.best).value <= 6 / 12


def test_boxes_come_with_what_was_found(tmp_path: Path) -> None:
    mended = {"objects": [{"label": "cup", "color": "blue", "box_2d": [100, 120, 300, 400.5]}]}
    grounded_run(tmp_path / "run", formula_items(2), unread=frozenset({"1"}))
    with small_study(tmp_path, "boxes", ()) as study:
        take(study, ME, lambda task, step: mended)
    export_study(tmp_path / "study", tmp_path / "out")
    rows = _objects(tmp_path / "out" / "boxes.jsonl")
    assert [(it["item"], it["grounded"], it["corrected"]) for it in rows] == [("0", SEEN, mended), ("1", None, mended)]


def test_attention_is_told_by_rater_and_checks_stay_out_of_the_votes(tmp_path: Path) -> None:
    items = concept_items(20)
    with opened(rated_run(tmp_path / "run", items)) as runs:
        create_study(tmp_path / "study", runs, "questions", raters=2, per_image=1, checks=0.2)
    shown = {image_in("run", item.id): item.prompt for item in items}

    def careful(task: RatingTask, step: RatingStep) -> AnswerValue:
        return shown[study.image("rater-1", task.image)] == task.words

    with open_study(tmp_path / "study") as study:
        take(study, "rater-1", careful)
        take(study, "rater-2", lambda task, step: True)
    done = export_study(tmp_path / "study", tmp_path / "out")
    assert [(it.checks, it.checks_passed) for it in done.raters] == [(3, 3), (3, 0)]
    assert done.finished == 20
    assert len({(vote.item, vote.rater) for vote in read_votes(tmp_path / "out" / "votes.csv")}) == 20
    assert sum(bool(it["check"]) for it in _objects(tmp_path / "out" / "answers.jsonl")) >= 6


def test_nothing_is_still_to_come_from_raters_who_are_left_out(tmp_path: Path) -> None:
    items = concept_items(20)
    run = rated_run(tmp_path / "run", items)
    with opened(run) as runs:
        create_study(tmp_path / "study", runs, "questions", raters=2, per_image=1, checks=0.2)
    shown = {image_in("run", item.id): item.prompt for item in items}
    with open_study(tmp_path / "study") as study:
        take(study, ME, lambda task, step: shown[study.image(ME, task.image)] == task.words, most=9)
        take(study, "rater-2", lambda task, step: True, most=11)  # of 13: at least one of three checks is among them
    mine = [task for task in read_study(tmp_path / "study").tasks if task.rater == ME and not task.is_check]
    to_come = sum(not task.finished for task in mine)
    with opened(run) as runs:
        said = human_ratings(tmp_path / "study", runs, 0.0)
    assert said.attention is not None
    assert [rater.rater for rater in said.attention.raters if rater.left_out] == ["rater-2"]
    assert said.attention.unfinished == to_come
    assert {vote.rater for vote in said.votes} == {ME}
    done = export_study(tmp_path / "study", tmp_path / "out", leave_out=["rater-2"])
    assert (done.finished, done.unfinished) == (10 - to_come, to_come)
    assert to_come > 0


TIMES = int(os.environ.get("FORMALIMG_HOSTILE", "1"))
SEED = int(os.environ.get("FORMALIMG_SEED", "16"))


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("questions")
    with opened(rated_run(home / "run", concept_items(4))) as runs:
        create_study(home / "study", runs, "questions", raters=2, per_image=2)
    with open_study(home / "study") as study:
        take(study, "rater-1", lambda task, step: True, 2)
    return home


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("boxes")
    with opened(grounded_run(home / "run", formula_items(3))) as runs:
        create_study(home / "study", runs, "boxes", raters=1, per_image=1)
    with open_study(home / "study") as study:
        take(study, "rater-1", lambda task, step: task.grounded or {}, 1)
    return home


def _read(home: Path) -> None:
    read_study(home / "study")


def _answer(home: Path) -> None:
    with open_study(home / "study") as study:
        study.progress()
        for rater in ("rater-1", "rater-2"):
            task = study.next_task(rater)
            if task is None:
                continue
            study.image(rater, task.image)
            value = task.grounded if task.steps[0].kind == "boxes" else True
            study.answer(rater, task.id, task.steps[0].name, value, 1)


def _export(home: Path) -> None:
    for arguments in (
        ["annotate", str(home / "study"), "--export", str(home / "out.csv")],
        ["agree", str(home / "run"), "--ratings", str(home / "study")],
    ):
        ended = formalimg(*arguments)
        assert ended.code in (0, 1, 2), ended


ACTIONS: list[Callable[[Path], None]] = [_read, _answer, _read, _answer, _export]


def _attack(source: Path, place: Path, harm: Callable[[Path], object], actions: list[Callable[[Path], None]]) -> None:
    for action in actions:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(source, place)
        done = harm(place / "study" / "ratings.sqlite")
        try:
            action(place)
        except FormalimgError as error:
            assert len(str(error).splitlines()) == 1
        except Exception as error:
            error.add_note(f"after {done}, in {action.__name__}")
            raise


def _corrupt(seed: int, file: Path) -> str:
    return corrupt(file, random.Random(seed))


def test_damaged_studies_are_one_line_or_do_not_matter(questions: Path, boxes: Path, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    for _ in range(30 * TIMES):
        harm = dice.randrange(2**32)
        actions = ACTIONS if TIMES > 1 else [dice.choice(ACTIONS)]
        source = dice.choice([questions, boxes])
        _attack(source, tmp_path / "there", partial(_corrupt, harm), actions)


def test_studies_with_values_of_any_kind_are_one_line_or_do_not_matter(
    questions: Path, boxes: Path, tmp_path: Path
) -> None:
    dice = random.Random(SEED)
    edits = [(home, edit) for home in (questions, boxes) for edit in edits_of(home / "study" / "ratings.sqlite")]
    for source, edit in dice.sample(edits, min(len(edits), 40 * TIMES)):
        all_rows = dice.random() < 0.3

        def harm(file: Path, edit=edit, all_rows: bool = all_rows) -> object:  # type: ignore[no-untyped-def]
            apply_edit(file, edit, all_rows=all_rows)
            return edit

        _attack(source, tmp_path / "there", harm, ACTIONS if TIMES > 1 else [dice.choice(ACTIONS)])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_study_with_another_schema_is_refused(questions: Path, tmp_path: Path, name: str) -> None:
    for table, columns in tables_of(questions / "study" / "ratings.sqlite").items():
        home = tmp_path / table
        shutil.copytree(questions, home)
        change_schema(home / "study" / "ratings.sqlite", name, table, columns[0])
        for action in (_read, _answer):
            with pytest.raises(FormalimgError, match=r"(holds|lacks) the .*restore it from a copy"):
                action(home)


def test_a_study_without_its_own_triggers_is_refused(questions: Path, tmp_path: Path) -> None:
    shutil.copytree(questions, tmp_path / "home")
    with closing(sqlite3.connect(tmp_path / "home" / "study" / "ratings.sqlite")) as database:
        database.execute("DROP TRIGGER answers_stay")
    with pytest.raises(FormalimgError, match="lacks the trigger answers_stay"):
        open_study(tmp_path / "home" / "study")


@pytest.mark.parametrize("file", ["../secret.png", "images/../../secret.png", "images/link.png"])
def test_raters_are_shown_no_file_from_elsewhere(questions: Path, tmp_path: Path, file: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(questions, home)
    first = next((home / "run" / "images").glob("*.png"))
    shutil.copy(first, home / "secret.png")  # with a digest that the study may know
    (home / "run" / "images" / "link.png").symlink_to(home / "secret.png")
    with closing(sqlite3.connect(home / "study" / "ratings.sqlite")) as database:
        database.execute(
            "UPDATE pictures SET file = ?, sha256 = (SELECT sha256 FROM pictures WHERE file = ?)",
            (file, f"images/{first.name}"),
        )
        database.commit()
    with open_study(home / "study") as study:
        task = not_none(study.next_task("rater-2"))
        with pytest.raises(FormalimgError, match=r"damaged|symbolic link"):
            study.image("rater-2", task.image)
