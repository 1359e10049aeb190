"""Studies of other people: whatever their database holds, reading and answering end with a result or with one line.

`FORMALIMG_HOSTILE=20` makes twenty times as many damaged folders, and `FORMALIMG_SEED` others.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from tests.human_eval.rated_runs import concept_items, formula_items, grounded_run, opened, rated_run, take
from tests.support.command import formalimg
from tests.support.hostile_databases import SCHEMAS, apply_edit, change_schema, corrupt, edits_of, tables_of

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
        task = study.next_task("rater-2")
        assert task is not None
        with pytest.raises(FormalimgError, match=r"damaged|symbolic link"):
            study.image("rater-2", task.image)
