"""Exported suites: whose items they are, under which licence, and that nothing is half written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg import FormalimgError
from formalimg.benchmarks.cfworld.items import builtin_groups, items_of_groups
from formalimg.benchmarks.download.contents import digest
from formalimg.benchmarks.download.pull import install, note_text
from formalimg.benchmarks.export.suite_export import PublisherInfo, export_suite
from formalimg.benchmarks.formal.published import write_published
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from tests.support.command import formalimg

COMMIT = "69c0242d66bd24921d60d1b9770e4c4eeb344ce7"


def _natural(folder: Path) -> Path:
    write_published(load("natural")[:3], folder)
    return folder


def _pulled(folder: Path) -> Path:
    """A folder as `formalimg pull` leaves it."""
    authors = _natural(folder.with_name("authors"))
    contents = {str(path.relative_to(authors)): path.read_bytes() for path in authors.rglob("*.json")}
    contents["LICENSE"] = b"MIT License, as it lay there"
    work = folder.with_name("work")
    work.mkdir()
    install(contents, note_text({"commit": COMMIT, "proven_by": "commit", "digest": digest(contents)}), folder, work)
    return folder


def test_items_that_ship_are_apache_wherever_they_lie(tmp_path: Path) -> None:
    write_items(load("cf-world-denominalised"), tmp_path / "copy")
    done = export_suite("cf-world-denominalised", tmp_path / "out", items=tmp_path / "copy")
    assert done.licence == "Apache-2.0"
    assert "ship with formalimg" in (tmp_path / "out" / "LICENSE.md").read_text("utf-8")
    described = json.loads((tmp_path / "out" / "croissant.json").read_text("utf-8"))
    assert (described["license"], described["version"]) == ("https://spdx.org/licenses/Apache-2.0", "3")
    assert done.missing == ("datePublished", "url")
    with pytest.raises(FormalimgError, match="leave --license out"):
        export_suite("cf-world-denominalised", tmp_path / "mine", items=tmp_path / "copy", imprint=PublisherInfo("MIT"))


def test_pulled_items_keep_the_authors_licence_and_commit(tmp_path: Path) -> None:
    pulled = _pulled(tmp_path / "pulled")
    done = export_suite("natural", tmp_path / "out", items=pulled / "benchmarks" / "natural")
    note = (tmp_path / "out" / "LICENSE.md").read_text("utf-8")
    assert done.licence == "MIT"
    assert (tmp_path / "out" / "authors-LICENSE").read_bytes() == b"MIT License, as it lay there"
    assert "LICENSE file in the repository" in note
    assert COMMIT in note
    assert "proven by the full id of the commit" in note
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text("utf-8")
    assert "| made by | The authors of FormalImg |" in sheet
    assert "did not search them for persons" in sheet
    assert "seed 1" not in sheet


def test_pulled_items_that_were_changed_prove_nothing(tmp_path: Path) -> None:
    pulled = _pulled(tmp_path / "pulled")
    changed = pulled / "benchmarks" / "natural" / "0.json"
    changed.write_text(changed.read_text("utf-8") + "\n", "utf-8")
    export_suite("natural", tmp_path / "out", items=pulled)
    note = (tmp_path / "out" / "LICENSE.md").read_text("utf-8")
    assert COMMIT not in note
    assert "Nothing proves" in note
    assert "if the files are theirs" in (tmp_path / "out" / "DATASHEET.md").read_text("utf-8")


def test_files_that_only_have_the_authors_form_may_be_ones_own(tmp_path: Path) -> None:
    mine = _natural(tmp_path / "mine")
    done = export_suite("natural", tmp_path / "out", items=mine, imprint=PublisherInfo("CC0-1.0"))
    assert done.licence == "CC0-1.0"
    assert "MIT" not in (tmp_path / "out" / "LICENSE.md").read_text("utf-8")
    pulled = _pulled(tmp_path / "pulled")
    with pytest.raises(FormalimgError, match="as their authors published them"):
        export_suite("natural", tmp_path / "no", items=pulled, imprint=PublisherInfo("CC0-1.0"))


def test_of_items_of_ones_own_nothing_is_guessed(tmp_path: Path) -> None:
    write_items(items_of_groups(builtin_groups()[:2], "9"), tmp_path / "mine")
    with pytest.raises(FormalimgError, match="say it with --license"):
        export_suite("cf-world", tmp_path / "out", items=tmp_path / "mine")
    with pytest.raises(FormalimgError, match="SPDX id"):
        export_suite("cf-world", tmp_path / "out", items=tmp_path / "mine", imprint=PublisherInfo("CC BY 4.0"))
    assert not (tmp_path / "out").exists()
    done = export_suite(
        "cf-world", tmp_path / "out", items=tmp_path / "mine", imprint=PublisherInfo("https://example.org/l")
    )
    assert done.missing == ("creator", "datePublished", "url")
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text("utf-8")
    assert "is not recorded in them" in sheet
    assert "Not examined" in sheet
    assert "written for formalimg" not in sheet


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    mixed = items_of_groups(builtin_groups()[:2], "9")[:-1]  # a group without its third level
    write_items(mixed, tmp_path / "mine")
    with pytest.raises(FormalimgError, match="must have the levels"):
        export_suite(
            "cf-world", tmp_path / "out", items=tmp_path / "mine", published=True, imprint=PublisherInfo("CC-BY-4.0")
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").touch()
    with pytest.raises(FormalimgError, match="is not empty"):
        export_suite("cf-world", tmp_path / "out", items=tmp_path / "mine", imprint=PublisherInfo("CC-BY-4.0"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["precious"]


def test_the_command_says_what_it_wrote_and_what_is_missing(tmp_path: Path) -> None:
    authors = _natural(tmp_path / "authors")
    done = formalimg("export", "natural", "--items", str(authors), "--out", "out", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "3 items of natural in out, licence MIT: DATASHEET.md, LICENSE.md, README.md, croissant.json, items.jsonl",
        "before you publish croissant.json, it needs: datePublished",
    ]
    described = json.loads((tmp_path / "out" / "croissant.json").read_text("utf-8"))
    assert "datePublished" not in described


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "nosuch is neither a suite nor a run folder"),
        (["natural", "--name", "x"], "an export of a suite has no --name"),
        ([".", "--date", "2026-01-31"], "an export of a run has no --date"),
        (["natural", "--date", "31.1.2026"], "write it as in 2026-01-31"),
    ],
)
def test_slips_are_told_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = formalimg("export", *arguments, "--out", str(tmp_path / "out"), cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()
