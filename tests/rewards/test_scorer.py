"""The scorer: its memory of formulas, its loop in the background, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import pickle
import random
import threading
from collections.abc import AsyncIterator

import pytest

from formalimg.benchmarks.loader import load
from formalimg.rewards import tasks
from formalimg.rewards.reward_functions import reward_function
from formalimg.rewards.scorer import BackgroundLoop, Scorer
from tests.rewards.test_quick_games import disturbed

CUP = {"objects": [{"label": "cup", "color": "blue", "box_2d": [100, 100, 200, 200]}]}
RED_CUP = {"formula": "(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"}


def test_a_scorer_and_a_reward_function_with_one_can_be_sent() -> None:
    scorer = Scorer(weights={"object": 3})
    found = scorer.score_all([(CUP, RED_CUP)])  # what it remembers does not go along
    other = pickle.loads(pickle.dumps(scorer))
    assert other.settings == scorer.settings
    assert other.score_all([(CUP, RED_CUP)]) == found
    for function, score in ((reward_function(scorer), 0.75), (reward_function(), 0.5)):
        assert pickle.loads(pickle.dumps(function))([CUP], [""], [RED_CUP]).scores.tolist() == [score]


SHORT = "(exists ?x (Is ?x 'cup'))"


def long(name: str) -> str:
    clauses = " ".join(f"(Is ?x '{name}{number}')" for number in range(150))
    return f"(exists ?x (and {clauses}))"


def size(text: str) -> int:
    prepared = Scorer().prepare(text).formula
    assert prepared is not None
    return max(tasks._MIN_CACHED_BYTES, prepared.estimated_bytes)


def test_long_formulas_count_by_the_memory_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size(long("a")) == size(long("b")) > 10 * size(SHORT)
    monkeypatch.setattr(tasks, "_MAX_CACHED_BYTES", 2 * size(long("a")) + size(SHORT))
    scorer = Scorer()
    first, second = scorer.prepare(long("a")), scorer.prepare(long("b"))
    short = scorer.prepare(SHORT)
    assert scorer.prepare(long("b")) is second
    assert scorer.prepare(long("a")) is first  # all three fit
    scorer.prepare(long("c"))  # and one too many, so that those who were asked for longest ago go
    assert scorer.prepare(long("a")) is first
    assert scorer.prepare(SHORT) is not short
    assert scorer.prepare(long("b")) is not second


def test_a_scored_scene_is_freed_without_the_collector() -> None:
    items = [item for item in load("knolling") if item.level >= 8][::12]
    pairs = [(disturbed(item.spec, random.Random(item.id)), item) for item in items]
    scorer = Scorer()
    scorer.score_all(pairs)  # what is remembered is made now
    gc.collect()
    gc.disable()
    try:
        assert len(scorer.score_all(pairs)) == len(items) > 40
        assert gc.collect() < len(items)
    finally:
        gc.enable()


async def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_calls_share_a_loop_also_beside_one_that_runs() -> None:
    background = BackgroundLoop()
    first = background.run(_loop())

    async def notebook() -> None:
        assert background.run(_loop()) is first
        assert first is not asyncio.get_running_loop()

    asyncio.run(notebook())


def test_it_ends_with_its_owner_and_closes_what_is_open() -> None:
    closed = threading.Event()

    async def client() -> None:
        async def connection() -> AsyncIterator[None]:
            try:
                yield
            finally:
                closed.set()

        keep.append(connection())
        await anext(keep[0])

    keep: list[AsyncIterator[None]] = []
    background = BackgroundLoop()
    background.run(client())
    del background
    gc.collect()
    assert closed.wait(10)


def test_who_waits_for_itself_is_told() -> None:
    background = BackgroundLoop()

    async def judge() -> None:
        background.run(_loop())

    with pytest.raises(RuntimeError, match="use another scorer"):
        background.run(judge())
