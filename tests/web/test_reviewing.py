"""The review of written groups: pages, decisions and the command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.authoring.group_task import read_groups
from formalimg.benchmarks.cfworld.authoring.review_desk import GroupDesk
from formalimg.benchmarks.cfworld.authoring.review_queue import read_review
from formalimg.cli.review import review_app
from formalimg.errors import FormalimgError
from tests.web.review_queues import FINE, OURS, OWN, harmful_group, queue_of, reviewer, spoilt_group
from tests.web.sites import HARM, Elements

IDS = [group.id for group in OURS[:4]]


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    return queue_of([OURS[0], spoilt_group(), *OURS[2:4]], tmp_path)


def version(queue: Path, name: str) -> str:
    return {line.group.id: line.version for line in GroupDesk(queue).lines()}[name]


def send(person: TestClient, queue: Path, name: str, **what: Any) -> dict[str, Any]:
    answer = person.post("/decide", json={"group": name, "version": version(queue, name), **what})
    assert answer.status_code == 200, answer.text
    reply: dict[str, Any] = answer.json()
    return reply


def test_import_gives_exactly_what_was_decided(queue: Path, tmp_path: Path) -> None:
    person = reviewer(queue)
    edited = OURS[2].factual + FINE
    assert send(person, queue, IDS[0], choice="accept", note="lovely")["decided"] == "accepted"
    assert read_review(queue).decisions[IDS[0]] == "accept"  # on the disk before the next one
    assert send(person, queue, IDS[1], choice="reject")["decision"] == "reject"
    reply = send(person, queue, IDS[2], choice="accept", changes={"factual": edited})
    assert (reply["decision"], reply["findings"], reply["changed"]) == ("edit", [], True)
    assert reply["counts"] == "1 accepted, 1 accepted as edited, 1 rejected, 1 undecided"
    send(person, queue, IDS[3], choice="reject")
    send(person, queue, IDS[3], choice="")
    done = CliRunner().invoke(review_app, ["import", str(queue), "--out", str(tmp_path / "kept")])
    assert done.exit_code == 1
    assert f"undecided, and left out: {IDS[3]}" in done.output
    first, second = read_groups(tmp_path / "kept" / "groups.jsonl")
    assert (first, second.factual) == (OURS[0], edited)
    report = json.loads((tmp_path / "kept" / "review.json").read_text(encoding="utf-8"))
    assert report["notes"] == {IDS[0]: "lovely"}
    assert (report["accept"], report["edit"], report["reject"]) == (1, 1, 1)


def test_the_queue_shows_decisions_and_findings_and_can_be_filtered(queue: Path) -> None:
    person = reviewer(queue)
    send(person, queue, IDS[0], choice="reject", note="zebra")
    assert "form: law must begin with a capital" in person.get("/").text
    wanted = {
        "decision=undecided": {1, 2, 3},
        "decision=reject": {0},
        "findings=some": {1},
        "findings=none&decision=undecided": {2, 3},
        "text=ZEBRA": {0},
        f"field={OURS[0].branch}": {0, 1, 2, 3},
        "field=chemistry": set(),
    }
    for query, places in wanted.items():
        page = person.get(f"/?{query}").text
        assert {place for place, name in enumerate(IDS) if f">{name}<" in page} == places, query
    page = person.get(f"/group?id={IDS[0]}&findings=none&decision=undecided").text
    assert f'href="/group?id={IDS[2]}&amp;decision=undecided&amp;findings=none" rel="next"' in page
    assert 'rel="prev"' not in page


def test_what_is_typed_is_looked_at_by_the_checker_and_not_kept(queue: Path) -> None:
    before = queue.read_bytes()
    changes = {"factual": "A gun.", "shows": "The lamp is green."}
    reply = reviewer(queue).post("/try", json={"group": IDS[0], "changes": changes}).json()
    assert "unsafe: factual says 'gun'" in reply["findings"]
    assert reply["questions"][1]["questions"][-1]["question"] == "Does the picture show this: the lamp is green?"
    assert [question["weight"] for question in reply["questions"][0]["questions"]] == ["3", "8", "15"]
    assert queue.read_bytes() == before


def test_an_edit_to_which_the_checker_objects_is_refused_in_words(queue: Path) -> None:
    body = {"group": IDS[0], "version": version(queue, IDS[0]), "choice": "accept", "changes": {"factual": "A gun."}}
    answer = reviewer(queue).post("/decide", json=body)
    assert (answer.status_code, answer.json()["error"]) == (422, "edited, but unsafe: factual says 'gun'")
    assert not any(read_review(queue).decisions.values())


def test_the_second_of_two_windows_is_refused_in_words(queue: Path) -> None:
    person, seen = reviewer(queue), version(queue, IDS[0])
    assert f'data-version="{seen}"' in person.get(f"/group?id={IDS[0]}").text
    codes = [
        person.post("/decide", json={"group": IDS[0], "version": seen, "choice": choice}).status_code
        for choice in ("accept", "reject")
    ]
    assert codes == [200, 409]
    assert read_review(queue).decisions[IDS[0]] == "accept"


_BODY: dict[str, Any] = {"group": IDS[0], "version": "x", "choice": "accept"}


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/decide", {**_BODY, "group": 7}, 400),
        ("/decide", {**_BODY, "group": "nobody"}, 404),
        ("/decide", {**_BODY, "version": None}, 400),
        ("/decide", {**_BODY, "choice": "edit"}, 400),
        ("/decide", {**_BODY, "choice": True}, 400),
        ("/decide", {**_BODY, "note": ["x"]}, 400),
        ("/decide", {**_BODY, "note": "x" * 5000}, 413),
        ("/decide", {**_BODY, "changes": "law"}, 400),
        ("/decide", {**_BODY, "changes": {"law": "x" * 300_000}}, 413),
        ("/decide", [], 400),
        ("/try", {"group": IDS[0]}, 400),
        ("/try", {"group": IDS[0], "changes": {"law": None}}, 422),
        ("/try", {"group": IDS[0], "changes": {"digest": ""}}, 422),
        ("/try", {"group": IDS[0], "changes": {"shows": "\ud800"}}, 422),
        ("/try", {"group": "\ud800", "changes": {}}, 404),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(queue: Path, path: str, body: Any, code: int) -> None:
    before = queue.read_bytes()
    answer = reviewer(queue).post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == code
    assert answer.json()["error"]
    assert queue.read_bytes() == before


def test_nobody_else_can_decide(queue: Path) -> None:
    body = {"group": IDS[0], "version": version(queue, IDS[0]), "choice": "accept"}
    person = reviewer(queue)
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9"):
        assert person.post("/decide", json=body, headers={"Origin": origin}).status_code == 403
    form = {**OWN, "Content-Type": "text/plain"}
    assert person.post("/decide", content=json.dumps(body), headers=form).status_code == 415
    assert person.get("/decide").status_code == 405
    assert reviewer(queue, "right").post("/decide", json=body).status_code == 403
    assert not any(read_review(queue).decisions.values())


def test_what_others_wrote_never_becomes_markup(tmp_path: Path) -> None:
    queue = queue_of([harmful_group()], tmp_path, f"{HARM[:8]}.jsonl")
    person = reviewer(queue)
    send(person, queue, HARM, choice="reject", note=HARM)
    pages = [
        person.get("/"),
        person.get("/group", params={"id": HARM}),
        person.get("/group", params={"id": HARM + "x"}),
    ]
    assert [page.status_code for page in pages] == [200, 200, 404]
    for answer in pages:
        found = Elements(answer.text).found
        scripts = [values.get("src") for tag, values in found if tag == "script"]
        assert scripts[0] == "/static/theme.js"
        assert scripts[1:] in (["/static/review.js"], ["/static/viewer.js"])
        assert "img" not in [tag for tag, _ in found]
        assert not [name for _, values in found for name in values if name.startswith("on") or name == "style"]
    assert pages[1].text.count("&lt;script&gt;pwned=1") >= 12
    assert "49" not in pages[1].text.split("{{")[0]


def test_a_queue_that_somebody_broke_meanwhile_is_told_in_words(queue: Path) -> None:
    person = reviewer(queue)
    queue.write_text("no queue\n", encoding="utf-8")
    answer = person.get("/")
    assert (answer.status_code, "line 1: not JSON" in answer.text) == (422, True)
    queue.unlink()
    assert "cannot read the queue" in person.get(f"/group?id={IDS[0]}").text


def test_an_address_that_names_nothing_is_answered_in_words(queue: Path) -> None:
    person = reviewer(queue)
    asked = ["/group", "/group?id=nobody", "/?decision=maybe", "/?findings=x", "/nowhere"]
    assert [person.get(path).status_code for path in asked] == [400, 404, 400, 400, 404]


def test_a_decision_is_kept_by_a_server_that_is_then_interrupted(tmp_path: Path) -> None:
    queue = queue_of(OURS[:2], tmp_path)
    command = [sys.executable, "-m", "formalimg", "items", "review", "open", str(queue), "--no-browser", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        seen = GroupDesk(queue).lines()[0]
        body = json.dumps({"group": seen.group.id, "version": seen.version, "choice": "accept"}).encode()
        headers = {"Content-Type": "application/json", "Origin": address.rstrip("/")}
        urllib.request.urlopen(urllib.request.Request(f"{address}decide", body, headers)).read()
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0
    assert read_review(queue).decisions == {OURS[0].id: "accept", OURS[1].id: ""}


def test_a_queue_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.jsonl").write_text("[]\n")
    for name, words in (("none", "cannot read"), ("empty", "holds no groups"), ("broken", "line 1: not an object")):
        with pytest.raises(FormalimgError, match=words) as caught:
            CliRunner().invoke(review_app, ["open", str(tmp_path / f"{name}.jsonl")], catch_exceptions=False)
        assert "\n" not in str(caught.value)


def test_a_long_queue_is_summed_up_in_few_words(tmp_path: Path) -> None:
    queue = queue_of(OURS[:13], tmp_path)
    done = CliRunner().invoke(review_app, ["import", str(queue), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    named = ", ".join(group.id for group in OURS[:10])
    assert f"undecided, and left out: {named} and 3 more\n" in done.output
