"""Many raters at once, and a process that is killed: what was answered stays."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from formalimg._util.locks import LockedError
from formalimg.human_eval.protocol import AnswerError
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from tests.human_eval.rated_runs import concept_items, opened, rated_run, take

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
            task = study.next_task("rater-1")
            assert task is not None
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
