"""A writing can be killed at any moment: the same call goes on, and ends with the same items."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from formalimg.benchmarks.authoring.conversation import AuthoringJournal
from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, Rejection
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.models.base import Message, Reply, Unanswered, Usage
from formalimg.types import AnswerType
from tests.benchmarks_authoring.scripted import Scripted, draft, honest_draft
from tests.benchmarks_authoring.write_in_process import PLAN
from tests.support.hostile_databases import SCHEMAS, VALUES, HostileEdit, apply_edit, change_schema
from tests.support.sizes import tries

ROOT = Path(__file__).parents[2]


def started(folder: Path, questions: int) -> subprocess.Popen[str]:
    """A process that writes, and has asked so many questions."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks_authoring.write_in_process", str(folder), "0.15"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    for _ in range(questions):
        assert process.stdout.readline() == "asked\n"
    return process


def answers_kept(folder: Path) -> int:
    """How many answers are in the journal, seen from outside; the file is locked while somebody writes."""
    with sqlite3.connect(folder / "writing.sqlite") as file:
        outcomes = [json.loads(text) for (text,) in file.execute("select outcome from outcomes")]
        under_way = file.execute("select count(*) from heard").fetchone()[0]
    return sum(len(outcome["expense"]["answers"]) for outcome in outcomes) + int(under_way)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT][: tries(1, 2)])
