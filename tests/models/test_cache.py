"""The cache of answers, and questions that are asked at the same moment."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from formalimg._util.io import cache_folder
from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Attachment, CallError, Completion, Message, Reply, Unanswered, Usage
from formalimg.models.cache import AnswerCache, cache_key
from formalimg.models.provider_models import build_chat_model
from formalimg.models.retry import RetryPolicy
from formalimg.types import Setting
from tests.models.test_asking import MESSAGES, TALK, YES, Talker, Verdict
from tests.support.hostile_databases import SCHEMAS, VALUES, HostileEdit, apply_edit, change_schema, corrupt
from tests.support.remote_models import stand_alone
from tests.support.sizes import only_in_full


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _ask(talker: Talker, messages: tuple[Message, ...] = MESSAGES, cache: bool = True) -> Reply[Verdict]:
    return asyncio.run(
        build_chat_model(talker, retry_policy=RetryPolicy(initial_backoff=0, cache=cache)).ask(messages, Verdict)
    )


def test_a_remembered_answer_is_the_same_and_costs_nothing() -> None:
    first = _ask(Talker([YES]))
    again = Talker([])
    second = _ask(again)
    assert isinstance(first, Answered)
    assert second == replace(first, usage=Usage(), cost=0.0, cached=True)
    assert not again.asked


def test_only_answers_that_can_be_read_are_remembered() -> None:
    for ended in ("stop", "length", "refusal"):
        _ask(Talker([replace(TALK, ended=ended)]))
    talker = Talker([TALK, YES])
    _ask(talker)
    assert len(talker.asked) == 2
    later = Talker([TALK])
    assert isinstance(_ask(later), Answered)
    assert not later.asked


def test_what_the_type_no_longer_accepts_is_asked_anew_once() -> None:
    _ask(Talker([YES]))
    AnswerCache(cache_folder())
    with sqlite3.connect(cache_folder() / "answers.sqlite") as connection:
        connection.execute("UPDATE answers SET text = 'It does.'")
    talker = Talker([YES])
    for _ in range(2):
        assert isinstance(_ask(talker), Answered)
    assert len(talker.asked) == 1


def test_the_cache_can_be_switched_off(folder: Path) -> None:
    talker = Talker([YES])
    for _ in range(2):
        reply = _ask(talker, cache=False)
        assert isinstance(reply, Answered)
        assert not reply.cached
    assert len(talker.asked) == 2
    assert not folder.exists()


def test_anything_that_differs_is_another_question() -> None:
    def key(
        name: str = "a/b",
        settings: Mapping[str, Setting] | None = None,
        messages: tuple[Message, ...] = MESSAGES,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        return cache_key(name, settings or {"temperature": 0}, messages, schema or {"type": "object"})

    system, user = MESSAGES
    words, image = user.parts
    assert isinstance(image, Attachment)
    keys = [
        key(),
        key(name="a/c"),
        key(settings={"temperature": 1}),
        key(settings={"temperature": "0"}),
        key(settings={"temperature": 0, "seed": None}),
        key(schema={"type": "array"}),
        key(messages=(user,)),
        key(messages=(user, system)),
        key(messages=(replace(system, role="user"), user)),
        key(messages=(system, replace(user, parts=(image, words)))),
        key(messages=(system, replace(user, parts=(words, image, image)))),
        key(messages=(system, replace(user, parts=(words, replace(image, data=b"other"))))),
        key(messages=(system, replace(user, parts=(words, replace(image, media_type="image/jpeg"))))),
        key(messages=(system, replace(user, parts=("Is it", " red?", image)))),
    ]
    assert len(set(keys)) == len(keys)
    assert key() == key(settings=dict([("temperature", 0)]))  # noqa: C406 made another way, and still the same


def test_neither_words_nor_images_nor_keys_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-cache-key-0815")
    _ask(Talker([replace(YES, served={"request": "planted-cache-key-0815"})]))
    kept = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"holds" in kept
    for secret in (b"Is it red?", b"bytes of it", b"planted-cache-key-0815"):
        assert secret not in kept


def test_the_first_answer_stays(folder: Path) -> None:
    memory = AnswerCache(folder)
    memory.put("question", Completion("first", usage=Usage(3, 4)))
    memory.put("question", Completion("second"))
    assert memory.get("question") == Completion("first")
    assert memory.get("other") is None
    with pytest.raises(ValueError, match="not worth remembering"):
        memory.put("question", Completion("cut", ended="length"))


def _write_many(folder: Path, first: int) -> int:
    memory = AnswerCache(folder)
    for number in range(first, first + 50):
        memory.put(str(number), Completion(f"answer {number}"))
    return sum(memory.get(str(number)) == Completion(f"answer {number}") for number in range(first, first + 50))


@only_in_full
def test_several_processes_may_remember_at_once(folder: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.starmap(_write_many, [(folder, first) for first in (0, 25, 50)]) == [50] * 3
    memory = AnswerCache(folder)
    assert all(memory.get(str(number)) == Completion(f"answer {number}") for number in range(100))


def test_a_damaged_memory_says_how_to_go_on(folder: Path) -> None:
    folder.mkdir()
    (folder / "answers.sqlite").write_bytes(b"this is no database, but a text of some length" * 100)
    with pytest.raises(
        FormalimgError, match=r"cannot open the answer cache .*answers\.sqlite .*remove the file.*cache=off"
    ):
        _ask(Talker([YES]))


def test_a_folder_that_cannot_be_made_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FormalimgError, match="name another folder with FORMALIMG_CACHE"):
        _ask(Talker([YES]))


def test_the_folder_is_the_systems_own_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FORMALIMG_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "formalimg"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "formalimg"
    monkeypatch.setattr("sys.platform", "win32")
    assert cache_folder() == tmp_path / "AppData" / "Local" / "formalimg" / "Cache"


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "a missing table"])
def test_a_memory_with_another_schema_is_refused_and_says_how_to_go_on(folder: Path, name: str) -> None:
    _ask(Talker([YES]))
    change_schema(folder / "answers.sqlite", name, "answers", "text")
    with pytest.raises(FormalimgError, match=r"answers\.sqlite (holds|lacks) the .*remove the file.*cache=off"):
        _ask(Talker([YES]))


@pytest.mark.parametrize("column", ["text", "served"])
@pytest.mark.parametrize("value", VALUES)
def test_a_remembered_value_that_cannot_be_read_is_asked_anew_and_replaced(
    folder: Path, column: str, value: str
) -> None:
    _ask(Talker([YES]))
    apply_edit(folder / "answers.sqlite", HostileEdit("answers", column, value), all_rows=True, key="question")
    for _ in range(2):
        assert isinstance(_ask(Talker([YES])), Answered)
    assert isinstance(_ask(Talker([])), Answered)


def test_damaged_memories_are_one_line_or_are_asked_anew(folder: Path) -> None:
    dice = random.Random(16)
    _ask(Talker([YES]))
    kept = (folder / "answers.sqlite").read_bytes()
    for _ in range(40):
        for path in folder.iterdir():
            path.unlink()
        (folder / "answers.sqlite").write_bytes(kept)
        corrupt(folder / "answers.sqlite", dice)
        try:
            assert isinstance(_ask(Talker([HOLDS])), Answered)
        except FormalimgError as error:
            assert "cache=off" in str(error)
            assert len(str(error).splitlines()) == 1


QUESTION = (Message("user", ("Is it red?",)),)
HOLDS = Completion('{"holds": true}', usage=Usage(20, 10))
COST = (20 * 2.50 + 10 * 10.00) / 1_000_000


class Holds(BaseModel):
    holds: bool


@dataclass
class SlowTalker:
    name: str = "openai/gpt-4o"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"max_tokens": 100})
    calls: list[asyncio.Future[Completion]] = field(default_factory=list)

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        self.calls.append(asyncio.get_running_loop().create_future())
        return await self.calls[-1]

    async def next_call(self, number: int) -> asyncio.Future[Completion]:
        for _ in range(500):
            await asyncio.sleep(0.001)
            if len(self.calls) >= number:
                await asyncio.sleep(0.05)
                assert len(self.calls) == number
                return self.calls[number - 1]
        raise AssertionError(f"{len(self.calls)} calls, not {number}")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_alone(monkeypatch, tmp_path)


def _ask_at_once(talker: SlowTalker, *, cache: bool = True, own: int = 1) -> list[asyncio.Task[Reply[Holds]]]:
    policy = RetryPolicy(initial_backoff=0, max_attempts=1, parse_retries=0, cache=cache)
    models = [build_chat_model(talker, retry_policy=policy) for _ in range(own)]
    return [asyncio.create_task(models[number % own].ask(QUESTION, Holds)) for number in range(3)]


@pytest.mark.parametrize("models", [1, 3])
def test_it_is_asked_once_and_all_get_the_answer(models: int) -> None:
    async def work() -> list[Reply[Holds]]:
        talker = SlowTalker()
        asked = _ask_at_once(talker, own=models)
        (await talker.next_call(1)).set_result(HOLDS)
        return await asyncio.gather(*asked)

    replies = asyncio.run(work())
    assert [isinstance(reply, Answered) and reply.value.holds for reply in replies] == [True] * 3
    assert sorted(reply.cost or 0 for reply in replies) == [0, 0, COST]


def test_a_disk_that_keeps_nothing_does_not_make_it_paid_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnswerCache, "put", lambda *given: None)
    test_it_is_asked_once_and_all_get_the_answer(3)


def test_if_the_first_gets_no_answer_the_next_asks_itself() -> None:
    async def work() -> list[Reply[Holds]]:
        talker = SlowTalker()
        asked = _ask_at_once(talker)
        (await talker.next_call(1)).set_exception(CallError("rejected", "not today"))
        (await talker.next_call(2)).set_result(HOLDS)
        return await asyncio.gather(*asked)

    first, *others = asyncio.run(work())
    assert isinstance(first, Unanswered)
    assert [type(reply) for reply in others] == [Answered, Answered]
    assert [reply.cost for reply in others] == [COST, 0]


@pytest.mark.parametrize("cancelled", [0, 1])
def test_whoever_is_cancelled_cancels_nobody_else(cancelled: int) -> None:
    async def work() -> list[Reply[Holds] | BaseException]:
        talker = SlowTalker()
        asked = _ask_at_once(talker)
        call = await talker.next_call(1)
        asked[cancelled].cancel()
        if cancelled == 0:
            call = await talker.next_call(2)
        call.set_result(HOLDS)
        return await asyncio.gather(*asked, return_exceptions=True)

    replies = asyncio.run(work())
    assert isinstance(replies.pop(cancelled), asyncio.CancelledError)
    assert [type(reply) for reply in replies] == [Answered, Answered]
