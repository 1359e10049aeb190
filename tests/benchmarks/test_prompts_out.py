"""Prompts out, images back: what `export --prompts-only` writes is enough to make images elsewhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from formalimg.benchmarks.conditions import Condition, StyleText, prompt_rows
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.models.folder.folder_model import open_folder
from formalimg.runs.execution import images_to_match
from formalimg.runs.plan import Selection
from formalimg.types import Item
from tests.models.test_folder_round_trip import image
from tests.support.command import formalimg

SELECTED = ("--levels", "1,3", "--per-level", "2")


def chosen(suite: str) -> dict[int, Item[object]]:
    return Selection(levels=[1, 3], per_level=2).of(load(suite))


def read(file: Path) -> list[dict[str, str]]:
    text = file.read_text(encoding="utf-8")
    match file.suffix:
        case ".txt":
            return [dict(zip(("file", "prompt"), line.split("\t"), strict=True)) for line in text.splitlines()]
        case ".csv":
            return list(csv.DictReader(text.splitlines(keepends=True)))
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(("suite", "ending"), [("knolling", "txt"), ("conceptmix", "jsonl"), ("cf-world", "csv")])
def test_images_made_under_the_names_that_were_given_come_back(tmp_path: Path, suite: str, ending: str) -> None:
    out = tmp_path / f"prompts.{ending}"
    done = formalimg("export", suite, "--prompts-only", *SELECTED, "--samples", "2", "--out", str(out))
    assert done.code == 0, done.err
    assert f"formalimg run {suite} --levels 1,3 --per-level 2 --samples 2 --model folder/DIR" in done.out
    rows = read(out)
    (tmp_path / "images").mkdir()
    for number, row in enumerate(rows):
        (tmp_path / "images" / row["file"]).write_bytes(image(number))
    wanted = images_to_match(chosen(suite), samples=2)
    matching = open_folder(str(tmp_path / "images"), {}).match(wanted)
    assert [found.file for found in matching.found] == [row["file"] for row in rows]
    assert (len(matching.found), matching.missing, matching.extra) == (8, (), ())
    if ending != "txt":  # beside the images, it is a map of them
        beside = tmp_path / "images" / out.name
        out.rename(beside)
        assert open_folder(str(beside), {}).match(wanted).ways == "8 by id"


def test_the_style_text_is_there_or_not_as_asked() -> None:
    (item, *_) = chosen("knolling").values()
    styles: dict[str, StyleText] = {"auto": "long", "short": "short", "none": "none"}
    for style, expected in styles.items():
        done = formalimg("export", "knolling", "--prompts-only", "--per-level", "1", "--levels", "1", "--style", style)
        (row,) = map(json.loads, done.out.splitlines())
        assert row["prompt"] == Condition(style=expected).model_input(item).prompt
    of_another = load("conceptmix")[0]
    (row,) = prompt_rows([of_another])
    assert row.prompt == of_another.prompt
    with pytest.raises(FormalimgError, match=r"only .*knolling.* has a style text"):
        list(prompt_rows([of_another], style="short"))


def test_names_of_samples_are_never_those_of_other_items() -> None:
    items = [Item("natural", name, 1, "A cup.", None) for name in ("a", "a_1")]
    assert [row.file for row in prompt_rows(items, samples=2)] == ["a/0.png", "a/1.png", "a_1/0.png", "a_1/1.png"]


def test_wrong_uses_say_what_to_do(tmp_path: Path) -> None:
    for arguments, reason in (
        (("export", "knolling"), "add --out DIR"),
        (("export", "knolling", "--out", "x", "--per-level", "2"), "without --prompts-only has no --per-level"),
        (("export", "knolling", "--prompts-only", "--license", "MIT"), "prompts has no --license"),
        (("export", "knolling", "--prompts-only", "--out", str(tmp_path)), "name a file for the prompts"),
    ):
        done = formalimg(*arguments)
        assert (done.code, reason in done.err) == (2, True), done.err


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "metadata.jsonl"
    command = ("export", "knolling", "--prompts-only", "--per-level", "1", "--out", str(out))
    assert formalimg(*command).code == 0
    assert formalimg(*command).code == 0, "the same again is fine"
    out.write_text("mine\n")
    done = formalimg(*command)
    assert (done.code, out.read_text()) == (2, "mine\n")
    assert "exists with different content" in done.err


def test_prompts_images_folder_judge_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way that README describes, with drawings of a built-in model in place of somebody else's."""
    monkeypatch.chdir(tmp_path)
    few = ("--levels", "1", "--per-level", "2")
    assert formalimg("export", "knolling", "--prompts-only", *few, "--out", "prompts.jsonl").code == 0
    assert (
        formalimg(
            "run", "--no-judge", "knolling", *few, "--model", "builtin/oracle", "--size", "256", "--out", "made"
        ).code
        == 0
    )
    drawn = {row["item"]: row["file_name"] for row in read(tmp_path / "made/images/metadata.jsonl")}
    (tmp_path / "images").mkdir()
    for row in read(tmp_path / "prompts.jsonl"):
        Path("images", row["file"]).write_bytes(Path("made/images", drawn[row["item"]]).read_bytes())
    done = formalimg("run", "knolling", *few, "--model", "folder/images", "--judge", "builtin/icons")
    assert done.code == 0, done.err
    assert "found      2  of 2 wanted: 2 by id" in done.err
    assert "100.0" in done.out
    report = formalimg("report", "runs/knolling-folder-images", "--format", "md")
    assert "matched to the items: 2 by id" in report.out, report.out
