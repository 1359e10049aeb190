"""Exported suites: what the documents say is what the items are, whose they are, and that nothing is half written."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg import FormalimgError
from formalimg.benchmarks.cfworld.items import builtin_groups, items_of_groups
from formalimg.benchmarks.download.contents import digest
from formalimg.benchmarks.download.pull import install, note_text
from formalimg.benchmarks.export.documents import DataFile, croissant_text, datasheet_text
from formalimg.benchmarks.export.sheets import count_items
from formalimg.benchmarks.export.suite_export import ExportedSuite, PublisherInfo, export_suite, origin_of, terms_of
from formalimg.benchmarks.formal.published import write_published
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite
from formalimg.types import Item
from tests.support.command import formalimg

OWN = PublisherInfo("CC-BY-4.0", "An Author", "By hand.", "https://example.org/items", "2026-01-31")
GROUPS = builtin_groups()[::9]
TYPES: dict[str, tuple[type, ...]] = {"sc:Text": (str,), "sc:Integer": (int,), "sc:Float": (int, float)}
SUITES = ("knolling", "natural", "conceptmix", "cf-world")


@pytest.fixture(scope="module")
def few() -> dict[str, list[Item[Any]]]:
    """A few items of each level of every kind of suite."""
    found: dict[str, list[Item[Any]]] = {"cf-world": items_of_groups(GROUPS, "9")}
    for name in SUITES[:3]:
        items: list[Item[Any]] = load(name)
        found[name] = [replace(item, version="9") for item in items[::70]]
    return found


@pytest.fixture(scope="module")
def exports(few: dict[str, list[Item[Any]]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExportedSuite]:
    """Exports of these items, each with the authors' form beside."""
    place = tmp_path_factory.mktemp("exports")
    for name, items in few.items():
        write_items(items, place / "items" / name)
    return {
        name: export_suite(name, place / name, items=place / "items" / name, published=True, imprint=OWN)
        for name in SUITES
    }


def _records(export: ExportedSuite) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (export.folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]


def _croissant(folder: Path) -> dict[str, Any]:
    described: dict[str, Any] = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    return described


def _table(sheet: str, first: str) -> list[list[str]]:
    """The rows of the table whose heading begins with this word."""
    lines = iter(sheet.splitlines())
    next(line for line in lines if line.startswith(f"| {first} |"))
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.parametrize("name", SUITES)
def test_the_data_sheet_counts_what_is_in_the_file(name: str, exports: dict[str, ExportedSuite]) -> None:
    records = _records(exports[name])
    sheet = (exports[name].folder / "DATASHEET.md").read_text(encoding="utf-8")
    lengths: dict[int, list[int]] = {}
    for record in records:
        lengths.setdefault(record["level"], []).append(len(record["prompt"].split()))
    assert [row[1:] for row in _table(sheet, "level")] == [
        [str(len(found)), str(min(found)), f"{median(found):g}", str(max(found))]
        for _, found in sorted(lengths.items())
    ]
    assert f"| items | {len(records)} |" in sheet
    assert "$" not in sheet
    if name == "conceptmix":
        asked = Counter(concept["category"] for record in records for concept in record["concepts"])
        assert {row[0]: int(row[1]) for row in _table(sheet, "category")} == asked
    elif name == "cf-world":
        questions = Counter(question["dimension"] for record in records for question in record["questions"])
        assert {row[0]: int(row[2]) for row in _table(sheet, "dimension")} == questions
        tags = Counter(", ".join(record["tags"]) for record in records)
        assert {row[0]: int(row[1]) for row in _table(sheet, "tags")} == tags
        assert f"- {len({record['group'] for record in records})} groups." in sheet
    else:
        words = Counter(word for record in records for word in record["dsl"].replace("(", " ( ").split())
        rows = {row[0]: int(row[1].replace(",", "")) for row in _table(sheet, "predicate")}
        assert rows == {predicate: words[predicate] for predicate in rows}
        assert {"Is", "LeftOf"} <= rows.keys()
        assert f"- {sum('witness' in record for record in records)} items come with a witness" in sheet


@pytest.mark.parametrize("name", SUITES)
def test_the_metadata_describe_the_file(name: str, exports: dict[str, ExportedSuite]) -> None:
    described = _croissant(exports[name].folder)
    data = (exports[name].folder / "items.jsonl").read_bytes()
    (file,) = described["distribution"]
    assert (file["contentUrl"], file["contentSize"]) == ("items.jsonl", f"{len(data)} B")
    assert file["sha256"] == hashlib.sha256(data).hexdigest()
    (records,) = described["recordSet"]
    assert records["key"]["@id"] == "items/id"
    described_columns = {field["name"] for field in records["field"]}
    assert {column for record in _records(exports[name]) for column in record} == described_columns | {
        "format",
        "suite",
    }
    for field in records["field"]:
        for leaf in field.get("subField", [field]):
            values = [_read_as_croissant(record, leaf["source"]) for record in _records(exports[name])]
            flat = [value for each in values for value in _leaves(each)]
            assert flat
            assert all(isinstance(value, TYPES[leaf["dataType"]]) for value in flat), leaf["@id"]


