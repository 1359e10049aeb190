"""Tags saved through the viewer: only from its own pages, never over an edit that was not seen, and shown as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from formalimg.runs.tags import read_tags, write_tags
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.web.sites import HARM, concept_run, visitor

ORIGIN = {"Origin": "http://127.0.0.1:8421"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    concept_run(tmp_path / "one", 2)
    return tmp_path


def _body(tags: str = "good", note: str = "", version: str = "", run: str = "one") -> dict[str, str]:
    return {"run": run, "tags": tags, "note": note, "version": version}


def test_tags_are_saved_beside_the_run_and_change_nothing_in_it(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in (folder / "one").iterdir() if path.is_file()}
    answer = visitor(folder).post("/tags", json=_body(" good , <b>,", HARM), headers=ORIGIN)
    assert (answer.status_code, answer.json()["tags"]) == (200, ["good", "<b>"])
    assert read_tags(folder / "one").note == HARM
    after = {path.name: path.read_bytes() for path in (folder / "one").iterdir() if path.is_file()}
    assert {name for name in after if after[name] != before.get(name)} == {"tags.json", ".tags.lock"}
    page = visitor(folder).get("/").text
    assert "<script>pwned" not in page
    assert "&lt;b&gt;</a>" in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({**ORIGIN, "Content-Type": "text/plain"}, 415),
    ],
)
def test_pages_of_other_sites_cannot_save(folder: Path, headers: dict[str, str], status: int) -> None:
    sent = '{"run": "one", "tags": "x", "note": "", "version": ""}'
    answer = visitor(folder).post("/tags", content=sent, headers={"Content-Type": "application/json", **headers})
    assert answer.status_code == status
    assert visitor(folder).get("/tags").status_code == 405
    assert not (folder / "one" / "tags.json").exists()


def test_an_edit_that_was_not_seen_is_returned_and_not_replaced(folder: Path) -> None:
    theirs = write_tags(folder / "one", ["theirs"], "their note", version="")
    answer = visitor(folder).post("/tags", json=_body("mine"), headers=ORIGIN)
    assert answer.status_code == 409
    assert answer.json() | {"error": ""} == {"error": "", **theirs._asdict(), "tags": ["theirs"]}
    assert read_tags(folder / "one") == theirs


@pytest.mark.parametrize("run", ["../one", "one/../one", "/etc", "nowhere", ""])
def test_names_are_never_used_as_paths(folder: Path, run: str) -> None:
    assert visitor(folder / "one").post("/tags", json=_body(run=run), headers=ORIGIN).status_code == 404
    assert visitor(folder).post("/tags", json=_body(run=run), headers=ORIGIN).status_code == 404


def test_a_read_only_viewer_offers_no_editing_and_refuses_it(folder: Path) -> None:
    guest = TestClient(create_viewer_app(Site(folder), token=None, read_only=True), base_url=ORIGIN["Origin"])
    assert "edit-tags" not in guest.get("/").text
    answer = guest.post("/tags", json=_body(), headers=ORIGIN)
    assert (answer.status_code, answer.json()["error"]) == (
        403,
        "this viewer is read-only: start it without --read-only to edit tags",
    )
    assert "edit-tags" in visitor(folder).get("/").text


def test_a_folder_that_is_not_writable_offers_no_editing_and_says_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    assert "edit-tags" not in visitor(folder).get("/").text
    answer = visitor(folder).post("/tags", json=_body(), headers=ORIGIN)
    assert answer.status_code == 422
    assert "is not writable, so nothing was saved" in answer.json()["error"]


def test_damaged_tags_hide_no_run(folder: Path) -> None:
    (folder / "one" / "tags.json").write_text("{", encoding="utf-8")
    page = visitor(folder).get("/").text
    assert "/run?run=one" in page
    assert "tags.json is damaged" in page


def _nothing(place: Path) -> None:
    place.mkdir()


def _damaged(place: Path) -> None:
    place.mkdir()
    (place / "results.sqlite").write_bytes(b"no database")
    (place / "run.toml").write_text("suite = 1", encoding="utf-8")


def _link_to_a_run(place: Path) -> None:
    place.symlink_to(place.parent.parent / "elsewhere")


def _run_in_a_linked_folder(place: Path) -> None:
    place.symlink_to(place.parent.parent)


def _linked_manifest(place: Path) -> None:
    concept_run(place, 2)
    (place / "run.toml").rename(place / "kept.toml")
    (place / "run.toml").symlink_to(place / "kept.toml")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (_nothing, "odd"),
        (_damaged, "odd"),
        (_link_to_a_run, "odd"),
        (_run_in_a_linked_folder, "odd/elsewhere"),
        (_linked_manifest, "odd"),
    ],
)
def test_only_runs_that_are_reached_without_links_get_a_file(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    site = tmp_path / "site"
    concept_run(site / "one", 2)
    concept_run(tmp_path / "elsewhere", 2)
    make(site / "odd")
    answer = visitor(site).post("/tags", json=_body(run=name), headers=ORIGIN)
    assert answer.status_code == 422, answer.text
    assert "\n" not in answer.json()["error"]
    assert "nothing was saved" in answer.json()["error"]
    assert not [*tmp_path.rglob("tags.json"), *tmp_path.rglob(".tags.lock")]
    row = visitor(site).get("/").text
    assert row.count("edit-tags") == visitor(site / "one").get("/").text.count("edit-tags"), "only one can be edited"
