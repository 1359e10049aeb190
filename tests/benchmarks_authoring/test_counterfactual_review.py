"""The review of groups: a queue goes out, decisions come back, and nothing slips through undecided."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.authoring.group_task import WrittenGroup, read_groups
from formalimg.benchmarks.cfworld.authoring.review_queue import queue_lines, read_review, write_review
from formalimg.benchmarks.cfworld.group_checks import check_groups
from formalimg.benchmarks.loader import load
from formalimg.cli.review import review_app
from formalimg.errors import FormalimgError
from tests.benchmarks_authoring.counterfactual_author import OURS, Author, plan_of
from tests.support.sizes import only_in_full

pytest.importorskip("openai")
Line = dict[str, Any]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(review_app, list(arguments), catch_exceptions=False)
    return done.exit_code, done.output


def queue(count: int = 3) -> list[Line]:
    """A queue of the first groups that ship."""
    return [json.loads(line) for line in queue_lines([WrittenGroup(group) for group in OURS[:count]])]


def saved(lines: list[Line]) -> Path:
    path = Path("queue.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@only_in_full
def test_the_groups_that_ship_go_out_and_come_back() -> None:
    code, out = run("export", "cf-world", "--out", "whole.jsonl")
    assert (code, out.split()[0]) == (0, str(len(OURS)))
    lines = [{**json.loads(line), "decision": "accept"} for line in Path("whole.jsonl").read_text().splitlines()]
    code, out = run("import", str(saved(lines)), "--out", "kept")
    assert code == 0
    assert read_groups(Path("kept/groups.jsonl")) == OURS
    assert (
        len(load("cf-world", "kept")) == 3 * len(OURS) == 3 * len(load("cf-world-denominalised", "kept/denominalised"))
    )
    report = json.loads(Path("kept/review.json").read_text())
    assert (report["accept"], report["undecided"]) == (len(OURS), [])
    assert set(report["overruled"]) == {problem.group for problem in check_groups(OURS)}


def test_decisions_are_followed_and_undecided_groups_are_named_and_left_out() -> None:
    kept, dropped, edited, silent = queue(4)
    kept["decision"], kept["note"] = "accept", "lovely"
    dropped["decision"] = "reject"
    edited["decision"], edited["factual"] = "edit", f"{edited['factual']} It is a fine day."
    code, out = run("import", str(saved([kept, dropped, edited, silent])), "--out", "kept", "--version", "mine")
    assert code == 1
    assert f"undecided, and left out: {silent['id']}" in out
    assert "6 items in kept/items.jsonl" in out
    first, second = read_groups(Path("kept/groups.jsonl"))
    assert (first, second.factual) == (OURS[0], edited["factual"])
    assert {item.version for item in load("cf-world", "kept")} == {"mine"}
    report = json.loads(Path("kept/review.json").read_text())
    assert report == {
        "groups": 4,
        "accept": 1,
        "edit": 1,
        "reject": 1,
        "undecided": [silent["id"]],
        "overruled": {},
        "notes": {kept["id"]: "lovely"},
    }
    assert run("export", "kept", "--out", "again.jsonl") == (
        0,
        "2 groups in again.jsonl: set each decision to accept, reject or edit\n",
    )
    with pytest.raises(FormalimgError, match="may hold decisions"):
        run("export", "kept", "--out", "again.jsonl")
    with pytest.raises(FormalimgError, match="already holds something"):
        run("import", "queue.jsonl", "--out", "kept")


def _edit(**fields: Any) -> Callable[[list[Line]], list[Line]]:
    return lambda lines: [lines[0], {**lines[1], **fields}, lines[2]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_edit(decision="maybe"), "line 2: unknown decision 'maybe': write accept, edit, reject"),
        (_edit(decision=True), "line 2: unknown decision True"),
        (_edit(note=None), "line 2: note must be text"),
        (_edit(law="Everything is green."), "line 2: group .* was changed: set its decision to edit"),
        (_edit(law="Everything is green.", digest=""), "line 2: group .* was changed: set its decision to edit"),
        (_edit(decision="edit"), "line 2: group .* is marked as edited but unchanged"),
        (_edit(decision="edit", factual="A gun."), "line 2: edited, but unsafe"),
        (_edit(decision="edit", factual="A dog\x00 runs."), "line 2: edited, but with characters"),
        (_edit(decision="edit", shows=7), "line 2: group .*: shows is missing, or no text"),
        (_edit(mood="fine"), "line 2: group .*: unknown field 'mood'"),
        (lambda lines: [{k: v for k, v in lines[0].items() if k != "outcome"}], "line 1: .*outcome is missing"),
        (lambda lines: [{k: v for k, v in lines[0].items() if k != "decision"}], "line 1: decision is missing"),
        (lambda lines: [*lines, lines[0]], "line 4: group .* occurs twice"),
        (lambda lines: [], "holds no groups"),
        (
            lambda lines: [lines[0], {**lines[0], "id": "other", "decision": "edit"}],
            "line 2: edited, but duplicate: says nearly the same",
        ),
    ],
)
def test_a_line_that_makes_no_sense_is_named_and_nothing_is_written(
    change: Callable[[list[Line]], list[Line]], message: str
) -> None:
    lines = [{**line, "decision": "accept"} for line in queue()]
    path = saved(change(lines))
    with pytest.raises(FormalimgError, match=message):
        run("import", str(path), "--out", "kept")
    assert not Path("kept").exists()


def test_a_line_that_is_no_object_is_an_error() -> None:
    Path("queue.jsonl").write_text('[1]\n{"id": \n{"decision": "accept", "decision": "reject"}\n{"id": "\\ud800"}\n')
    found = (
        r"line 1: not an object.*\n.*line 2: not JSON.*\n"
        r".*line 3: not JSON .*'decision' occurs twice.*\n.*line 4: not JSON"
    )
    with pytest.raises(FormalimgError, match=found):
        read_review(Path("queue.jsonl"))


def test_a_person_may_overrule_the_checker_and_the_report_says_so() -> None:
    Path("made").mkdir()
    strange = {**{name: value for name, value in queue(1)[0].items() if hasattr(OURS[0], name)}, "law": "no sentence"}
    Path("made/groups.jsonl").write_text(json.dumps(strange) + "\n")
    run("export", "made", "--out", "queue.jsonl")
    (line,) = map(json.loads, Path("queue.jsonl").read_text().splitlines())
    assert line["problems"] == ["form: law must begin with a capital and end with a full stop"]
    review = read_review(saved([{**line, "decision": "accept"}]))
    assert review.overruled == {line["id"]: line["problems"]}
    assert write_review(read_review(saved([{**line, "decision": "reject"}])), Path("none")) is None


def test_questions_that_a_model_wrote_are_reviewed_with_their_group(author: Author) -> None:
    written = author.write(plan_of(2, questions="model"), Path("made"))
    run("export", "made", "--out", "queue.jsonl")
    lines = [json.loads(line) for line in Path("queue.jsonl").read_text().splitlines()]
    assert "weight" not in lines[0]["questions"]["1"][0]
    lines[0]["decision"] = "accept"
    lines[1]["decision"] = "edit"
    lines[1]["questions"]["2"][1]["question"] = "Does the wall keep to the rule as well?"
    assert run("import", str(saved(lines)), "--out", "kept", "--version", "mine")[0] == 0
    items = load("cf-world", "kept")
    assert items[:4] == list(written.items[:4])
    assert items[4].spec.questions[1].question == "Does the wall keep to the rule as well?"
    assert [question.weight for question in items[4].spec.questions] == [3, 8, 8, 15]
    Path("kept/items.jsonl").write_text("".join(Path("kept/items.jsonl").read_text().splitlines(True)[1:]))
    with pytest.raises(FormalimgError, match="must have all three levels"):
        run("export", "kept", "--out", "again.jsonl")
    del lines[1]["questions"]["2"][0]
    with pytest.raises(FormalimgError, match="line 2: questions of level 2: wrong number of questions"):
        read_review(saved(lines))
