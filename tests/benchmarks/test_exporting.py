"""Exported suites: what the data sheet and the metadata say is what the items are."""

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
from formalimg.benchmarks.export.documents import DataFile, croissant_text, datasheet_text
from formalimg.benchmarks.export.sheets import count_items
from formalimg.benchmarks.export.suite_export import ExportedSuite, PublisherInfo, export_suite, origin_of, terms_of
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite
from formalimg.types import Item

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
