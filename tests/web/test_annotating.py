"""The site of a study: raters get what is theirs and nothing else, and what they send is kept once or refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image
from starlette.testclient import TestClient

from formalimg.human_eval.protocol import RatingProtocol
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import RatingTask, Study, open_study
from formalimg.web.annotation import create_annotation_app
from tests.human_eval.rated_runs import take
from tests.web.rated_studies import MODEL, studied
from tests.web.sites import HARM, Elements

OWN = {"Origin": "http://127.0.0.1:8422"}
KINDS: list[RatingProtocol] = ["likert", "questions", "scores", "boxes"]


class Open(NamedTuple):
    """A study that is served."""

    study: Study
    links: dict[str, str]
    visitor: TestClient

    def task(self, rater: str) -> RatingTask:
        task = self.study.next_task(rater)
        assert task is not None
        return task

    def send(self, rater: str, what: str, **body: object) -> tuple[int, dict[str, object]]:
        headers = {**OWN, "Content-Type": "application/json"}
        where = f"/rate/{self.links[rater]}/{what}"
        answer = self.visitor.post(where, content=json.dumps(body), headers=headers)  # halves of characters and all
        return answer.status_code, answer.json()


def _client(study: Study, token: str | None = None) -> TestClient:
    return TestClient(create_annotation_app(study, token=token), base_url="http://127.0.0.1:8422")


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """A study of two raters, who see different images."""
    found = studied(tmp_path, getattr(request, "param", "likert"), count=4, raters=2, per_image=1)
    with open_study(found.folder) as study:
        yield Open(study, dict(found.links), _client(study))


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_raters_learn_nothing_of_models_and_texts_stay_texts(opened: Open) -> None:
    answer = opened.visitor.get(f"/rate/{opened.links['rater-1']}")
    assert answer.status_code == 200
    elements = Elements(answer.text)
    task = opened.task("rater-1")
    assert task.words in elements.text
    assert (HARM in task.words) == (opened.study.manifest.protocol in ("likert", "questions"))
    for tag, values in elements.found:
        assert tag not in ("iframe", "object", "base", "style", "i", "u")
        assert not [name for name in values if name.startswith("on") or name == "style"]
        assert tag != "script" or (values["src"] or "").startswith("/static/")
    image = opened.visitor.get(next(v["src"] or "" for tag, v in elements.found if tag == "img"))
    shown = Image.open(io.BytesIO(image.content))
    assert (shown.format, shown.info) == ("PNG", {})
    kept = Image.open(io.BytesIO(opened.study.image("rater-1", task.image)))
    assert shown.tobytes() == kept.convert("RGB").tobytes()  # all that was taken away is no part of the image
    for seen in (answer.content, image.content, str(answer.headers).encode(), str(image.headers).encode()):
        assert MODEL.encode() not in seen
        assert b"check" not in seen.replace(b"checked", b"")


def test_both_kinds_of_files_name_the_model_before(opened: Open) -> None:
    files = [path.read_bytes() for path in (opened.study.folder.parent / MODEL / "images").glob("*.*g")]
    assert {data[:2] for data in files} == {b"\x89P", b"\xff\xd8"}
    assert all(MODEL.encode() in data for data in files)


def test_a_wrong_link_leads_nowhere_and_tells_nothing(opened: Open) -> None:
    right, task = opened.links["rater-1"], opened.task("rater-1")
    for wrong in ("nobody", right[:-1], right + "x", "rater-1", "%F0%9F%98%80", "%2e%2e/export/raters.csv", "a/b", ""):
        answer = opened.visitor.get(f"/rate/{wrong}")
        assert answer.status_code == 404
        assert task.id not in answer.text
        assert "rater-1" not in answer.text
        assert opened.visitor.get(f"/rate/{wrong}/image/{task.image}").status_code == 404
        sent = opened.visitor.post(f"/rate/{wrong}/answer", json=_answer(task), headers=OWN)
        assert sent.status_code in (404, 405)
    opened.study.new_link("rater-1")
    assert opened.visitor.get(f"/rate/{right}").status_code == 404


def _answer(task: RatingTask, **other: object) -> dict[str, object]:
    return {"task": task.id, "step": "compliance", "value": 3, "seconds": 1.5, "key": "one", **other}


def _kept(opened: Open) -> list[tuple[str, object]]:
    return [(task.rater, it.value) for task in read_study(opened.study.folder).tasks for it in task.history]


def test_tasks_and_images_of_others_are_refused(opened: Open) -> None:
    yours = opened.task("rater-2")
    assert opened.send("rater-1", "answer", **_answer(yours))[0] == 409
    assert opened.send("rater-1", "finish", task=yours.id)[0] == 409
    mine = f"/rate/{opened.links['rater-1']}/image/"
    for image in (yours.image, "nothing", "%2e%2e", yours.id):
        answer = opened.visitor.get(mine + image)
        assert answer.status_code == 404
        assert MODEL not in answer.text
    assert _kept(opened) == []


def test_an_answer_that_arrives_twice_is_kept_once(opened: Open) -> None:
    task = opened.task("rater-1")
    assert opened.send("rater-1", "answer", **_answer(task)) == (200, {"kept": "one"})
    assert opened.send("rater-1", "answer", **_answer(task)) == (200, {"kept": "one"})
    assert opened.send("rater-1", "answer", **_answer(task, key="two", value=4))[0] == 200
    assert opened.send("rater-1", "finish", task=task.id)[0] == 200
    assert opened.send("rater-1", "answer", **_answer(task))[0] == 200  # late, and harmless
    code, said = opened.send("rater-1", "finish", task=task.id)
    assert (code, said["moved_on"]) == (409, True)
    code, said = opened.send("rater-1", "answer", **_answer(task, key="three"))
    assert (code, said["moved_on"]) == (409, True)
    assert _kept(opened) == [("rater-1", 3), ("rater-1", 4)]
    assert opened.task("rater-1").number == 2


def test_nobody_finishes_with_answers_of_another_window(opened: Open) -> None:
    task = opened.task("rater-1")
    assert opened.send("rater-1", "answer", **_answer(task, value=4))[0] == 200
    assert opened.send("rater-1", "answer", **_answer(task, value=2, key="other window"))[0] == 200
    code, said = opened.send("rater-1", "finish", task=task.id, answers={"compliance": 4})
    assert (code, said["moved_on"], said["differs"]) == (409, True, True)
    assert opened.send("rater-1", "finish", task=task.id, answers=[4])[0] == 400
    assert opened.task("rater-1").id == task.id
    assert opened.send("rater-1", "finish", task=task.id, answers={"compliance": 2})[0] == 200


@pytest.mark.parametrize("opened", ["boxes"], indirect=True)
def test_nobody_finishes_with_boxes_of_another_window(opened: Open) -> None:
    task = opened.task("rater-1")
    mine, other = ({"objects": [{"label": "cup", "box_2d": [0, 0, 100, end]}]} for end in (90, 100))
    for key, boxes in (("a", mine), ("b", other)):
        assert opened.send("rater-1", "answer", **_answer(task, step="boxes", value=boxes, key=key))[0] == 200
    unlike: list[object] = [mine, {"objects": []}, {"objects": 7}, 7, None]
    for seen in unlike:
        code, said = opened.send("rater-1", "finish", task=task.id, answers={"boxes": seen})
        assert (code, said["moved_on"], said["differs"]) == (409, True, True)
    assert opened.task("rater-1").answers["boxes"] != other  # it is kept in other words
    assert opened.send("rater-1", "finish", task=task.id, answers={"boxes": other})[0] == 200


def test_what_makes_no_sense_is_refused_in_words(opened: Open) -> None:
    task = opened.task("rater-1")
    for wrong, code in (
        ({"value": 6}, 409),
        ({"value": True}, 409),
        ({"value": {"objects": [{"label": "\ud800" * 3}]}}, 409),
        ({"step": "alignment"}, 409),
        ({"step": "\ud800"}, 409),
        ({"task": "\ud800"}, 409),
        ({"seconds": -1}, 409),
        ({"seconds": 10**400}, 409),
        ({"value": None}, 400),
        ({"value": "3"}, 400),
        ({"value": [3]}, 400),
        ({"seconds": "1"}, 400),
        ({"seconds": True}, 400),
        ({"seconds": None}, 400),
        ({"task": 7}, 400),
        ({"step": None}, 400),
        ({"key": None}, 400),
        ({"key": "x" * 201}, 413),
        ({"task": "x" * 300_000}, 413),
    ):
        found, said = opened.send("rater-1", "answer", **{**_answer(task), **wrong})
        assert found == code, wrong
        assert isinstance(said["error"], str)
        assert said.get("moved_on", False) == ("task" in wrong and code == 409)
    assert opened.send("rater-1", "finish", task=task.id) == (
        409,
        {"error": "compliance has no answer yet: answer it, then finish the task", "moved_on": False},
    )
    assert _kept(opened) == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"value": NaN}', b"\xff", b"[" * 40_000])
def test_broken_bodies_are_refused(opened: Open, body: bytes) -> None:
    headers = {**OWN, "Content-Type": "application/json"}
    answer = opened.visitor.post(f"/rate/{opened.links['rater-1']}/answer", content=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_posts_of_other_sites_and_forms_are_refused(opened: Open) -> None:
    where, body = f"/rate/{opened.links['rater-1']}/answer", _answer(opened.task("rater-1"))
    for origin in ({}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": "http://127.0.0.1:1"}):
        assert opened.visitor.post(where, json=body, headers=origin).status_code == 403
    form = {**OWN, "Content-Type": "text/plain"}
    assert opened.visitor.post(where, content=json.dumps(body), headers=form).status_code == 415
    assert opened.visitor.get(where, headers=OWN).status_code in (404, 405)
    assert _kept(opened) == []


def test_other_machines_need_the_token_for_all_but_the_pages_of_raters(opened: Open) -> None:
    away = _client(opened.study, "right")
    here = {"Host": "study.example:8422"}
    for path in ("/", "/export/raters.csv", "/rates", "/nowhere"):
        for wrong in ("", "?token=wrong"):
            assert away.get(path + wrong, headers=here).status_code == 403
    assert away.get(f"/rate/{opened.links['rater-1']}", headers=here).status_code == 200
    assert away.get("/static/rating.js", headers=here).status_code == 200
    origin = {**here, "Origin": "http://study.example:8422"}
    sent = away.post(f"/rate/{opened.links['rater-1']}/answer", json=_answer(opened.task("rater-1")), headers=origin)
    assert sent.status_code == 200
    assert away.get("/rate/nobody", headers=here).status_code == 404
    assert away.get("/?token=right").status_code == 200
    assert _client(opened.study).get(f"/rate/{opened.links['rater-1']}", headers=here).status_code == 403


def test_the_organiser_sees_progress_and_gets_the_answers(opened: Open) -> None:
    first = opened.visitor.get("/").text
    assert "0 of 4 ratings" in first
    assert "Nobody who counts has finished an image yet" in first
    assert opened.visitor.get("/export/likert.csv").status_code == 404
    take(opened.study, "rater-2", lambda task, step: 4)
    page = opened.visitor.get("/").text
    assert "2 of 4 ratings" in page
    for name in ("answers.jsonl", "raters.csv", "likert.csv", "compliance.csv", "votes.csv"):
        assert f'href="/export/{name}"' in page
        answer = opened.visitor.get(f"/export/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert opened.visitor.get("/export/likert.csv").text.count("rater-2,4,1.5") == 2
    assert opened.visitor.get("/export/..%2fstudy.toml").status_code == 404


def test_who_is_done_is_thanked_and_failures_name_no_folders(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    page = f"/rate/{opened.links['rater-1']}"
    image = f"{page}/image/{opened.task('rater-1').image}"
    for path in (opened.study.folder.parent / MODEL / "images").glob("*.*g"):
        path.unlink()
    answer = opened.visitor.get(image)
    assert answer.status_code == 503
    assert "tell whoever sent you the link" in answer.text
    assert MODEL not in answer.text
    assert MODEL in caplog.text  # the organiser learns what to do
    take(opened.study, "rater-1", lambda task, step: 4)
    assert "Thank you" in opened.visitor.get(page).text


@pytest.mark.parametrize("opened", ["questions"], indirect=True)
def test_questions_are_not_told_before_the_whole_is_answered(opened: Open) -> None:
    task = opened.task("rater-1")
    page = f"/rate/{opened.links['rater-1']}"
    assert "Is there a" not in opened.visitor.get(page).text
    body = {"task": task.id, "step": "alignment", "value": False, "seconds": 2, "key": "a"}
    assert opened.send("rater-1", "answer", **body)[0] == 200
    assert opened.send("rater-1", "answer", **body)[0] == 200  # the same one again, as after a lost connection
    code, said = opened.send("rater-1", "answer", **{**body, "key": "b"})  # from another window, which is behind
    assert (code, said["moved_on"]) == (409, True)
    after = opened.visitor.get(page).text
    assert "Is there a" in after
    assert "You answered no." in after
    assert 'data-step="alignment"' not in after


def test_raters_at_once(opened: Open) -> None:
    def rate(rater: str) -> int:
        done = 0
        while (task := opened.study.next_task(rater)) is not None:
            for key in ("a", "b"):
                assert opened.send(rater, "answer", **_answer(task, key=key))[0] == 200
            assert opened.send(rater, "finish", task=task.id)[0] == 200
            done += 1
        return done

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(rate, opened.links)) == [2, 2]
    assert len(_kept(opened)) == 8