def test_after_being_stopped_it_goes_on_to_the_same_items(tmp_path: Path, sign: signal.Signals) -> None:
    undisturbed = Scripted(honest_draft)
    whole = author_suite(PLAN, undisturbed, tmp_path / "whole")
    assert len(whole.items) == 15
    process = started(tmp_path / "killed", 9)
    assert process.poll() is None, "it was too quick to be stopped"
    process.send_signal(sign)
    process.communicate(timeout=30)
    before = answers_kept(tmp_path / "killed")
    assert 0 < before < len(undisturbed.asked)
    assert not (tmp_path / "killed" / "items.jsonl").exists()
    model = Scripted(honest_draft)
    resumed = author_suite(PLAN, model, tmp_path / "killed")
    assert resumed.items == whole.items
    assert resumed.rejections == whole.rejections
    assert resumed.tried == whole.tried
    assert len(model.asked) == len(undisturbed.asked) - before, "nothing that was answered is asked again"
    for name in ("items.jsonl", "writing.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_two_cannot_write_to_one_folder(tmp_path: Path) -> None:
    process = started(tmp_path, 1)
    try:
        with pytest.raises(FormalimgError, match="another process is writing there"):
            author_suite(PLAN, Scripted(honest_draft), tmp_path)
    finally:
        process.kill()
        process.communicate()


def test_what_is_on_its_way_when_another_fails_is_kept(tmp_path: Path) -> None:
    """It will be paid for. Nothing else is begun."""
    plan = AuthoringPlan("knolling", (2,), 6)

    class Failing(Scripted):
        async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
            if len(self.asked) == 2:
                raise FormalimgError("the key is wrong")
            reply = await super().ask(messages, answer_type)
            for _ in range(20):  # long after the failure
                await asyncio.sleep(0)
            return reply

    failing = Failing(lambda question: draft("no", "no"))
    with pytest.raises(FormalimgError, match="the key is wrong"):
        author_suite(plan, failing, tmp_path)
    assert len(failing.asked) == answers_kept(tmp_path) == 2


def test_half_a_character_in_an_answer_stops_nothing(tmp_path: Path) -> None:
    unreadable = Scripted(lambda question: Unanswered("unreadable", "no JSON", "\ud800", Usage(1, 1), 0.5))
    plan = AuthoringPlan("knolling", (2,), 1, attempts=2)
    first = author_suite(plan, unreadable, tmp_path)
    assert (dict(first.rejections), first.cost) == ({"unreadable": 2}, 1.0)
    assert author_suite(plan, unreadable, tmp_path) == first


def test_a_damaged_journal_says_what_to_do(tmp_path: Path) -> None:
    plan = AuthoringPlan("knolling", (2,), 4, attempts=3)
    author_suite(plan, Scripted(lambda question: draft("no", "no" * 500)), tmp_path)
    path = tmp_path / "writing.sqlite"
    with path.open("r+b") as file:  # the last page
        file.seek(path.stat().st_size - 4096)
        file.write(b"\xff" * 200)
    with pytest.raises(FormalimgError, match="choose another folder"):
        author_suite(plan, Scripted(honest_draft), tmp_path)


def test_another_seed_gives_other_items(tmp_path: Path) -> None:
    plan = AuthoringPlan("knolling", (2,), 3)
    first = author_suite(plan, Scripted(honest_draft), tmp_path / "1")
    second = author_suite(AuthoringPlan("knolling", (2,), 3, seed=2), Scripted(honest_draft), tmp_path / "2")
    assert {item.prompt for item in first.items}.isdisjoint(item.prompt for item in second.items)


@pytest.mark.parametrize(("suite", "highest"), [("knolling", 10), ("natural", 5)])
def test_who_does_as_told_fills_every_level(tmp_path: Path, suite: str, highest: int) -> None:
    """The assignments can be fulfilled. Without a thought for what is plausible, it takes many attempts."""
    levels = tuple(range(1, highest + 1))
    written = author_suite(AuthoringPlan(suite, levels, 1, attempts=100), Scripted(honest_draft), tmp_path)
    assert written.missing == {}
    assert "not on offer" not in written.rejections
    assert "wrong level" not in written.rejections
    items = load(suite, tmp_path)
    assert [item.level for item in items] == list(levels)
    for item in items:
        assert check(item.spec.formula, suite, k=item.level, single_component=True) == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_journal_with_another_schema_is_refused(tmp_path: Path, name: str) -> None:
    with closing(AuthoringJournal(tmp_path, "knolling", {"seed": 1})):
        pass
    change_schema(tmp_path / "writing.sqlite", name, "heard", "slot")
    with pytest.raises(FormalimgError, match=r"writing\.sqlite (holds|lacks) the .*: choose another folder"):
        AuthoringJournal(tmp_path, "knolling", {"seed": 1})


@pytest.mark.parametrize("column", ["outcome", "slot", "attempt"])
@pytest.mark.parametrize("value", [value for value in VALUES if value != "a huge number"])
def test_outcomes_that_we_did_not_write_are_one_line(tmp_path: Path, column: str, value: str) -> None:
    outcome = AttemptOutcome(1, 0, Rejection("refused", "no"))
    with closing(AuthoringJournal(tmp_path, "knolling", {"seed": 1})) as journal:
        journal.keep(outcome)
        assert journal.outcomes() == [outcome]
    apply_edit(tmp_path / "writing.sqlite", HostileEdit("outcomes", column, value), all_rows=True)
    with (
        closing(AuthoringJournal(tmp_path, "knolling", {"seed": 1})) as journal,
        pytest.raises(FormalimgError, match=r"writing\.sqlite cannot be read: .*; choose another folder") as raised,
    ):
        journal.outcomes()
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("value", VALUES)
def test_answers_that_we_did_not_write_are_one_line(tmp_path: Path, value: str) -> None:
    with closing(AuthoringJournal(tmp_path, "knolling", {"seed": 1})) as journal:
        journal.remember(1, 0, "q", "{}")
    edit = HostileEdit("heard", "answer", value)
    apply_edit(tmp_path / "writing.sqlite", edit, all_rows=True)
    with closing(AuthoringJournal(tmp_path, "knolling", {"seed": 1})) as journal:
        with pytest.raises(FormalimgError, match=r"writing\.sqlite cannot be read: .*; choose another folder"):
            journal.recall(1, 0, "q")
        with pytest.raises(FormalimgError, match=r"writing\.sqlite cannot be read: .*; choose another folder"):
            journal.keep(AttemptOutcome(1, 0, Rejection("unanswered", "")))
