"""Runs on Ray workers: the option, capacity, tokens, errors and stopping."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import ImageRequest, ImageResult, NotStartedError
from formalimg.models.registry import open_image_model
from formalimg.runs.execution import execute
from formalimg.runs.parties import EngineOptions, Reopenable
from formalimg.runs.progress import Progress
from formalimg.runs.ray.pool import CallScheduler, WorkerRate, WorkerSlot, format_rates, open_worker_pool
from formalimg.runs.ray.worker import ResourceRequest, _ImportPath, _private_token, failure_of, private_cluster, probe
from formalimg.types import Item, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, speckled_for_a_dollar
from tests.support.run_contents import contents, order
from tests.support.values import not_none


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--address", ("auto", None, None, None)),
        ("--workers", (None, 2, None, None)),
        ("--gpus-per-worker", (None, None, 0.0, None)),
        ("--cpus-per-worker", (None, None, None, 1.0)),
    ],
)
def test_options_of_the_cluster_need_the_engine(option: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(FormalimgError, match=f"^{option} is about a Ray cluster: give --engine ray too$"):
        EngineOptions("local", *given)
    EngineOptions("ray", *given)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.runs.ray.worker.find_spec", lambda name: None)
    reader = Reopenable.open(lambda: open_image_model("builtin/reader"))
    with (
        pytest.raises(FormalimgError, match=re.escape(f"the engine ray needs the package ray: {install_line('ray')}")),
        EngineOptions("ray", "local", 2, None, None).open(reader, None),
    ):
        pass


def test_wrong_numbers_and_addresses_are_refused_before_a_cluster_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("formalimg.runs.ray.worker.find_spec", lambda name: "there")
    for wrong, told in (
        ({"workers": 0}, "number of workers 0"),
        ({"address": "ray://head:10001"}, "from outside: use"),
        ({"address": "head"}, "'head' is not an address of a Ray cluster: use auto, local or HOST:PORT"),
        ({"address": "head:port"}, "is not an address of a Ray cluster"),
    ):
        with pytest.raises(FormalimgError, match=told), open_worker_pool(**wrong):
            pass


def test_a_port_on_which_something_else_listens_is_told_at_once() -> None:
    def answer(listening: socket.socket) -> None:
        with listening.accept()[0] as connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        with pytest.raises(ConnectionError, match="is not Ray: give the port of"):
            probe(f"127.0.0.1:{listening.getsockname()[1]}")
        thread.join()


def test_what_to_do_is_not_cut_off_on_the_way() -> None:
    listed = "".join(f"\n  --judge provider/model-{number}" for number in range(40))
    failure = failure_of(FormalimgError(f"there is no judge for these images:{listed}\nadd one of them"))
    assert failure.ends_run
    assert all(f"provider/model-{number} " in failure.message for number in range(40))
    assert failure.message.endswith("add one of them")
    assert "\n" not in failure.message


@pytest.fixture(autouse=True)
def constants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    private, loaded = ModuleType("ray._private"), ModuleType("ray._private.ray_constants")
    loaded.ENABLE_RAY_CLUSTER = True  # type: ignore[attr-defined]
    private.ray_constants = loaded  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray._private", private)
    monkeypatch.setitem(sys.modules, "ray._private.ray_constants", loaded)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"):
        monkeypatch.delenv(name, raising=False)
    _private_token.cache_clear()
    return loaded


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_token_is_private_and_nothing_is_left_behind(
    constants: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.delitem(sys.modules, "ray")
    before = dict(os.environ)
    with private_cluster():
        token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        assert (_mode(token), _mode(token.parent)) == (0o600, 0o700)
        assert len(token.read_text(encoding="ascii")) == 64
        assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
        assert constants.ENABLE_RAY_CLUSTER is False
    assert dict(os.environ) == before
    assert constants.ENABLE_RAY_CLUSTER is True


def test_where_ray_is_loaded_the_token_of_the_user_is_made_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    with private_cluster():
        assert "RAY_AUTH_TOKEN_PATH" not in os.environ
        assert _mode(tmp_path / ".ray" / "auth_token") == 0o600


def test_what_the_user_has_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with private_cluster():
        assert os.environ["RAY_AUTH_MODE"] == "disabled"
        assert "RAY_AUTH_TOKEN_PATH" not in os.environ


def node(cpus: float, gpus: float = 0, alive: bool = True) -> dict[str, Any]:
    return {"Alive": alive, "Resources": {"CPU": cpus, "GPU": gpus, "memory": 1e9}}


@pytest.mark.parametrize(
    ("demand", "fit"),
    [
        (ResourceRequest(), 10),
        (ResourceRequest(cpus=4), 1),  # what is left on one machine does not add up with what is left on another
        (ResourceRequest(gpus=1), 3),
        (ResourceRequest(cpus=4, gpus=1), 1),
        (ResourceRequest(cpus=0, gpus=0.5), 6),
        (ResourceRequest(cpus=0, gpus=0.4), 6),  # two on each: nobody gets parts of two
        (ResourceRequest(gpus=8), 0),
        (ResourceRequest(cpus=0), None),
    ],
)
def test_workers_fit_machine_by_machine(demand: ResourceRequest, fit: int | None) -> None:
    nodes = [node(7, 1), node(3, 2), node(64, 8, alive=False), {"Alive": True, "Resources": {}}]
    assert demand.fits(nodes) == fit


@pytest.mark.parametrize(
    "wrong", [{"cpus": -1}, {"gpus": -0.5}, {"gpus": 1.5}, {"cpus": 0.00001}, {"gpus": float("nan")}]
)
def test_demands_that_nobody_can_meet_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(FormalimgError):
        ResourceRequest(**wrong)


def test_rates_are_shown_by_machine() -> None:
    assert format_rates([WorkerRate("b", 0.9), WorkerRate("a", 1.25), WorkerRate("a", 1.31), WorkerRate("", 0)]) == (
        "3 workers: a 1.2 + 1.3/s, b 0.9/s; 1 starting"
    )
    assert format_rates([WorkerRate("", 0)]) == "0 workers; 1 starting"
    assert format_rates([WorkerRate("a", rate) for rate in range(1, 10)]) == "9 workers: a 9 × 1.0 to 9.0/s"


def seats(count: int) -> list[WorkerSlot]:
    found = [WorkerSlot() for _ in range(count)]
    for number, seat in enumerate(found):
        seat.assign(f"worker {number}", "here")
    return found


def test_whoever_has_the_fewest_calls_is_asked() -> None:
    async def loads() -> list[list[int]]:
        turns = CallScheduler()
        for seat in seats(3):
            turns.add(seat, 2)
        taken: Counter[str] = Counter()
        found = []
        for _ in range(6):
            turn = await turns.next().__aenter__()
            taken[turn.worker] += 1
            found.append(sorted(taken.values()))
        return found

    assert asyncio.run(loads()) == [[1], [1, 1], [1, 1, 1], [1, 1, 2], [1, 2, 2], [2, 2, 2]]


def test_turns_of_a_worker_that_is_gone_are_passed_over_and_never_come_back() -> None:
    async def asked() -> list[str]:
        turns = CallScheduler()
        first, second = seats(2)
        turns.add(first, 1)
        turns.add(second, 1)
        async with turns.next() as turn:
            turn.slot.clear()  # it dies while it is asked
        found = []
        for _ in range(3):
            async with turns.next() as turn:
                found.append(turn.worker)
        return found

    assert asyncio.run(asked()) == ["worker 1"] * 3


def test_everyone_who_waits_hears_that_there_is_nobody_left() -> None:
    async def heard() -> list[object]:
        turns = CallScheduler()
        waiting = [asyncio.create_task(turns.next().__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        turns.end(FormalimgError("nobody"))
        return [str(error) for error in await asyncio.gather(*waiting, return_exceptions=True)]

    assert asyncio.run(heard()) == ["nobody"] * 3


def test_workers_look_for_modules_only_where_this_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["/scripts", "/installed"])
    folders = _ImportPath()
    folders.extend(["/scripts", str(tmp_path)])
    assert folders == ["/scripts"]
    monkeypatch.setattr(sys, "path", ["", "/installed"])  # as in an interactive session
    folders.extend([str(tmp_path)])
    assert folders == ["/scripts", str(tmp_path)]


@dataclass
class Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    progress: Progress | None = None

    def watch_progress(self, progress: Progress) -> None:
        self.progress = progress

    async def __aenter__(self) -> None:
        await self.lock.acquire()
        if self.progress is not None and self.progress.stopped:
            self.lock.release()
            raise NotStartedError

    async def __aexit__(self, *error: object) -> None:
        self.lock.release()


@dataclass
class OneByOne(Queue, Speckles):
    concurrency: int = 8

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        async with self:
            for request in requests:
                self.asked.append((request.item, request.sample))
                answer = speckled_for_a_dollar(request)
                await asyncio.sleep(0)
                yield answer


@dataclass
class LooksOnce(Queue, NumberJudge):
    concurrency: int = 8

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        async with self:
            not_none(self.progress).stopped = True
            return await NumberJudge.judge(self, item, image)


def test_a_budget_is_not_spent_by_those_who_wait(tmp_path: Path) -> None:
    first, second = OneByOne(), OneByOne()
    done = execute(order(first, budget=3.0), tmp_path / "run", NumberJudge())
    assert (done.made, done.failed, done.stopped) == (3, 0, True)
    done = execute(order(second), tmp_path / "run", NumberJudge())
    assert (done.made, done.failed) == (5, 0)
    assert len({*first.asked, *second.asked}) == 8
    execute(order(OneByOne()), tmp_path / "other", NumberJudge())
    assert contents(tmp_path / "run") == contents(tmp_path / "other")


def test_judges_who_wait_leave_their_images_for_the_next_time(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    done = execute(order(), tmp_path / "run", LooksOnce())
    assert (done.judged, done.unscored, done.stopped) == (1, 0, True)
    done = execute(order(), tmp_path / "run", NumberJudge())
    assert (done.judged, done.unscored) == (7, 0)


def test_a_turn_that_nobody_wants_any_more_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.runs.ray.pool._POLL_SECONDS", 0.01)
    seat = WorkerSlot()
    seat.assign("worker", "here")

    async def waiting() -> str:
        turns = CallScheduler()
        with pytest.raises(NotStartedError):
            async with turns.next(lambda: False):  # although nobody ever comes
                pass
        turns.add(seat, 1)
        with pytest.raises(NotStartedError):
            async with turns.next(lambda: False):
                pass
        async with turns.next() as turn:
            return str(turn.worker)

    assert asyncio.run(waiting()) == "worker"
