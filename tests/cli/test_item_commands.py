"""`formalimg items`: show and sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite
from formalimg.judges.factory import open_judge
from formalimg.judges.failures import failure_sentences
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import Judged, open_run
from formalimg.types import Item
from tests.support.command import formalimg


def _run(folder: Path, items: list[Item[object]], model: str) -> Path:
    execute(RunConfig(items, open_image_model(model), size=256), folder, open_judge("knolling"))
    return folder


@pytest.fixture(scope="module")
def items() -> list[Item[object]]:
    return [item for item in load("knolling") if item.id in ("1", "201")]


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory, items: list[Item[object]]) -> Path:
    return _run(tmp_path_factory.mktemp("shown") / "scatter", items, "builtin/scatter")


def _judged(folder: Path) -> Iterator[Judged]:
    with closing(open_run(folder)) as run:
        yield from list(run.judged())


def test_each_image_of_a_run_has_its_outcome_and_what_failed(
    scattered: Path, items: list[Item[object]], tmp_path: Path
) -> None:
    oracle = _run(tmp_path / "oracle", items, "builtin/oracle")
    code, out, err = formalimg("items", "show", "knolling/201", "--run", str(scattered), "--run", str(oracle))
    assert code == 0, err
    (failed,) = [one for one in _judged(scattered) if one.outcome.item == "201"]
    formula = next(item.spec.text for item in items if item.id == "201")  # type: ignore[attr-defined]
    said = [f"    {one.text}" for one in failure_sentences(failed.verdict, suite("knolling"), formula)]
    assert said
    fared = [f"builtin/scatter ({scattered})", "  image 0: fail", *said, "", f"builtin/oracle ({oracle})"]
    assert out.splitlines()[-5 - len(said) :] == [*fared, "  image 0: pass"]


def test_the_item_is_that_of_the_run_unless_items_are_named(scattered: Path, tmp_path: Path) -> None:
    others = [replace(item, prompt="Something else.") for item in load("knolling")[:2]]
    write_items(others, tmp_path / "items")
    code, out, _ = formalimg("items", "show", "knolling/1", "--run", str(scattered), "--items", str(tmp_path / "items"))
    assert code == 2
    assert "Something else." in out
    code, _, err = formalimg("items", "show", "knolling/7", "--run", str(scattered))
    assert code == 2
    assert "has no item knolling/7" in err
    code, _, err = formalimg("items", "show", "natural/1", "--run", str(scattered))
    assert "it is a run of knolling" in err


CUP_LEFT_OF_FORK = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'fork') (LeftOf ?a ?b))))"
CYCLE = "(exists ?a (exists ?b (and (LeftOf ?a ?b) (LeftOf ?b ?a))))"


def test_solve_finds_and_draws_a_scene(tmp_path: Path) -> None:
    image = tmp_path / "witness.png"
    code, out, err = formalimg("formula", "solve", "--formula", CUP_LEFT_OF_FORK, "--draw", str(image))
    assert (code, err) == (0, "")
    assert out.startswith("2 objects, margin 20\n")
    assert Image.open(image).size == (1024, 1024)
    scene = tmp_path / "scene.json"
    scene.write_text(
        json.dumps(json.loads(formalimg("formula", "solve", "--formula", CUP_LEFT_OF_FORK, "--json").out)["scene"])
    )
    assert formalimg("formula", "verify", "--formula", CUP_LEFT_OF_FORK, "--scene", str(scene)).code == 0


def test_solve_proves_that_there_is_none() -> None:
    code, out, _ = formalimg("formula", "solve", "--formula", CYCLE)
    assert code == 1
    assert out == (
        "unsatisfiable with any number of objects; these cannot be true together:\n"
        "  line 1, column 28: (LeftOf ?a ?b)\n"
        "  line 1, column 43: (LeftOf ?b ?a)\n"
    )
    data = json.loads(formalimg("formula", "solve", "--formula", CYCLE, "--json").out)
    assert data["satisfiable"] is False


def test_solve_refuses_what_it_cannot_decide(tmp_path: Path) -> None:
    assert formalimg("formula", "solve", "--formula", "(exists ?x (Is ?x 'cupp'))").code == 2
    code, _, err = formalimg(
        "formula", "solve", "--formula", CUP_LEFT_OF_FORK, "--draw", str(tmp_path / "none" / "a.png")
    )
    assert code == 2
    assert (
        err == f"error: cannot draw into {tmp_path / 'none' / 'a.png'}: the folder {tmp_path / 'none'} does not exist\n"
    )
    code, _, err = formalimg("formula", "solve", "--formula", CUP_LEFT_OF_FORK, "--draw", "a.txt")
    assert (code, err) == (2, "error: cannot draw into a.txt: give a name such as out.png\n")
    assert formalimg("formula", "solve", "--formula", CUP_LEFT_OF_FORK, "--instances", "100000").code == 2


def test_solve_says_how_far_it_has_looked() -> None:
    endless = "(forall ?x (implies (Is ?x 'cup') (exists ?y (and (Is ?y 'cup') (RightOf ?y ?x)))))"
    code, out, _ = formalimg("formula", "solve", "--formula", endless, "--max-objects", "3")
    assert code == 1
    assert out.startswith("no scene of up to 3 objects satisfies it; larger ones were not tried\n")


def test_synth_writes_items_that_show_and_census_read(tmp_path: Path) -> None:
    few = ("knolling", "--levels", "1-2,4", "--per-level", "3")
    code, out, _ = formalimg("items", "synth", *few, "--jobs", "1", "--out", str(tmp_path), "--published")
    assert code == 0
    assert "9 items of knolling (K=1: 3, K=2: 3, K=4: 3)" in out
    assert "instructions sha256:" in out
    assert len((tmp_path / "items.jsonl").read_text().splitlines()) == 9
    assert len(list((tmp_path / "published" / "benchmarks" / "knolling").glob("*.json"))) == 9
    assert "9 items of knolling" in formalimg("items", "census", "knolling", "--items", str(tmp_path)).out

    image = tmp_path / "item.png"
    item = next(item for item in load("knolling", tmp_path) if item.spec.text.startswith("(exists"))
    code, out, _ = formalimg("items", "show", f"knolling/{item.id}", "--items", str(tmp_path), "--draw", str(image))
    assert code == 0
    assert out.startswith(f"knolling/{item.id}, K = {item.level}\n")
    assert "object     (Is ?" in out
    assert image.exists()
    assert formalimg("formula", "check", str(tmp_path / "published" / "benchmarks" / "knolling")).code == 0
    code, _, err = formalimg(
        "items", "synth", "knolling", "--levels", "1", "--per-level", "1", "--out", str(tmp_path), "--published"
    )
    assert code == 2
    assert "exists already" in err


def test_show_says_what_is_missing(tmp_path: Path) -> None:
    formalimg("items", "synth", "natural", "--levels", "1", "--per-level", "2", "--out", str(tmp_path), "--jobs", "1")
    for arguments, says in [
        (("items", "show", "natural/9", "--items", str(tmp_path)), "natural has no item 9"),
        (("items", "show", "natural", "--items", str(tmp_path)), "name an item as SUITE/ID"),
        (("items", "show", "natural/0", "--items", str(tmp_path), "--draw", "x.png"), "there is no drawing of"),
    ]:
        code, _, err = formalimg(*arguments)
        assert code == 2
        assert says in err


def test_synth_refuses_nonsense(tmp_path: Path) -> None:
    for arguments, says in [
        (("zoo",), "unknown suite"),
        (("natural", "--levels", "a"), "cannot read the levels"),
        (("natural", "--levels", "1-"), "cannot read the levels"),
        (("natural", "--levels", "31"), "between 1 and 30"),
        (("natural", "--levels", "3", "--objects", "10"), "cannot be divided"),
        (("natural", "--levels", "1", "--objects", "0"), "objects must be between"),
        (("natural", "--levels", "5-1"), "5 is larger than 1"),
    ]:
        code, _, err = formalimg("items", "synth", *arguments, "--out", str(tmp_path))
        assert code == 2
        assert says in err
