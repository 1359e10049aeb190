"""Raters answer, go back and put off, and nothing is lost."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from formalimg._util.locks import LockedError
from formalimg.errors import FormalimgError
from formalimg.human_eval import protocol
from formalimg.human_eval.protocol import AnswerError
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import RatingTask, Study, open_study
from formalimg.human_eval.study_builder import create_study
from tests.human_eval.counterfactual_runs import scored_item
from tests.human_eval.rated_runs import (
    SEEN,
    concept_items,
    formula_items,
    grounded_run,
    opened,
    rated_run,
    small_study,
    take,
)
from tests.support.values import not_none

ME = "rater-1"


def _refused(study: Study, message: str, *answer: object) -> None:
    before = read_study(study.folder)
    with pytest.raises(AnswerError, match=message) as refused:
        study.answer(*answer)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500
    assert read_study(study.folder) == before


def test_questions_come_after_the_whole_and_there_is_no_way_back(tmp_path: Path) -> None:
    with small_study(tmp_path, "questions", concept_items(2)) as study:
        task = not_none(study.next_task(ME))
        assert [step.name for step in task.steps] == ["alignment"]
        assert "Is there" not in json.dumps([step.asks for step in task.steps])
        _refused(study, "answer alignment first", ME, task.id, "question 1", True, 1)
        study.answer(ME, task.id, "alignment", True, 2.5)
        _refused(study, "cannot be changed", ME, task.id, "alignment", False, 1)
        task = not_none(study.next_task(ME))
        assert task.answers == {"alignment": True}
        assert [step.name for step in task.steps][1:] == [f"question {number}" for number in range(1, len(task.steps))]
        with pytest.raises(AnswerError, match="question 1 has no answer yet"):
            study.finish(ME, task.id)
        for step in task.steps[1:]:
            study.answer(ME, task.id, step.name, False, 1)
        _refused(study, "cannot be changed", ME, task.id, "alignment", False, 1)
        study.finish(ME, task.id)
        _refused(study, "is finished", ME, task.id, "question 1", True, 1)
        with pytest.raises(AnswerError, match="is finished"):
            study.finish(ME, task.id)


def test_answers_can_be_corrected_until_the_task_is_finished(tmp_path: Path) -> None:
    with small_study(tmp_path, "likert", concept_items(2)) as study:
        task = not_none(study.next_task(ME))
        for points in (2, 5, 4):
            study.answer(ME, task.id, "compliance", points, points)
        again = not_none(study.next_task(ME))
        assert (again.id, again.answers, again.is_complete) == (task.id, {"compliance": 4}, True)
        study.finish(ME, task.id)
        _refused(study, "is finished", ME, task.id, "compliance", 1, 1)
        (kept,) = [task for task in read_study(study.folder).tasks if task.finished]
        assert [(it.value, it.seconds) for it in kept.history] == [(2, 2.0), (5, 5.0), (4, 4.0)]
        assert kept.answers["compliance"].value == 4
        following = not_none(study.next_task(ME))
        assert (following.number, following.of) == (2, 2)


def test_an_answer_that_arrives_again_under_its_key_is_kept_once(tmp_path: Path) -> None:
    with small_study(tmp_path, "questions", concept_items(2), raters=2) as study:
        task = not_none(study.next_task(ME))
        for _ in range(2):
            study.answer(ME, task.id, "alignment", True, 1, "a")
        _refused(study, "cannot be changed", ME, task.id, "alignment", True, 1, "b")
        _refused(study, "not your current task", "rater-2", task.id, "alignment", True, 1, "a")  # a key is no way in
        for step in study.next_task(ME).steps[1:]:  # type: ignore[union-attr]
            study.answer(ME, task.id, step.name, True, 1, "a")  # the same key, but of another step
            study.answer(ME, task.id, step.name, False, 1, None)
            study.answer(ME, task.id, step.name, False, 1, None)
        study.finish(ME, task.id)
        study.answer(ME, task.id, "alignment", True, 1, "a")  # late
        (kept,) = [task for task in read_study(study.folder).tasks if task.finished]
        assert [it.value for it in kept.history] == [True, *[True, False, False] * (len(kept.steps) - 1)]


def test_a_study_goes_on_where_it_was_left(tmp_path: Path) -> None:
    with small_study(tmp_path, "questions", concept_items(4)) as study:
        take(study, ME, lambda task, step: True, 2)
        begun = not_none(study.next_task(ME))
        study.answer(ME, begun.id, "alignment", False, 1)
        left = study.next_task(ME)
    with open_study(tmp_path / "study") as study:
        assert study.next_task(ME) == left
        (progress,) = study.progress()
        assert (progress.finished, progress.of) == (2, 4)
        assert progress.seconds == 1 + 1.5 * sum(
            len(task.history) for task in read_study(study.folder).tasks if task.finished
        )
        assert progress.last.endswith("Z")
        assert take(study, ME, lambda task, step: True) == 2
        assert study.next_task(ME) is None
        _refused(study, "not your current task", ME, "unknown", "alignment", True, 1)


def test_strangers_and_other_peoples_tasks_are_refused(tmp_path: Path) -> None:
    with small_study(tmp_path, "likert", concept_items(4), raters=2) as study:
        mine, yours = study.next_task(ME), study.next_task("rater-2")
        assert mine is not None
        assert yours is not None
        _refused(study, "not your current task", ME, yours.id, "compliance", 3, 1)
        _refused(study, "unknown task", ME, "\ud800", "compliance", 3, 1)
        _refused(study, "unknown step", ME, mine.id, "\n" * 5000, 3, 1)
        _refused(study, "unknown rater 'eve'", "eve", mine.id, "compliance", 3, 1)
        with pytest.raises(AnswerError, match="image is not among yours"):
            study.image(ME, yours.image)
        with pytest.raises(AnswerError, match="unknown rater"):
            study.next_task("")
        with pytest.raises(AnswerError, match="unknown rater"):
            study.new_link("eve")


@pytest.mark.parametrize("value", [0, 6, 3.0, True, None, "4", [4], float("nan"), "x" * 5000 + "\n"])
def test_points_are_whole_numbers_from_one_to_five(tmp_path: Path, value: object) -> None:
    with small_study(tmp_path, "likert", concept_items(2)) as study:
        task = not_none(study.next_task(ME))
        _refused(study, "whole number from 1 to 5", ME, task.id, "compliance", value, 1)


def test_other_answers_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with small_study(tmp_path, "questions", concept_items(2)) as study:
        task = not_none(study.next_task(ME))
        for value in (1, 0, "yes", None):
            _refused(study, "yes or no", ME, task.id, "alignment", value, 1)
        for seconds in (-1, float("nan"), float("inf"), "1", None, True, 1e9):
            _refused(study, "took .* seconds", ME, task.id, "alignment", True, seconds)
        _refused(study, "unknown step 'compliance': answer one of alignment$", ME, task.id, "compliance", True, 1)


def test_scores_are_given_question_by_question(tmp_path: Path) -> None:
    item = scored_item("a-l1", dimensions=("integrity", "assessment"))
    with small_study(tmp_path, "scores", [item]) as study:
        task = not_none(study.next_task(ME))
        assert [(step.asks, step.criteria) for step in task.steps] == [
            (f"Question {number}?", "1.0: yes, 0.0: no") for number in (1, 2)
        ]
        for value in (-0.01, 1.01, 0.123, True, "0.5", None, float("nan")):
            _refused(study, "from 0 to 1 with no more than two decimals", ME, task.id, "question 2", value, 1)
        for value in (0.35, 1, -0.0):
            study.answer(ME, task.id, "question 2", value, 1)
        assert str(study.next_task(ME).answers["question 2"]) == "0.0"  # type: ignore[union-attr]
        with pytest.raises(AnswerError, match="question 1 has no answer"):
            study.finish(ME, task.id)


def test_boxes_are_corrected(tmp_path: Path) -> None:
    odd = {"objects": [*SEEN["objects"], {"label": "gizmo", "color": "mauve", "box_2d": [1, 1, 5, 9]}]}
    grounded_run(tmp_path / "run", formula_items(2), odd, unread=frozenset({"1"}))
    with small_study(tmp_path, "boxes", ()) as study:
        found = []
        while (task := study.next_task(ME)) is not None:
            found.append(task.grounded)
            for scene, message in (
                ([], "a scene is an object"),
                ({"objects": [{"label": "cup", "color": "red", "box_2d": [1, 1, 2]}]}, "four numbers"),
                ({"objects": [{"label": "cup", "color": "red", "box_2d": [5, 5, 5, 9]}]}, "has no area"),
                ({"objects": [{"label": "cupp", "color": "red", "box_2d": [1, 1, 5, 9]}]}, "did you mean 'cup'"),
                ({"objects": [{"label": "cup", "color": "redd", "box_2d": [1, 1, 5, 9]}]}, "did you mean 'red'"),
                ({"objects": [{"label": "mauve", "color": "red", "box_2d": [1, 1, 5, 9]}]}, "no class 'mauve'"),
                ({"objects": [{}] * 1001}, "no more than 1000"),
            ):
                _refused(study, message, ME, task.id, "boxes", scene, 1)
            if task.grounded:  # words of the grounder's own may stay, also beside others
                kept = {"objects": [{"label": "gizmo", "color": "red", "box_2d": [1, 1, 5, 9]}]}
                study.answer(ME, task.id, "boxes", kept, 1)
            study.answer(ME, task.id, "boxes", SEEN, 1)
            study.answer(ME, task.id, "boxes", {"objects": []}, 1)
            study.finish(ME, task.id)
        assert sorted(found, key=bool) == [None, odd]


def test_one_process_at_a_time_takes_answers(tmp_path: Path) -> None:
    with small_study(tmp_path, "likert", concept_items(2)) as study:
        with pytest.raises(LockedError, match="already taking answers"):
            open_study(study.folder)
        assert len(read_study(study.folder).tasks) == 2  # reading is always possible
    open_study(tmp_path / "study").close()
    with pytest.raises(FormalimgError, match="is closed"):
        study.next_task(ME)


def test_an_image_takes_so_many_answers_also_if_they_come_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MAX_ANSWERS", 5)
    with small_study(tmp_path, "likert", concept_items(2)) as study:
        task = not_none(study.next_task(ME))

        def answer(value: int) -> bool:
            try:
                study.answer(ME, task.id, "compliance", 1 + value % 5, 1)
            except AnswerError as error:
                assert "has 5 answers already" in str(error)
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(answer, range(40))) == 5
        study.finish(ME, task.id)


def test_raters_are_sent_to_web_pages_only(tmp_path: Path) -> None:
    with small_study(tmp_path, "likert", concept_items(2), completion_url="https://example.org/done") as study:
        assert study.manifest.completion_url == "https://example.org/done"
    manifest = tmp_path / "study" / "study.toml"
    manifest.write_text(manifest.read_text().replace("https://example.org/done", "javascript:alert(1)"))
    with pytest.raises(FormalimgError, match="completion_url is missing or invalid"):
        open_study(tmp_path / "study")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with small_study(tmp_path, "questions", concept_items(4), raters=2, per_image=2) as opened:
        yield opened


def _now(study: Study, rater: str = ME) -> RatingTask:
    return not_none(study.next_task(rater))


def test_it_comes_again_after_the_others_with_what_was_answered(study: Study) -> None:
    first = _now(study)
    study.answer(ME, first.id, "alignment", True, 3)
    study.put_off(ME, first.id)
    assert [_now(study).number, _now(study).of] == [1, 4], "nothing is finished yet"
    assert _now(study).id != first.id
    with pytest.raises(AnswerError, match="not your current task"):
        study.answer(ME, first.id, "question 1", True, 1)
    assert take(study, ME, lambda task, step: True, most=3) == 3
    last = _now(study)
    assert (last.id, last.number, last.answers) == (first.id, 4, {"alignment": True})
    with pytest.raises(AnswerError, match="the only image left"):
        study.put_off(ME, first.id)
    assert take(study, ME, lambda task, step: True) == 1
    assert study.next_task(ME) is None
    assert sum(bool(task.finished) for task in read_study(study.folder).tasks if task.rater == ME) == 4


def test_several_take_turns(study: Study) -> None:
    lost = []
    for _ in range(2):
        lost.append(_now(study).id)
        study.put_off(ME, lost[-1])
    take(study, ME, lambda task, step: True, most=2)
    assert _now(study).id == lost[0]
    study.put_off(ME, lost[0])
    assert _now(study).id == lost[1]


def test_only_the_current_task_is_put_off_and_only_for_the_one_who_asks(study: Study) -> None:
    task, other = _now(study), _now(study, "rater-2")
    with pytest.raises(AnswerError, match="not your current task"):
        study.put_off("rater-2", task.id)
    study.put_off(ME, task.id)
    with pytest.raises(AnswerError, match="not your current task"):
        study.put_off(ME, task.id)  # sent twice
    assert _now(study, "rater-2").id == other.id


def test_a_study_that_is_opened_again_has_its_first_order(study: Study) -> None:
    first = _now(study).id
    study.put_off(ME, first)
    take(study, ME, lambda task, step: True, most=2)
    study.close()
    with open_study(study.folder) as again:
        assert (_now(again).id, _now(again).number) == (first, 3)


_ROOT = Path(__file__).parents[2]
_ANSWERING = """
import sys
from formalimg.human_eval import open_study
with open_study(sys.argv[1]) as study:
    while task := study.next_task("rater-1"):
        for points in (1, 2, 3, 4, 5):
            study.answer("rater-1", task.id, "compliance", points, 1)
            print(task.id, points, flush=True)
        study.finish("rater-1", task.id)
        print(task.id, "finished", flush=True)
