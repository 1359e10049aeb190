"""Runs over published data with odd records: all are scored or unscored with a reason, and the odd ones are told."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from formalimg.runs.reader import open_run
from formalimg.types import Verdict
from tests.benchmarks.cfworld.test_tidying import ASKED, GROUP, repository
from tests.support.command import Result, formalimg
from tests.support.loopback import Asked, Loopback, Wish
from tests.support.published import FOLDER, published_instances

pytestmark = pytest.mark.usefixtures("stand_alone", "no_preflight")

pytest.importorskip("openai")

DSL = "(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'table') ({} ?x ?y))))"
SOUND: dict[str, Any] = {
    "prompt": "A cup and a table.",
    "dsl": DSL.format("On"),
    "cnf": DSL.format("On"),
    "k": 2,
    "object_classes": ["cup", "table"],
}
FILES: dict[str, Any] = {
    "1": SOUND,
    "2": SOUND | {"dsl": DSL.format("Above")},
    "3": SOUND | {"dsl": DSL.format("Behind")},
    "4": SOUND | {"k": 5},
    "5": SOUND | {"dsl": "(and"},
    "6": SOUND | {"prompt": ""},
    "7": [SOUND],
}
ODD = "no-prompt 1, unknown-predicate 2, unreadable-formula 1, k-differs 1, skipped 1"


@pytest.fixture
def odd_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "natural"
    folder.mkdir()
    for name, instance in FILES.items():
        (folder / f"{name}.json").write_text(json.dumps(instance))
    return folder


def says_yes(asked: Asked) -> str:
    return json.dumps({"satisfies_constraint": True, "satisfied_clauses": []})


def drawn(wish: Wish) -> bytes:
    """An image that is no plain area and no noise, which would fail by rule."""
    image = Image.new("RGB", (256, 256), "white")
    ImageDraw.Draw(image).ellipse((40, 60, 180, 220), fill="red")
    ImageDraw.Draw(image).rectangle((150, 20, 240, 120), fill="blue")
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(reply=says_yes, paint=drawn) as server:
        yield server


def run(suite: str, items: Path, server: Loopback, *more: str) -> Result:
    place = f"base_url={server.url}/v1"
    model = ("-m", "openai/some-model", "-M", place, "--size", "256")
    judge = ("--judge", "openai/some-judge", "-J", place, "-J", "cache=off")
    return formalimg("run", suite, *model, *judge, "--items", str(items), "--out", "run", *more)


def outcomes() -> dict[str, tuple[bool | None, str, str]]:
    with closing(open_run("run")) as found:
        return {one.item: (one.passed, one.reason, one.detail) for one in found.outcomes()}


def test_every_record_is_scored_or_unscored_with_the_reason(odd_folder: Path, server: Loopback) -> None:
    done = run("natural", odd_folder, server, "-J", "answers=published")
    assert done.code == 0, done.err
    told = f"odd records among the items: {ODD}; `formalimg items census natural --items {odd_folder}` lists them"
    assert done.err.splitlines().count(told) == 1
    found = outcomes()
    assert [name for name, (passed, _, _) in found.items() if passed] == ["1", "2", "3", "4"]
    assert found["5"][1] == "not understood"
    assert "the published dsl is no formula to judge by" in found["5"][2]
    assert found["6"][1] == "generation failed"
    assert found["6"][2].startswith("no prompt")
    assert len(found) == 6
    prompts = [request.json["prompt"] for request in server.requests if "prompt" in request.json]
    assert prompts == [SOUND["prompt"]] * 5  # nothing was asked for without a prompt
    assert tomllib.loads(Path("run/run.toml").read_text(encoding="utf-8"))["odd"] == ODD
    with closing(open_run("run")) as stored:
        assert {item.id: item.level for item in stored.items.values()}["4"] == 5
    report = formalimg("report", "run", "--details")
    assert f"The items given with --items have odd records: {ODD} for" in " ".join(report.out.split())
    again = run("natural", odd_folder, server, "-J", "answers=published")  # resuming changes nothing
    assert (again.code, outcomes()) == (0, found)


def test_remarks_count_the_items_of_a_run_and_not_all_of_the_data(odd_folder: Path, server: Loopback) -> None:
    done = run("natural", odd_folder, server, "-J", "answers=published", "--levels", "5")
    own = "k-differs 1, skipped 1"
    assert f"odd records among the items: {own};" in done.err
    assert f"The items given with --items have odd records: {own} for" in " ".join(
        formalimg("report", "run", "--details").out.split()
    )


def test_the_judge_gets_clauses_of_unknown_predicates(odd_folder: Path, server: Loopback) -> None:
    assert run("natural", odd_folder / "3.json", server, "-J", "answers=published").code == 0
    (question,) = [str(request.json) for request in server.requests if "messages" in request.json]
    assert "(Behind ?x ?y)" in question
    with closing(open_run("run")) as stored:
        (judged,) = stored.judged([("3", 0)])
        assert isinstance(judged.verdict, Verdict)
        assert {part.name: part.kind for part in judged.verdict.parts}["(Behind ?x ?y)"] == "relation"


def test_sound_data_leave_the_manifest_as_it_was(odd_folder: Path, server: Loopback) -> None:
    done = run("natural", odd_folder / "1.json", server, "-J", "answers=published")
    assert "odd records" not in done.err
    assert "odd" not in tomllib.loads(Path("run/run.toml").read_text(encoding="utf-8"))


def test_a_census_lists_odd_records_by_tag(odd_folder: Path) -> None:
    code, out, _ = formalimg("items", "census", "natural", "--items", str(odd_folder))
    assert code == 0
    lines = out.splitlines()
    listed = lines[lines.index("odd records, by tag:") + 1 :]
    assert [line.split(" (")[0].strip() for line in listed[:5]] == [*ODD.split(", ")]
    assert listed[1].endswith(": 2, 3")
    assert listed[3].endswith("the level is the published k): 4")
    assert listed[5].startswith(f"    {odd_folder / '7.json'}: not an instance")
    assert "predicates that the vocabulary does not have: Above 1, Behind 1" in lines
    assert "odd records" not in formalimg("items", "census", "natural").out


def test_an_odd_item_is_shown_with_what_is_odd(odd_folder: Path) -> None:
    code, out, _ = formalimg("items", "show", "natural/5", "--items", str(odd_folder))
    assert code == 0
    assert "unreadable-formula: dsl is no closed formula: unscored" in out
    assert "this '(' is never closed" in out


def test_prompts_without_questions_are_unscored_with_the_reason(tmp_path: Path, server: Loopback) -> None:
    place = repository(tmp_path / "published", [GROUP], ASKED[3:])
    done = run("cf-world", place, server, "--levels", "1")
    assert done.code == 1  # nothing else was in the run
    ((passed, reason, detail),) = outcomes().values()
    assert (passed, reason) == (None, "not understood")
    assert detail.endswith("has no questions, no-questions")
    assert tomllib.loads(Path("run/run.toml").read_text(encoding="utf-8"))["odd"] == "no-questions 1"


def test_all_published_natural_instances_run(server: Loopback) -> None:
    published_instances()
    done = run("natural", FOLDER.parent, server, "-J", "answers=published")
    assert done.code == 0, done.err
    assert "odd records among the items: unknown-predicate 2;" in done.err
    assert [passed for passed, _, _ in outcomes().values()] == [True] * 32
