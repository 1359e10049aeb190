"""An image that cannot be shown keeps nobody from the others: it is put off, and comes again at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from formalimg.human_eval.protocol import AnswerError
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import RatingTask, Study, open_study
from tests.human_eval.rated_runs import concept_items, small_study, take

ME = "rater-1"


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with small_study(tmp_path, "questions", concept_items(4), raters=2, per_image=2) as opened:
        yield opened


def _now(study: Study, rater: str = ME) -> RatingTask:
    task = study.next_task(rater)
    assert task is not None
    return task


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
