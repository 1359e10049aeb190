"""Deciding at the desk: what was decided is in the file, and nobody's decision is lost to somebody else's."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from formalimg.benchmarks.authoring.task import StaleGroupError
from formalimg.benchmarks.cfworld.authoring.group_task import WrittenGroup
from formalimg.benchmarks.cfworld.authoring.review_desk import GroupDesk, exclusive_access
from formalimg.benchmarks.cfworld.authoring.review_queue import digest_of, queue_lines, read_review
from formalimg.benchmarks.cfworld.items import builtin_groups
from formalimg.errors import FormalimgError
from tests.support.sizes import only_in_full
from tests.web.review_queues import FINE, asked

OURS = builtin_groups()[:8]
IDS = [group.id for group in OURS]


def laid(folder: Path, lines: list[str]) -> Path:
    path = folder / "queue.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    return laid(tmp_path, queue_lines([WrittenGroup(group) for group in OURS]))


def version(desk: GroupDesk, name: str) -> str:
    return {line.group.id: line.version for line in desk.lines()}[name]


def decide(queue: Path | GroupDesk, name: str, **what: Any) -> None:
    desk = queue if isinstance(queue, GroupDesk) else GroupDesk(queue)
    desk.decide(name, version(desk, name), **what)


_STEPS = some.tuples(
    some.sampled_from(IDS[:3]),
    some.sampled_from(["accept", "reject", "", "edit", "back", "note"]),
    some.text(max_size=6),
)


@settings(max_examples=15, deadline=None)
@given(some.lists(_STEPS, max_size=8))
def test_reading_back_gives_exactly_what_was_decided(steps: list[tuple[str, str, str]]) -> None:
    groups = {group.id: group for group in OURS[:3]}
    now, decided, notes = dict(groups), dict.fromkeys(groups, ""), dict.fromkeys(groups, "")
    with tempfile.TemporaryDirectory() as folder:
        queue = laid(Path(folder), queue_lines([WrittenGroup(group) for group in groups.values()]))
        desk = GroupDesk(queue)
        for name, step, text in steps:
            what: dict[str, Any] = {"choice": step}
            if step == "note":
                what, notes[name] = {"note": text}, text
            elif step in ("edit", "back"):
                factual = groups[name].factual + FINE * (step == "edit")
                what = {"choice": "accept", "changes": {"factual": factual}}
                now[name] = replace(now[name], factual=factual)
            if step in ("accept", "edit", "back"):
                decided[name] = "accept" if now[name] == groups[name] else "edit"
            elif step == "" and now[name] != groups[name]:
                with pytest.raises(FormalimgError, match="was edited: accept it as it is now"):
                    decide(desk, name, **what)
                continue
            elif step != "note":
                decided[name] = step
            decide(desk, name, **what)
        review = read_review(queue)
    assert review.decisions == decided
    assert review.notes == {name: note for name, note in notes.items() if note}
    assert [kept.group for kept in review.accepted] == [
        now[name] for name, decision in decided.items() if decision in ("accept", "edit")
    ]


def _process(program: str, queue: Path, start: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", program, str(queue), start]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@only_in_full
def test_two_processes_lose_none_of_each_others_decisions(tmp_path: Path) -> None:
    queue = laid(tmp_path, queue_lines([WrittenGroup(group) for group in builtin_groups()[:40]]))
    program = (
        "import sys; from formalimg.benchmarks.cfworld.authoring.review_desk import GroupDesk\n"
        "desk = GroupDesk(sys.argv[1])\n"
        "lines = desk.lines(); print(flush=True); sys.stdin.readline()\n"
        "for line in lines[int(sys.argv[2])::2]: desk.decide(line.group.id, line.version, choice='reject')"
    )
    with _process(program, queue, "0") as one, _process(program, queue, "1") as other:
        for process in (one, other):
            assert process.stdout is not None
            process.stdout.readline()  # when it is ready
        for process in (one, other):
            assert process.stdin is not None
            process.stdin.close()  # which lets it go on
    assert (one.returncode, other.returncode) == (0, 0)
    assert set(read_review(queue).decisions.values()) == {"reject"}


def test_what_was_seen_too_long_ago_is_not_saved(queue: Path) -> None:
    seen = version(GroupDesk(queue), IDS[0])
    decide(queue, IDS[0], note="mine")
    before = queue.read_bytes()
    with pytest.raises(StaleGroupError, match="nothing was saved"):
        GroupDesk(queue).decide(IDS[0], seen, choice="reject")
    GroupDesk(queue).decide(IDS[0], seen, note="mine")  # said again: the answer may have been lost
    assert queue.read_bytes() == before


def test_what_others_write_into_the_file_stays(queue: Path) -> None:
    desk = GroupDesk(queue)
    seen = desk.lines()[0].version
    lines = queue.read_text(encoding="utf-8").splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "decision": "reject", "note": "by hand"}, indent=None) + "  "
    queue.write_text("\n".join(lines), encoding="utf-8")
    desk.decide(IDS[0], seen, choice="accept")
    assert queue.read_text(encoding="utf-8").splitlines()[1:] == lines[1:]
    lines[5] = lines[5].replace('"note": ""', '"note": 7')
    queue.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(FormalimgError, match=r"queue\.jsonl, line 6: note must be text"):
        desk.decide(IDS[1], "any", choice="accept")


def test_an_edit_to_which_the_checker_objects_is_not_saved(queue: Path) -> None:
    before = queue.read_bytes()
    with pytest.raises(FormalimgError, match="edited, but unsafe: factual says 'gun'"):
        decide(queue, IDS[0], choice="accept", changes={"factual": OURS[0].factual + " A gun lies there."})
    for name in ("id", "digest", "mood", "questions"):
        with pytest.raises(FormalimgError, match="cannot be changed"):
            decide(queue, IDS[0], changes={name: "other"})
    with pytest.raises(FormalimgError, match="shows is missing, or no text"):
        decide(queue, IDS[0], changes={"shows": 7})
    with pytest.raises(FormalimgError, match="lone surrogates"):
        decide(queue, IDS[0], note="\ud800")
    assert queue.read_bytes() == before
    assert GroupDesk(queue).tried(IDS[0], {"law": "no sentence"}).problems == [
        "form: law must begin with a capital and end with a full stop"
    ]


def test_no_order_of_decisions_makes_a_queue_that_cannot_be_read_back(tmp_path: Path) -> None:
    """An edited group that repeats a kept one is refused at import; so it is at the desk, whichever is decided last."""
    texts = {name: text for name, text in asdict(OURS[0]).items() if name not in ("id", "factual")}
    for last in (0, 1):
        queue = laid(tmp_path, queue_lines([WrittenGroup(group) for group in OURS[:2]]))
        changes = {**texts, "factual": OURS[0].factual}
        if last == 1:
            decide(queue, IDS[0], choice="accept")
            refused: dict[str, Any] = {"choice": "accept", "changes": changes}
        else:
            decide(queue, IDS[1], choice="accept", changes=changes)
            refused = {"choice": "accept"}
        with pytest.raises(FormalimgError, match=f"{IDS[1]} was edited, and says nearly the same as {IDS[0]}"):
            decide(queue, IDS[last], **refused)
        read_review(queue)


def test_questions_that_a_model_wrote_can_be_edited(tmp_path: Path) -> None:
    shown = {**asdict(OURS[0]), "questions": asked(OURS[0])}
    line = {**shown, "problems": [], "digest": digest_of(shown), "decision": "", "note": ""}
    queue = laid(tmp_path, [json.dumps(line)])
    changed = asked(OURS[0])
    changed["2"][1]["question"] = "Does the wall keep to the rule as well?"
    decide(queue, IDS[0], choice="accept", changes={"questions": changed})
    review = read_review(queue)
    assert review.decisions == {IDS[0]: "edit"}
    assert review.accepted[0].questions[2][1].question == "Does the wall keep to the rule as well?"
    assert [question.weight for question in review.accepted[0].questions[2]] == [3, 8, 15]
    del changed["1"]
    with pytest.raises(FormalimgError, match="questions are those of level 1"):
        decide(queue, IDS[0], choice="accept", changes={"questions": changed})


def test_a_link_stays_a_link_and_permissions_stay(queue: Path, tmp_path: Path) -> None:
    queue.chmod(0o600)
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(queue)
    decide(link, IDS[0], choice="reject")
    assert link.is_symlink()
    assert read_review(queue).decisions[IDS[0]] == "reject"
    if os.name == "posix":
        assert stat.S_IMODE(queue.stat().st_mode) == 0o600


def test_a_writer_who_does_not_let_go_is_told_of(queue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.benchmarks.cfworld.authoring.review_desk._PATIENCE", 0.1)
    seen, before = version(GroupDesk(queue), IDS[0]), queue.read_bytes()
    with exclusive_access(queue), pytest.raises(FormalimgError, match="being written by another process"):
        GroupDesk(queue).decide(IDS[0], seen, choice="reject")
    assert queue.read_bytes() == before
    GroupDesk(queue).decide(IDS[0], seen, choice="reject")
