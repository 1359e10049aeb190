"""More levels, more samples: what is there is kept; the folder can be used by others at any time."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from formalimg import load
from formalimg.errors import FormalimgError
from formalimg.models.base import Refused
from formalimg.runs.config import run_name
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.image_store import image_stem
from formalimg.runs.plan import Selection
from formalimg.runs.reader import open_run
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import contents, order, outcomes, rows


def test_a_run_can_be_extended_step_by_step(tmp_path: Path) -> None:
    model, judge, folder = Speckles(), NumberJudge(), tmp_path / "run"
    for changes in (
        {"selection": Selection(levels=[4])},
        {"selection": Selection(levels=[1, 2], per_level=1)},
        {"selection": Selection(levels=[2])},
        {},
        {"samples": 2},
        {"selection": Selection(levels=[1])},
    ):
        execute(order(model, **changes), folder, judge)
    assert len(model.asked) == len(set(model.asked)) == len(judge.judged) == 16
    execute(order(samples=2), tmp_path / "at once", NumberJudge())
    assert contents(folder) == contents(tmp_path / "at once")
    ids = [(outcome.item, outcome.sample) for outcome in outcomes(folder)]
    assert ids == [(str(number), sample) for number in range(8) for sample in range(2)]
    run = open_run(folder)
    assert list(run.items) == [str(number) for number in range(8)]
    assert run.suite_items() == small_items(8)


def test_a_run_that_is_stopped_early_has_something_of_each_level(tmp_path: Path) -> None:
    model = Speckles(concurrency=1)
    execute(order(model, small_items(12)), tmp_path / "run")
    levels = {item.id: item.level for item in small_items(12)}
    assert [levels[item] for item, _ in model.asked[:4]] == [1, 2, 3, 4]


@given(
    st.none() | st.sets(st.integers(1, 4), min_size=1),
    st.none() | st.sets(st.integers(0, 11).map(str), min_size=1),
    st.none() | st.integers(1, 4),
)
def test_a_selection_takes_the_first_of_each_level_among_those_it_names(
    levels: set[int] | None, ids: set[str] | None, per_level: int | None
) -> None:
    items = small_items(12)
    named = [it for it in items if (levels is None or it.level in levels) and (ids is None or it.id in ids)]
    wanted = [it for it in named if it in [other for other in named if other.level == it.level][:per_level]]
    selection = Selection(levels, per_level, ids)
    if wanted:
        assert selection.of(items) == {int(it.id): it for it in wanted}
    else:
        with pytest.raises(FormalimgError, match="no items are left"):
            selection.of(items)


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        (Selection(levels=[9]), "no level 9"),
        (Selection(levels=[8, 9]), "no levels 8, 9"),
        (Selection(ids=["x"]), "no item x"),
        (Selection(levels=[1], ids=["7"]), "no items are left"),
    ],
)
def test_what_the_suite_does_not_have_cannot_be_selected(tmp_path: Path, selection: Selection, told: str) -> None:
    with pytest.raises(FormalimgError, match=told):
        execute(order(selection=selection), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_images_load_as_an_image_folder(tmp_path: Path) -> None:
    """By its documented rules: one metadata file beside the images, one JSON object a line, the same fields in each,
    `file_name` first and relative, and no image that is not named."""
    items = [replace(item, prompt=f'{item.prompt} "quoted"\n\u2028 ä') for item in small_items(8)]
    execute(order(items=items, samples=2), tmp_path / "run")
    images = tmp_path / "run" / "images"
    text = (images / "metadata.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.rstrip("\n").split("\n")]
    assert {tuple(line) for line in lines} == {("file_name", "item", "sample", "level", "prompt", "seed", "sha256")}
    assert {line["file_name"] for line in lines} == {path.name for path in images.glob("*.png")}
    assert len(lines) == 16 == len({line["file_name"] for line in lines})
    assert {path.suffix for path in images.iterdir()} == {".png", ".jsonl"}
    for line in lines:
        with Image.open(images / line["file_name"]) as image:
            image.load()
        assert line["prompt"] == items[int(line["item"])].prompt


def test_a_lost_image_is_made_again(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run", NumberJudge())
    before = contents(tmp_path / "run")
    (tmp_path / "run" / "images" / "3.png").unlink()
    (tmp_path / "run" / "images" / "5.png").write_bytes(b"")
    model, judge = Speckles(), NumberJudge()
    execute(order(model), tmp_path / "run", judge)
    assert sorted(model.asked) == [("3", 0), ("5", 0)]
    assert judge.judged == [], "the same image has its verdict already"
    assert contents(tmp_path / "run") == before


def test_an_exchanged_image_is_not_judged_as_the_one_that_was_made(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder)
    data = bytearray((folder / "images" / "3.png").read_bytes())
    data[-1] ^= 1
    (folder / "images" / "3.png").write_bytes(data)
    judge_run(folder, NumberJudge())
    assert outcomes(folder)[3].reason == "unreadable image"
    assert "is not the file that was stored" in outcomes(folder)[3].detail


def test_a_folder_holds_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder, NumberJudge())
    assert len(outcomes(folder)) == 8
    assert {path.name for path in folder.iterdir()} == {"run.toml", "results.sqlite", "images", "lock"}
    open_run(folder)  # and not closed
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        open_run(folder)._database.execute("DELETE FROM pictures")


def test_metadata_names_only_what_is_there(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    others = [replace(item, prompt="Other words.") for item in small_items(8)]
    execute(order(Speckles(answer=lambda request: Refused("no")), others), tmp_path / "run")
    assert contents(tmp_path / "run")["files"] == {"metadata.jsonl": b""}


def test_files_of_others_in_the_images_are_left_alone(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    (tmp_path / "run" / "images" / "notes.txt").write_text("mine")
    (tmp_path / "run" / "images" / "cat.png").write_bytes(b"mine")
    (tmp_path / "run" / "images" / "3.webp").write_bytes(b"left over")
    execute(order(), tmp_path / "run")
    names = {path.name for path in (tmp_path / "run" / "images").iterdir()}
    assert {"notes.txt", "cat.png", "3.png"} <= names
    assert "3.webp" not in names


def test_no_two_images_share_a_file() -> None:
    """Also not the second image of `a` and the first of an item called `a_1`."""
    endings = ["", *(f"_{one}" for one in ("0", "1", "01", "12", "x"))]
    items = [f"{name}{first}{second}" for name in ("a", "1") for first in endings for second in endings]
    images = {(item, sample) for item in items for sample in range(13)}
    assert len({image_stem(*image) for image in images}) == len(images)


def test_making_and_judging_apart_gives_the_same_run(tmp_path: Path) -> None:
    execute(order(samples=2), tmp_path / "together", NumberJudge())
    execute(order(samples=2), tmp_path / "apart")
    assert {outcome.reason for outcome in outcomes(tmp_path / "apart")} == {"not judged"}
    judge_run(tmp_path / "apart", NumberJudge())
    assert contents(tmp_path / "apart") == contents(tmp_path / "together")


def test_a_run_can_be_done_inside_a_running_loop(tmp_path: Path) -> None:
    async def cell() -> None:
        execute(order(), tmp_path / "run", NumberJudge())
        with pytest.raises(FormalimgError, match="seed"):
            execute(order(seed=5), tmp_path / "run", NumberJudge())

    asyncio.run(cell())
    execute(order(), tmp_path / "outside", NumberJudge())
    assert contents(tmp_path / "run") == contents(tmp_path / "outside")


@given(st.text(max_size=200), st.text(max_size=200))
def test_different_models_have_different_folders(one: str, other: str) -> None:
    names = {run_name("knolling", model) for model in {one, other}}
    assert len(names) == len({one, other})
    assert all(0 < len(name) <= 100 and "/" not in name for name in names)


def test_the_queries_in_the_docs_work(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(samples=2), folder, NumberJudge())
    page = (Path(__file__).parents[2] / "docs" / "guides" / "runs.md").read_text(encoding="utf-8")
    queries = page.split("```sql\n")[1].split("```")[0].split(";")[:-1]
    missing, by_level, clauses, slowest = (rows(folder, query) for query in queries)
    assert missing == []
    assert [(name, level, count) for name, level, _, count in by_level] == [
        ("test/number", level, 4) for level in (1, 2, 3, 4)
    ]
    assert {clause for _, clause, _ in clauses} == {"shown"}
    assert len(slowest) == 10


def test_a_run_of_an_earlier_version_of_items_is_resumed_with_it(tmp_path: Path) -> None:
    execute(order(items=load("knolling", "@1")[:2]), tmp_path)
    with pytest.raises(FormalimgError, match=r"was 1, now \d.*: resume it with --items @1, name another folder"):
        execute(order(items=load("knolling")[:2]), tmp_path)
    with pytest.raises(FormalimgError, match=r"seed: .*\): name another folder"):  # the version alone is not enough
        execute(order(items=load("knolling")[:2], seed=2), tmp_path)
    assert execute(order(items=load("knolling", "@1")[:2]), tmp_path).images == 0
