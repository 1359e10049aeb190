"""How many workers fit on a cluster, which of them is called next, and how their rates are shown, without Ray."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.runs.ray.pool import CallScheduler, WorkerRate, WorkerSlot, format_rates
from formalimg.runs.ray.worker import ResourceRequest, _ImportPath


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