def _read_as_croissant(record: dict[str, Any], source: dict[str, Any]) -> Any:
    """What a reader of Croissant finds: a column, and then one step after the other, through lists."""
    value = record.get(source["extract"]["column"])
    for step in source.get("transform", ()):
        if value is None:
            return None
        value = [each[step["jsonPath"]] for each in value] if isinstance(value, list) else value[step["jsonPath"]]
    return value


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [] if value is None else [value]


@pytest.mark.parametrize("name", SUITES)
def test_mlcroissant_finds_no_fault_and_reads_every_record(name: str, exports: dict[str, ExportedSuite]) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: pip install mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=str(exports[name].folder / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert (list(issues.errors), list(issues.warnings)) == ([], [])
    found = [(record["items/id"].decode(), record["items/prompt"].decode()) for record in dataset.records("items")]
    assert found == [(record["id"], record["prompt"]) for record in _records(exports[name])]


@pytest.mark.parametrize("name", SUITES)
def test_the_items_read_back_in_both_forms(
    name: str, exports: dict[str, ExportedSuite], few: dict[str, list[Item[Any]]]
) -> None:
    assert {item.id: item for item in load(name, exports[name].folder)} == {item.id: item for item in few[name]}
    authors = load(name, exports[name].folder / "published")
    assert Counter(item.prompt for item in authors) == Counter(item.prompt for item in few[name])


def test_the_same_items_give_the_same_bytes(few: dict[str, list[Item[Any]]], tmp_path: Path) -> None:
    for folder, items in (("one", few["cf-world"]), ("other", few["cf-world"][::-1])):
        lines = write_items(items, tmp_path / folder)
        if folder == "other":
            lines.write_text("".join(sorted(lines.read_text("utf-8").splitlines(keepends=True), reverse=True)), "utf-8")
        export_suite("cf-world", tmp_path / f"{folder}-out", items=tmp_path / folder, published=True, imprint=OWN)
    one, other = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "one-out", tmp_path / "other-out")
    )
    assert one == other
    assert len(one) > 10


LINE = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1).map(str.strip)


@settings(max_examples=60)
@given(made=LINE.filter(bool), creator=LINE.filter(bool))
def test_the_publishers_words_come_out_as_they_went_in(made: str, creator: str) -> None:
    items = items_of_groups(GROUPS[:1], "9")
    facts, origin = count_items("cf-world", items), origin_of("cf-world", Path("mine.jsonl"), items)
    imprint = replace(OWN, made=made, creator=creator)
    terms = terms_of(origin, imprint)
    data = DataFile("items.jsonl", 1, "0", frozenset({"id", "questions"}))
    described = json.loads(croissant_text(facts, origin, terms, imprint, data))
    assert (described["rai:dataCollection"], described["creator"]["name"]) == (made, creator)
    sheet = datasheet_text(facts, origin, terms, imprint, published=False)
    assert f"\n\n{made}\n\n" in sheet
    assert f"| made by | {creator.replace('|', chr(92) + '|')} |" in sheet


@pytest.mark.parametrize("words", ["two\nlines", "\udcff", "tab\there"])
def test_words_that_cannot_be_printed_are_refused(words: str) -> None:
    with pytest.raises(FormalimgError, match="one line of readable text"):
        replace(OWN, made=words)


def test_items_that_only_their_authors_publish_are_described_too(tmp_path: Path) -> None:
    items = suite("geneval").drawn_items()
    assert items is not None
    place = write_items(items[:50], tmp_path / "items")
    export_suite("geneval", tmp_path / "out", items=place, imprint=PublisherInfo(licence="MIT"))
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "requirements for objects of" in sheet
    metadata = json.loads((tmp_path / "out" / "croissant.json").read_text())
    assert {"task", "include"} <= {field["name"] for field in metadata["recordSet"][0]["field"]}


def test_the_dataset_card_names_the_file_of_the_data(exports: dict[str, ExportedSuite]) -> None:
    for export in exports.values():
        _, front, text = (export.folder / "README.md").read_text(encoding="utf-8").split("---\n")
        described = dict(line.strip("- ").split(": ", 1) for line in front.splitlines() if ": " in line)
        assert (export.folder / described["data_files"]).is_file()
        assert json.loads(described["pretty_name"]) in text


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
    with pytest.raises(FormalimgError, match="give one with --license"):
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