"""


def test_many_raters_answer_at_once(tmp_path: Path) -> None:
    with opened(rated_run(tmp_path / "run", concept_items(20))) as runs:
        made = create_study(tmp_path / "study", runs, "questions", raters=8, per_image=8)
    with open_study(made.folder) as study, ThreadPoolExecutor(8) as threads:

        def rate(rater: str) -> int:
            chance = random.Random(rater)
            return take(study, rater, lambda task, step: chance.random() < 0.5)

        assert list(threads.map(rate, made.links)) == [20] * 8
    tasks = read_study(made.folder).tasks
    for rater in made.links:
        chance = random.Random(rater)
        theirs = sorted((task for task in tasks if task.rater == rater), key=lambda task: task.finished)
        said = sorted((it.at, it.value) for task in theirs for it in task.history)
        assert len(said) == sum(len(task.steps) for task in theirs)
        assert sum(bool(value) for _, value in said) == sum(chance.random() < 0.5 for _ in said)


def test_many_windows_of_one_rater_give_one_answer_to_the_whole(tmp_path: Path) -> None:
    with opened(rated_run(tmp_path / "run", concept_items(10))) as runs:
        made = create_study(tmp_path / "study", runs, "questions", raters=1, per_image=1)
    together = threading.Barrier(8)
    with open_study(made.folder) as study, ThreadPoolExecutor(8) as threads:

        def answer(task: str, number: int) -> bool:
            together.wait()
            try:
                study.answer("rater-1", task, "alignment", number % 2 == 0, 1)
            except AnswerError:
                return False
            return True

        for _ in range(10):
            task = not_none(study.next_task("rater-1"))
            assert sum(threads.map(answer, [task.id] * 8, range(8))) == 1
            take(study, "rater-1", lambda task, step: True, 1)
    for rated in read_study(made.folder).tasks:
        assert len(rated.history) == len(rated.steps)


def test_what_was_answered_before_a_process_was_killed_is_there(tmp_path: Path) -> None:
    with opened(rated_run(tmp_path / "run", concept_items(300))) as runs:
        made = create_study(tmp_path / "study", runs, "likert", raters=1, per_image=1)
    process = subprocess.Popen(
        [sys.executable, "-c", _ANSWERING, str(made.folder)], cwd=_ROOT, text=True, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    told = [process.stdout.readline().split() for _ in range(40)]
    with pytest.raises(LockedError):
        open_study(made.folder)
    process.kill()
    told += [line.split() for line in process.stdout.read().splitlines() if len(line.split()) == 2]
    process.wait()
    process.stdout.close()
    with open_study(made.folder) as study:  # the lock is free again
        with closing(sqlite3.connect(made.folder / "ratings.sqlite")) as database:
            kept = [
                (task, value) for task, value in database.execute("SELECT task, value FROM answers ORDER BY number")
            ]
            done = {task for (task,) in database.execute("SELECT task FROM finished")}
        answered = [(task, what) for task, what in told if what != "finished"]
        assert kept[: len(answered)] == answered
        assert len(kept) - len(answered) <= 1  # one may have been stored and not told
        assert {task for task, what in told if what == "finished"} <= done
        take(study, "rater-1", lambda task, step: 3)
        assert study.next_task("rater-1") is None


@pytest.mark.parametrize("change", ["UPDATE answers SET value = '5'", "DELETE FROM answers", "DELETE FROM finished"])
def test_answers_are_never_changed(tmp_path: Path, change: str) -> None:
    with opened(rated_run(tmp_path / "run", concept_items(2))) as runs:
        made = create_study(tmp_path / "study", runs, "likert", raters=1, per_image=1)
    with open_study(made.folder) as study:
        take(study, "rater-1", lambda task, step: 3)
    database = sqlite3.connect(made.folder / "ratings.sqlite")
    with closing(database), pytest.raises(sqlite3.IntegrityError, match=r"never|stay"):
        database.execute(change)
